import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { digitalOceanWorld } from '../../test/clouds/digitalocean/digitalocean-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** In process, on a fake clock. */
export function fakeDigitalOceanCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  return { world: digitalOceanWorld({ onCall: (call) => void calls.push(call) }), calls };
}
