import type { LoadBalancerStep } from '../../load-balancer-step.ts';
import type { Tags } from '../load-balancer-tags.ts';
import type { PlannedSecurityGroupCall, SecurityGroupCall } from '../security-groups/security-group-call.ts';
import type { Attributes, HealthCheck, Listener } from './classic-load-balancer.ts';
import type { Subject } from './observed.ts';

export interface Registered {
  readonly id: string;
  readonly providerID: string;
}

export type ClassicCall =
  | {
      readonly does: 'create load balancer';
      readonly internal: boolean;
      /** As the annotation names them; empty = discovered when it is made. */
      readonly subnets: readonly string[];
      /** Ids, or names of groups that steps before make. */
      readonly securityGroups: readonly string[];
      readonly listeners: readonly Listener[];
      /** Beside those that everything of ours carries. */
      readonly tags: Tags;
    }
  | { readonly does: 'delete load balancer' }
  | { readonly does: 'attach subnets'; readonly subnets: readonly string[] }
  | { readonly does: 'detach subnets'; readonly subnets: readonly string[] }
  | { readonly does: 'apply security groups'; readonly securityGroups: readonly string[] }
  | { readonly does: 'create listeners'; readonly listeners: readonly Listener[] }
  | { readonly does: 'delete listener'; readonly port: number }
  | { readonly does: 'set certificate'; readonly port: number; readonly certificate: string }
  | { readonly does: 'create policy'; readonly policy: string; readonly type: string; readonly attribute: Attribute }
  | { readonly does: 'set listener policies'; readonly port: number; readonly policies: readonly string[] }
  | { readonly does: 'set backend policies'; readonly port: number; readonly policies: readonly string[] }
  | { readonly does: 'modify attributes'; readonly attributes: Attributes }
  | { readonly does: 'configure health check'; readonly health: HealthCheck }
  | { readonly does: 'register instances'; readonly instances: readonly Registered[] }
  | { readonly does: 'deregister instances'; readonly instances: readonly string[] }
  | { readonly does: 'add tags'; readonly tags: Tags }
  | { readonly does: 'remove tags'; readonly keys: readonly string[] }
  | { readonly does: 'change security groups'; readonly call: SecurityGroupCall };

export interface Attribute {
  readonly name: string;
  readonly value: string;
}

export interface ClassicStep extends LoadBalancerStep {
  readonly kind: 'classic';
  readonly subject: Subject;
  readonly call: ClassicCall;
}

const resources: Readonly<Record<Exclude<ClassicCall['does'], 'change security groups'>, string>> = {
  'create load balancer': 'load balancer',
  'delete load balancer': 'load balancer',
  'attach subnets': 'subnets',
  'detach subnets': 'subnets',
  'apply security groups': 'load balancer',
  'create listeners': 'listener',
  'delete listener': 'listener',
  'set certificate': 'listener',
  'create policy': 'policy',
  'set listener policies': 'listener',
  'set backend policies': 'policy',
  'modify attributes': 'load balancer attributes',
  'configure health check': 'health check',
  'register instances': 'instances',
  'deregister instances': 'instances',
  'add tags': 'load balancer',
  'remove tags': 'load balancer',
};

/** @param summary says what changes, for people */
export function stepOf(
  subject: Subject,
  summary: string,
  call: Exclude<ClassicCall, { does: 'change security groups' }>,
): ClassicStep {
  const [verb] = call.does.split(' ');
  const action = verb === 'create' || verb === 'delete' ? verb : 'update';
  return { kind: 'classic', action, resource: resources[call.does], target: subject.name, summary, subject, call };
}

export function groupStep(
  subject: Subject,
  { action, resource, target, summary, call }: PlannedSecurityGroupCall,
): ClassicStep {
  const wrapped = { does: 'change security groups', call } as const;
  return { kind: 'classic', action, resource, target, summary, subject, call: wrapped };
}
