import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { fakeOpenStackWorld } from '../../test/openstack/fake-world.ts';
import { fakeOctaviaWorld, octaviaConfig } from '../../test/openstack/octavia-world.ts';
import type { CountedWorld } from './count-operations.ts';

/** In process, on a fake clock. */
export function fakeCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  const onCall = (call: CloudCall) => void calls.push(call);
  return { world: fakeOpenStackWorld({ config: octaviaConfig, octavia: fakeOctaviaWorld, onCall }), calls };
}
