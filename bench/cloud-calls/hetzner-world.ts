import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { hetznerWorld } from '../../test/clouds/hetzner/hetzner-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** In process, on a fake clock. */
export function fakeHetznerCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  return { world: hetznerWorld({ onCall: (call) => void calls.push(call) }), calls };
}
