import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { fakeOpenStackWorld } from '../../test/openstack/fake-world.ts';
import { noOctavia } from '../../test/openstack/no-octavia.ts';
import type { CountedWorld } from './count-operations.ts';

/** In process, on a fake clock. */
export function fakeCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  const told = { onCall: (call: CloudCall) => calls.push(call) };
  const world = fakeOpenStackWorld({ octavia: () => noOctavia, ...told });
  return { world, calls };
}
