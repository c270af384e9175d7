import type { CloudCall } from '../../controller/clouds/cloud.ts';
import { azureWorld } from '../../test/clouds/azure/azure-world.ts';
import type { CountedWorld } from '../../test/clouds/suite/count-operations.ts';

/** In process, on a fake clock. */
export function fakeAzureCalls(): CountedWorld {
  const calls: CloudCall[] = [];
  const world = azureWorld({ onCall: (call) => void calls.push(call) });
  // As many as Azure itself shows on a page, or more than there are.
  world.fake.pageSize = 100;
  return { world, calls };
}
