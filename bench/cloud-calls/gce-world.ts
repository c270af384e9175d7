import type { CloudCall } from '../../controller/clouds/cloud.ts';
import type { Mode } from '../../test/clouds/gce/balancing-behind.ts';
import { fakeGceWorld } from '../../test/clouds/gce/gce-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** In process, on a fake clock. */
export function fakeGceCalls(mode: Mode): CountedWorld {
  const calls: CloudCall[] = [];
  return { world: fakeGceWorld(mode, '', (call) => void calls.push(call)), calls };
}
