import type { ClusterIdentity } from './desired.ts';
import type { Observations } from './observations.ts';
import type { OperatorPolicy } from './operator-policy.ts';
import type { ServiceStates } from './service-state.ts';

export interface ReconcilerOptions {
  readonly cluster: ClusterIdentity;
  readonly states: ServiceStates;
  readonly observations: Observations;
  readonly loadBalancerClasses: readonly string[];
  readonly policy: OperatorPolicy;
  /** `--adopt`. */
  readonly adopts: boolean;
}
