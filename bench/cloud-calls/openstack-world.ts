import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { type FakeWorldOptions, fakeOpenStackWorld } from '../../test/clouds/openstack/fake-world.ts';
import { fakeOctaviaWorld, octaviaConfig } from '../../test/clouds/openstack/octavia-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** What Octavia takes with amphorae, roughly: the start of a VM, a reload, the end of a VM. */
export const octaviaTakes = { createMs: 40_000, updateMs: 2_000, deleteMs: 8_000 };

/** In process, on a fake clock. */
export function fakeCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  const onCall = (call: CloudCall) => void calls.push(call);
  const octavia: FakeWorldOptions['octavia'] = (fake, _cluster, clock) => {
    const world = fakeOctaviaWorld(fake);
    world.octavia.takes = { ...octaviaTakes, nowMs: () => clock.monotonic() };
    return world;
  };
  return { world: fakeOpenStackWorld({ config: octaviaConfig, octavia, onCall }), calls };
}
