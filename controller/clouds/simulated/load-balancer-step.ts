import type { DesiredMember, IpFamily, LoadBalancerStep } from '../load-balancers.ts';
import type { Listener, Pool, Scheme } from './load-balancer-answer.ts';
import type { Subject } from './observed.ts';

/** null takes a tag away; those not named stay. */
export type TagChange = Readonly<Record<string, string | null>>;

export type NewListener = Omit<Listener, 'id' | 'pool'>;
export type NewPool = Pick<Pool, 'name' | 'tags' | 'healthCheck' | 'sessionAffinity'>;
export type ListenerChange = Partial<
  Pick<Listener, 'memberPort' | 'sourceRanges' | 'proxyProtocol' | 'tls' | 'pool'> & { readonly tags: TagChange }
>;
/** null = none from now on. */
export interface PoolChange {
  readonly healthCheck?: Pool['healthCheck'] | null;
  readonly sessionAffinity?: Pool['sessionAffinity'] | null;
  readonly tags?: TagChange;
}

export interface NewLoadBalancer {
  readonly name: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly scheme: Scheme;
  /** One for each family; without an id it is the one of ours that an earlier step reserves. */
  readonly addresses: readonly { readonly family: IpFamily; readonly id: string | undefined }[];
  readonly pool: NewPool;
  readonly listeners: readonly NewListener[];
  readonly members: readonly DesiredMember[];
}

/** The one request of a step. Listeners of new load balancers and pools name their pool by its name. */
export type StepCall =
  | {
      readonly does: 'reserve address';
      readonly family: IpFamily;
      readonly scheme: Scheme;
      readonly tags: Readonly<Record<string, string>>;
    }
  | { readonly does: 'change address'; readonly id: string; readonly tags: TagChange }
  | { readonly does: 'release address'; readonly id: string }
  | ({ readonly does: 'create load balancer' } & NewLoadBalancer)
  | {
      readonly does: 'change load balancer';
      readonly id: string;
      readonly tags?: TagChange;
      readonly addresses?: NewLoadBalancer['addresses'];
    }
  | { readonly does: 'delete load balancer'; readonly id: string }
  | {
      readonly does: 'add listener';
      readonly loadBalancer: string;
      readonly listener: NewListener;
      /** Id or name. */
      readonly pool: string;
    }
  | {
      readonly does: 'change listener';
      readonly loadBalancer: string;
      readonly id: string;
      readonly change: ListenerChange;
    }
  | { readonly does: 'delete listener'; readonly loadBalancer: string; readonly id: string }
  | {
      readonly does: 'add pool';
      readonly loadBalancer: string;
      readonly pool: NewPool;
      readonly members: readonly DesiredMember[];
    }
  | { readonly does: 'change pool'; readonly loadBalancer: string; readonly id: string; readonly change: PoolChange }
  | {
      readonly does: 'set members';
      readonly loadBalancer: string;
      readonly id: string;
      readonly members: readonly DesiredMember[];
    }
  | { readonly does: 'delete pool'; readonly loadBalancer: string; readonly id: string };

export interface SimulatedStep extends LoadBalancerStep {
  readonly subject: Subject;
  readonly call: StepCall;
}

const actions = { reserve: 'create', create: 'create', add: 'create', release: 'delete', delete: 'delete' } as const;

/** @param summary says what changes, for people */
export function stepOf(subject: Subject, target: string, summary: string, call: StepCall): SimulatedStep {
  const [verb = '', ...resource] = call.does.split(' ');
  const action = verb in actions ? actions[verb as keyof typeof actions] : 'update';
  return { action, resource: resource.join(' '), target, summary, subject, call };
}
