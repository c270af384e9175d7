import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { systemClock } from '../../../common/process/clock.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { type TestCa, testCa } from '../../../common/testing/certificates.ts';
import { type ListeningFake, listen } from '../../../test/clouds/fake-http.ts';
import { createFakeOvirt, engineId, type FakeOvirt, password, user } from '../../../test/clouds/ovirt/fake-ovirt.ts';
import type { CloudIdentity } from '../cloud.ts';
import { readConfig } from './config.ts';
import { openOvirt } from './index.ts';

describe('an engine with an authority of its own', () => {
  let own: TestCa;
  let other: TestCa;
  let fake: FakeOvirt;
  let served: ListeningFake;

  before(async () => {
    [own, other] = [await testCa('engine'), await testCa('another')];
    fake = createFakeOvirt();
    served = await listen(fake, await tlsOf(own));
  });
  after(() => served.close());

  async function tlsOf(ca: TestCa): Promise<{ cert: string; key: string }> {
    const { certPem, keyPem } = await ca.issue({ ips: ['127.0.0.1'] });
    return { cert: certPem, key: keyPem };
  }
  async function identify(properties: string): Promise<CloudIdentity> {
    const text = `url=${served.url}/ovirt-engine/api\nusername=${user}\npassword=${password}\n${properties}`;
    const files: Record<string, string> = { '/own.pem': own.caPem, '/other.pem': other.caPem };
    const config = await readConfig({ path: 'ovirt.conf', text }, {}, async (path) => files[path]);
    assert.ok(!('reportOnly' in config));
    const context = { clock: systemClock(), random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    const cloud = openOvirt({ config, context });
    try {
      return await cloud.identify();
    } finally {
      cloud.close();
    }
  }

  it('trusts an engine with an authority of its own by cafile, and by insecure', async () => {
    for (const properties of ['cafile=/own.pem\n', 'insecure=true\n'])
      assert.equal((await identify(properties)).account, engineId);
  });

  it('gets no password without cafile, or with that of another', async () => {
    const before = fake.logins();
    for (const properties of ['', 'cafile=/other.pem\n'])
      await assert.rejects(identify(properties), (error) => isCloudError(error) && error.kind === 'Unavailable');
    assert.equal(fake.logins(), before);
  });
});
