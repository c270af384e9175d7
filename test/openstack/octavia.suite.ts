import { sleep, systemClock } from '../../common/process/clock.ts';
import { cloudSuite } from '../clouds/cloud-suite.ts';
import { octaviaCapabilities, octaviaConfig } from './octavia-world.ts';
import { openStackCapabilities } from './openstack-world.ts';
import { realOctaviaWorld } from './real-octavia-world.ts';
import { realOpenStackWorld } from './real-world.ts';

const clock = systemClock();

/** Against the OpenStack that the environment names; `ENUMERATE_FAULTS` asks for a crash at every call, too, which takes many load balancers. */
cloudSuite({
  name: `openstack, load balancers of ${process.env['OS_CLOUD']}`,
  capabilities: {
    ...openStackCapabilities,
    routes: undefined,
    loadBalancers: octaviaCapabilities,
    enumerateFaults: process.env['ENUMERATE_FAULTS'] === 'true',
  },
  open: async () => {
    const world = await realOpenStackWorld({ config: octaviaConfig, octavia: realOctaviaWorld });
    // What it takes here is over much sooner than a client has to expect.
    return { ...world, pass: (ms) => sleep(clock, Math.min(ms, 300)) };
  },
});
