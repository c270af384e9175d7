import type { Tags } from './body.ts';
import type { Guard } from './guard.ts';
import type { HealthCheck, Listener, Member, Pool, SimulatedLoadBalancer } from './load-balancer.ts';
import type { ListenerSpec, PoolSpec } from './load-balancer-spec.ts';
import type { MemberRules } from './member-rules.ts';
import { notFound, Refused } from './refused.ts';

export type ListenerChange = Partial<
  Pick<Listener, 'tags' | 'memberPort' | 'sourceRanges' | 'proxyProtocol' | 'tls' | 'pool'>
>;

export interface PoolChange {
  readonly tags?: Tags;
  /** Present and undefined = none from now on. */
  readonly healthCheck?: HealthCheck | undefined;
  readonly sessionAffinity?: { readonly timeoutSeconds: number } | undefined;
}

/** Changes of one listener or pool of a load balancer that is there; each answers the whole load balancer. */
export interface LoadBalancerParts {
  /** Refused with 409 `port-taken`. The token of one that lives changes nothing. */
  addListener(loadBalancer: string, spec: ListenerSpec, guard?: Guard): SimulatedLoadBalancer;
  changeListener(loadBalancer: string, listener: string, change: ListenerChange, guard?: Guard): SimulatedLoadBalancer;
  deleteListener(loadBalancer: string, listener: string, guard?: Guard): SimulatedLoadBalancer;
  addPool(loadBalancer: string, spec: PoolSpec, guard?: Guard): SimulatedLoadBalancer;
  changePool(loadBalancer: string, pool: string, change: PoolChange, guard?: Guard): SimulatedLoadBalancer;
  /** The whole set at once. Refused whole with 400 `invalid-member`, naming the instances. */
  setMembers(loadBalancer: string, pool: string, members: readonly Member[], guard?: Guard): SimulatedLoadBalancer;
  /** Refused with 409 `pool-in-use` while a listener names it. */
  deletePool(loadBalancer: string, pool: string, guard?: Guard): SimulatedLoadBalancer;
}

export interface PartsParts {
  readonly members: MemberRules;
  readonly newId: (kind: string) => string;
  readonly change: (
    loadBalancer: string,
    guard: Guard,
    edit: (before: SimulatedLoadBalancer) => Partial<SimulatedLoadBalancer>,
  ) => SimulatedLoadBalancer;
}

export function loadBalancerParts({ members, newId, change }: PartsParts): LoadBalancerParts {
  return {
    addListener: (loadBalancer, spec, guard = {}) =>
      change(loadBalancer, guard, ({ listeners, pools }) => {
        const taken = listeners.find(({ protocol, port }) => protocol === spec.protocol && port === spec.port);
        if (taken)
          throw new Refused(409, 'port-taken', `${taken.id} has ${spec.protocol} ${spec.port}`, { id: taken.id });
        return { listeners: [...listeners, newListener(spec, pools, newId('lsn'))] };
      }),
    changeListener: (loadBalancer, listener, changed, guard = {}) =>
      change(loadBalancer, guard, ({ listeners, pools }) => {
        const pool = changed.pool === undefined ? {} : { pool: poolNamed(changed.pool, pools).id };
        return { listeners: edited(listeners, 'listener', listener, (before) => ({ ...before, ...changed, ...pool })) };
      }),
    deleteListener: (loadBalancer, listener, guard = {}) =>
      change(loadBalancer, guard, ({ listeners }) => ({ listeners: without(listeners, 'listener', listener) })),
    addPool: (loadBalancer, spec, guard = {}) =>
      change(loadBalancer, guard, ({ place, pools }) => {
        const taken = pools.find(({ name }) => name === spec.name);
        if (taken) throw new Refused(409, 'name-taken', `${taken.id} has the name ${spec.name}`, { id: taken.id });
        return { pools: [...pools, newPool(spec, place, newId('pool'), members)] };
      }),
    changePool: (loadBalancer, pool, changed, guard = {}) =>
      change(loadBalancer, guard, ({ pools }) => ({
        pools: edited(pools, 'pool', pool, (before) => ({ ...before, ...changed })),
      })),
    setMembers: (loadBalancer, pool, wanted, guard = {}) =>
      change(loadBalancer, guard, ({ place, pools }) => ({
        pools: edited(pools, 'pool', pool, (before) => ({ ...before, members: members.admit(place, wanted) })),
      })),
    deletePool: (loadBalancer, pool, guard = {}) =>
      change(loadBalancer, guard, ({ listeners, pools }) => {
        const user = listeners.find((listener) => listener.pool === pool);
        if (user) throw new Refused(409, 'pool-in-use', `${pool} is used by ${user.id}`, { id: user.id });
        return { pools: without(pools, 'pool', pool) };
      }),
  };
}

export function newPool(spec: PoolSpec, place: string, id: string, rules: MemberRules): Pool {
  return { ...spec, id, members: rules.admit(place, spec.members) };
}

export function newListener(spec: ListenerSpec, pools: readonly Pool[], id: string): Listener {
  return { ...spec, id, pool: poolNamed(spec.pool, pools).id };
}

function poolNamed(idOrName: string, pools: readonly Pool[]): Pool {
  const pool = pools.find(({ id, name }) => id === idOrName || name === idOrName);
  if (!pool) throw notFound('pool', idOrName);
  return pool;
}

function edited<P extends { readonly id: string }>(
  pieces: readonly P[],
  kind: string,
  id: string,
  edit: (before: P) => P,
) {
  if (!pieces.some((piece) => piece.id === id)) throw notFound(kind, id);
  return pieces.map((piece) => (piece.id === id ? edit(piece) : piece));
}

function without<P extends { readonly id: string }>(pieces: readonly P[], kind: string, id: string): P[] {
  if (!pieces.some((piece) => piece.id === id)) throw notFound(kind, id);
  return pieces.filter((piece) => piece.id !== id);
}
