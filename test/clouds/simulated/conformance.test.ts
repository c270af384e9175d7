import { type Clock, sleep, systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createSimulatedCloud } from '../../kit/cloud/cloud.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import { startCloud } from '../../kit/cloud/start-cloud.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import type { CloudWorld } from '../suite/world.ts';
import { simulatedCapabilities, simulatedWorld } from './suite-world.ts';

async function inProcess(): Promise<CloudWorld> {
  const clock = fakeClock();
  const loadBalancerTimings = { provisioningMs: 3000, deletingMs: 2000 };
  const cloud = createSimulatedCloud({ clock, random: seededRandom(4), loadBalancerTimings });
  return simulatedWorld({
    cloud,
    clock,
    http: inProcessHttp(cloud.api, clock),
    url: 'http://cloud',
    settleMs: 5000,
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    close: async () => cloud.close(),
  });
}

async function overHttp(): Promise<CloudWorld> {
  const clock: Clock = systemClock();
  const loadBalancerTimings = { provisioningMs: 5, deletingMs: 5 };
  const cloud = await startCloud({ clock, random: seededRandom(5), loadBalancerTimings });
  const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 8 } });
  return simulatedWorld({
    cloud,
    clock,
    http,
    url: cloud.url,
    settleMs: 20,
    during: (work) => work,
    // This one is done much sooner than a client has to expect.
    pass: (ms) => sleep(clock, Math.min(ms, 10)),
    async close() {
      close();
      await cloud.stop();
    },
  });
}

cloudSuite({ name: 'simulated, in process', capabilities: simulatedCapabilities, open: inProcess });
// Every call of every operation has been struck above; here the same facts go over real sockets.
cloudSuite({
  name: 'simulated, over HTTP',
  capabilities: { ...simulatedCapabilities, enumerateFaults: false },
  open: overHttp,
});
