import type { Cloud } from '../../../controller/clouds/cloud.ts';
import {
  createSimulatedCloud,
  type SimulatedCloudParts,
} from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import type { WrapDriver } from '../suite/world.ts';

/** The client that ships, as the controller opens it: with the load balancers that its driver describes. */
export function openSimulated(parts: SimulatedCloudParts, wrap?: WrapDriver): Cloud {
  return withLoadBalancers<Cloud>(withDriver(createSimulatedCloud(parts), wrap), parts.context.clock);
}
