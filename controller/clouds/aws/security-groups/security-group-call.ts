import type { LoadBalancerStep } from '../../load-balancer-step.ts';
import type { Tags } from '../load-balancer-tags.ts';
import { describeRule, type IngressRule } from './ingress-rule.ts';

/** One mutating call about a security group. `group` is its id, or its name where an earlier step makes it; the cluster's tags are added when it is made. Plain data. */
export type SecurityGroupCall =
  | {
      readonly does: 'create security group';
      readonly name: string;
      readonly description: string;
      readonly tags: Tags;
    }
  | {
      readonly does: 'authorize ingress';
      readonly group: string;
      readonly rules: readonly IngressRule[];
      /** Several load balancers rely on it. */
      readonly shared: boolean;
    }
  | {
      readonly does: 'revoke ingress';
      readonly group: string;
      readonly rules: readonly IngressRule[];
      /** Only while nobody else needs it, which is looked at again right before. */
      readonly unless: Needed | undefined;
    }
  | { readonly does: 'untag security group'; readonly group: string; readonly keys: readonly string[] }
  | { readonly does: 'tag security group'; readonly group: string; readonly tags: Tags }
  | { readonly does: 'delete security group'; readonly group: string; readonly unless: Needed | undefined };

/** What makes a shared rule or group needed. */
export type Needed =
  /** `unlessAdmitted`: those do not need it that rules of their own let in from that group. */
  | {
      readonly by: 'users of a group';
      readonly group: string;
      readonly but: string;
      readonly unlessAdmitted?: boolean;
    }
  /** `sources`: of these clients alone; undefined = whoever they are. */
  | { readonly by: 'client rules'; readonly but: string; readonly sources?: readonly string[] };

/** The part of a step that is about a security group; the kind of load balancer adds its own fields. */
export interface PlannedSecurityGroupCall extends LoadBalancerStep {
  readonly call: SecurityGroupCall;
}

/** @param name the group's, for people */
export function plannedCall(call: SecurityGroupCall, name: string): PlannedSecurityGroupCall {
  switch (call.does) {
    case 'create security group':
      return planned('create', 'security group', name, `create security group ${name}: ${call.description}`, call);
    case 'authorize ingress': {
      const summary = `security group ${name}: let in ${listed(call.rules)}`;
      return planned('update', 'security group rules', call.group, summary, call);
    }
    case 'revoke ingress': {
      const summary = `security group ${name}: do not let in ${listed(call.rules)} any more`;
      return planned('update', 'security group rules', call.group, summary, call);
    }
    case 'tag security group':
      return planned('update', 'security group', call.group, `tag security group ${name}`, call);
    case 'untag security group':
      return planned(
        'update',
        'security group',
        call.group,
        `take ${call.keys.join(', ')} off security group ${name}`,
        call,
      );
    case 'delete security group':
      return planned('delete', 'security group', call.group, `delete security group ${name}`, call);
  }
}

function planned(
  action: LoadBalancerStep['action'],
  resource: string,
  target: string,
  summary: string,
  call: SecurityGroupCall,
): PlannedSecurityGroupCall {
  return { action, resource, target, summary, call };
}

function listed(rules: readonly IngressRule[]): string {
  const shown = rules.slice(0, 6).map(describeRule).join(', ');
  return rules.length > 6 ? `${shown} and ${rules.length - 6} more` : shown;
}
