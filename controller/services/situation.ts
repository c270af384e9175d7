import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { DesiredMember, ObservedLoadBalancer } from '../clouds/load-balancers.ts';
import { cleanupFinalizers, type ServiceView } from '../model/service-view.ts';
import { addressesOf, type ClusterIdentity } from './desired.ts';
import type { Intent } from './intent.ts';
import type { Observation } from './observation.ts';
import type { OperatorPolicy } from './operator-policy.ts';
import { type LoadBalancerRecord, parseRecord, printRecord } from './record.ts';
import type { RefusedMember } from './refused-members.ts';
import type { Retention } from './retention.ts';
import type { ServingCloud } from './serving-cloud.ts';

/** Everything that the next action for a Service depends on. */
export interface Situation {
  readonly service: ServiceView;
  readonly intent: Exclude<Intent, 'none' | 'keep'>;
  readonly cloud: ServingCloud;
  readonly cluster: ClusterIdentity;
  /** Undefined = nothing has been read yet. */
  readonly observation: Observation | undefined;
  /** Something with our marks for this very Service was seen in the cloud, in this term. */
  readonly marked?: boolean;
  readonly members: readonly DesiredMember[];
  /** `available` of ServiceMembers; of pods: all. Refused ones count, too. Default: none. */
  readonly active?: number;
  /** Nodes and pods that the cloud refuses as members; they are not in `members`. */
  readonly refused: readonly RefusedMember[];
  /** The members are pods. */
  readonly ofPods?: boolean;
  /** How many of `members` stay although their Nodes vanished. */
  readonly withheld?: number | undefined;
  /** Nodes are left out because the cloud accepts no more members. */
  readonly omits?: boolean | undefined;
  readonly policy: OperatorPolicy;
  /** As in ServiceState. */
  readonly waitingSinceMs?: number | undefined;
  /** Whether its load balancer outlives the Service. */
  readonly retention: Retention;
  /** `--adopt`. */
  readonly adopts?: boolean;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
}

/** An older read proves nothing. */
export const maxProofAgeMs = 60_000;

/** Whether it is ours by its tags, or has parts that are: names and records prove nothing. */
export function isOurs({ cluster, service }: Situation, observed: ObservedLoadBalancer | undefined): boolean {
  return observed?.owner?.cluster === cluster.uid && observed.owner.service === service.uid;
}

/** The record that the observation asks for. */
export function recordOf({ service, intent, cloud, observation }: Situation): string {
  const { id, adopted, notes = storedRecord(service)?.notes } = observation?.observed ?? {};
  return printRecord({
    scope: cloud.scope,
    id,
    ...(adopted && { adopted: addressesOf(service) }),
    ...(notes !== undefined && { notes }),
    // With a class of others, it would count as created for it.
    ...(intent !== 'disown' && { loadBalancerClass: service.loadBalancerClass }),
  });
}

export function storedRecord({ annotations }: Pick<ServiceView, 'annotations'>): LoadBalancerRecord | undefined {
  return parseRecord(annotations[annotationKeys.loadBalancer]);
}

/** The adopted load balancer exists and no longer matches: it may belong to another controller now. */
export function isAdoptionLost(situation: Situation, { adopted }: LoadBalancerRecord): boolean {
  const observed = situation.observation?.observed;
  return adopted !== undefined && observed !== undefined && !isOurs(situation, observed);
}

/** How long a search may still miss the result of a create whose answer was lost; 0 = no longer. */
export function unprovedForMs({ cloud, nowMs }: Situation, { id }: LoadBalancerRecord, read: Observation): number {
  if (id !== undefined || read.source !== 'read' || read.observed !== undefined) return 0;
  const settledAtMs = (read.missingSinceMs ?? nowMs) + cloud.loadBalancers.settleMs;
  return read.atMs >= settledAtMs ? 0 : Math.max(settledAtMs - nowMs, 1);
}

/** Message: what is missing for an adoption. */
export function howToAdopt({ service, adopts = false }: Situation): string {
  const shown = addressesOf(service);
  const held = cleanupFinalizers(service);
  if (shown.length === 0)
    return (
      'without an address in its status nothing can be adopted: look in the cloud for what was created for it, ' +
      `delete that, and take off the finalizer ${held.join(' and ')}`
    );
  if (held.length === 0) return 'without the finalizer of the classic controller nothing is adopted';
  if (adopts)
    return (
      `what has the address ${shown.join(', ')} does not carry the name and tags that its controller would have ` +
      'given'
    );
  return 'run with --adopt to adopt the one that the classic controller of this cloud created';
}
