import type { LoadBalancerStep } from '../../load-balancer-step.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { PlannedSecurityGroupCall, SecurityGroupCall } from '../security-groups/security-group-call.ts';
import type { Subject } from './observed.ts';
import type { Scheme } from './settings.ts';
import type { Health, WantedGroup } from './wanted.ts';

/** Where a load balancer is to stand; what is not named is found out right before it is made. */
export interface PlaceWish {
  /** Ids or Name tags; empty = discover. */
  readonly subnets: readonly string[];
  readonly eips: readonly string[];
  readonly privateAddresses: readonly string[];
}

export interface NewTarget {
  readonly id: string;
  readonly providerID: string;
}

export interface ListenerWish {
  readonly port: number;
  readonly protocol: string;
  readonly certificate: string | undefined;
  readonly policy: string | undefined;
  /** Name of the target group. */
  readonly group: string;
}

/** One mutating call. Target groups go by their names, so that what is planned ahead can name what is not there yet. */
export type NlbCall =
  | {
      readonly does: 'create load balancer';
      readonly scheme: Scheme;
      readonly addressType: 'ipv4' | 'dualstack';
      readonly place: PlaceWish;
      /** Ids, or names of those that earlier steps make. */
      readonly securityGroups: readonly string[];
      readonly tags: Tags;
    }
  | { readonly does: 'delete load balancer'; readonly arn: string }
  | { readonly does: 'set attributes'; readonly attributes: Tags }
  | { readonly does: 'set security groups'; readonly securityGroups: readonly string[] }
  | { readonly does: 'set subnets'; readonly place: PlaceWish }
  | { readonly does: 'set address type'; readonly addressType: 'ipv4' | 'dualstack' }
  | { readonly does: 'create target group'; readonly group: WantedGroup; readonly tags: Tags }
  | { readonly does: 'modify target group'; readonly group: string; readonly health: Health }
  | { readonly does: 'set target group attributes'; readonly group: string; readonly attributes: Tags }
  | { readonly does: 'register targets'; readonly group: string; readonly targets: readonly NewTarget[] }
  | { readonly does: 'deregister targets'; readonly group: string; readonly ids: readonly string[] }
  | { readonly does: 'delete target group'; readonly group: string }
  | { readonly does: 'create listener'; readonly listener: ListenerWish; readonly tags: Tags }
  | { readonly does: 'modify listener'; readonly arn: string; readonly listener: ListenerWish }
  | { readonly does: 'delete listener'; readonly arn: string }
  | { readonly does: 'add tags'; readonly arns: readonly string[]; readonly tags: Tags }
  | { readonly does: 'remove tags'; readonly arns: readonly string[]; readonly keys: readonly string[] }
  | { readonly does: 'untag security group'; readonly group: string; readonly keys: readonly string[] }
  | { readonly does: 'security group'; readonly call: SecurityGroupCall };

export interface NlbStep extends LoadBalancerStep {
  readonly kind: 'nlb';
  readonly subject: Subject;
  /** ARN of the load balancer that it is about; undefined = the one of our own, whichever it is by then. */
  readonly on: string | undefined;
  readonly call: NlbCall;
}

const resources: Readonly<Record<NlbCall['does'], readonly [LoadBalancerStep['action'], string]>> = {
  'create load balancer': ['create', 'load balancer'],
  'delete load balancer': ['delete', 'load balancer'],
  'set attributes': ['update', 'load balancer'],
  'set security groups': ['update', 'load balancer'],
  'set subnets': ['update', 'load balancer'],
  'set address type': ['update', 'load balancer'],
  'create target group': ['create', 'target group'],
  'modify target group': ['update', 'target group'],
  'set target group attributes': ['update', 'target group'],
  'register targets': ['update', 'targets'],
  'deregister targets': ['update', 'targets'],
  'delete target group': ['delete', 'target group'],
  'create listener': ['create', 'listener'],
  'modify listener': ['update', 'listener'],
  'delete listener': ['delete', 'listener'],
  'add tags': ['update', 'tags'],
  'remove tags': ['update', 'tags'],
  'untag security group': ['update', 'security group'],
  'security group': ['update', 'security group'],
};

export function stepOf(
  subject: Subject,
  target: string,
  summary: string,
  call: NlbCall,
  on: string | undefined = undefined,
): NlbStep {
  const [action, resource] = resources[call.does];
  return { kind: 'nlb', action, resource, target, summary, subject, on, call };
}

export function securityGroupStep(
  subject: Subject,
  { action, resource, target, summary, call }: PlannedSecurityGroupCall,
): NlbStep {
  return { ...stepOf(subject, target, summary, { does: 'security group', call }), action, resource };
}
