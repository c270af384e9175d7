import type { Cloud } from '../../../controller/clouds/cloud.ts';
import {
  createSimulatedCloud,
  type SimulatedCloudParts,
} from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { withLoadBalancers } from '../../../controller/engine/adapter/with-load-balancers.ts';

/** The client that ships, as whoever opens clouds has it: with the load balancers that its driver describes. */
export function openSimulated(parts: SimulatedCloudParts): Cloud {
  return withLoadBalancers<Cloud>(createSimulatedCloud(parts), parts.context.clock);
}
