import { cloudSuite } from '../suite/cloud-suite.ts';
import { fakeFacts } from './fake/facts.suite.ts';
import { startFakeEc2 } from './fake/fake-ec2.ts';
import { type AwsServer, classicSuite, networkSuite } from './suites.ts';

/** The same as on moto, where faults strike more calls. */
const onFake: AwsServer = {
  on: 'a fake in this process',
  blackholes: true,
  // Beside those of moto other calls, since these strides have no common factor.
  faultStride: 5,
  async start() {
    const { url, answer, close } = await startFakeEc2();
    return { server: url, exchange: async (form) => answer(form), close };
  },
};

fakeFacts(onFake);
cloudSuite(classicSuite(onFake));
cloudSuite(networkSuite(onFake));
