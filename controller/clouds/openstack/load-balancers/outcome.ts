import type { Owner } from '../../load-balancers.ts';
import { type JsonObject, objectOf, objectsOf } from '../json.ts';
import {
  type LoadBalancer,
  type Pool,
  readFloatingIp,
  readGroup,
  readListener,
  readLoadBalancer,
  readMember,
  readMonitor,
  readPool,
  readRule,
} from './answer.ts';
import type { Found } from './observed.ts';
import type { NewLoadBalancer, NewMember, NewPort, StepCall } from './step.ts';
import { ownerTagsOf } from './tags.ts';

export interface Answered {
  readonly answer: unknown;
  readonly operation: string;
  readonly owner: Owner;
  /** Id of the pool that the request was about. */
  readonly pool: string;
}

/** What there is after a request, by what was there before it and its answer. Octavia is at work on the load balancer then. */
export function outcomeOf(call: StepCall, found: Found, { answer, operation, owner, pool }: Answered): Found {
  switch (call.does) {
    case 'create load balancer':
      return withBalancer(found, readCreated(answer, { operation, owner, body: call.body }));
    case 'update load balancer':
      return changed(found, call.id, (one) => ({ ...one, tags: call.tags }));
    case 'fail over load balancer':
      return changed(found, call.id, (one) => one);
    case 'delete load balancer':
      return changed(found, call.id, (one) => one, 'PENDING_DELETE');
    case 'create pool':
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        pools: [...one.pools, { ...readPool(answer, operation), members: [] }],
      }));
    case 'update pool':
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        pools: one.pools.map((pool) =>
          pool.id === call.id ? { ...readPool(answer, operation), members: pool.members, monitor: pool.monitor } : pool,
        ),
      }));
    case 'delete pool':
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        pools: one.pools.filter(({ id }) => id !== call.id),
        listeners: one.listeners.map((listener) =>
          listener.poolId === call.id ? { ...listener, poolId: undefined } : listener,
        ),
      }));
    case 'update members':
      return withPool(found, call.loadBalancer, pool, (pool) => ({
        ...pool,
        members: call.members.map((one) => shownMember(one, pool)),
      }));
    case 'create member':
      return withPool(found, call.loadBalancer, pool, (pool) => ({
        ...pool,
        members: [...(pool.members ?? []), readMember(answer, operation)],
      }));
    case 'update member':
      return withPool(found, call.loadBalancer, call.pool, (pool) => ({
        ...pool,
        members: (pool.members ?? []).map((one) => (one.id === call.id ? shownMember(call.member, pool) : one)),
      }));
    case 'delete member':
      return withPool(found, call.loadBalancer, call.pool, (pool) => ({
        ...pool,
        members: (pool.members ?? []).filter(({ id }) => id !== call.id),
      }));
    case 'create health monitor':
    case 'update health monitor': {
      const monitor = readMonitor(answer, operation);
      return withPool(found, call.loadBalancer, pool, (pool) => ({ ...pool, monitorId: monitor.id, monitor }));
    }
    case 'delete health monitor':
      return withPool(found, call.loadBalancer, call.pool, (pool) => ({
        ...pool,
        monitorId: undefined,
        monitor: undefined,
      }));
    case 'create listener': {
      const listener = readListener(answer, operation);
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        listeners: [...one.listeners, listener],
        pools: one.pools.map((pool) =>
          pool.id === listener.poolId ? { ...pool, listenerIds: [...pool.listenerIds, listener.id] } : pool,
        ),
      }));
    }
    case 'update listener': {
      const listener = readListener(answer, operation);
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        listeners: one.listeners.map((known) => (known.id === call.id ? listener : known)),
        pools: one.pools.map((pool) => {
          const others = pool.listenerIds.filter((id) => id !== call.id);
          return { ...pool, listenerIds: pool.id === listener.poolId ? [...others, call.id] : others };
        }),
      }));
    }
    case 'delete listener':
      return changed(found, call.loadBalancer, (one) => ({
        ...one,
        listeners: one.listeners.filter(({ id }) => id !== call.id),
        pools: one.pools.map((pool) => ({ ...pool, listenerIds: pool.listenerIds.filter((id) => id !== call.id) })),
      }));
    case 'create floating IP':
      return { ...found, floatingIps: [...found.floatingIps, readFloatingIp(answer, operation)] };
    case 'update floating IP': {
      const floating = readFloatingIp(answer, operation);
      const others = found.floatingIps.filter(({ id }) => id !== call.id);
      return {
        ...found,
        floatingIps: [...others, floating],
        named: found.named?.id === call.id ? floating : found.named,
      };
    }
    case 'delete floating IP':
      return {
        ...found,
        floatingIps: found.floatingIps.filter(({ id }) => id !== call.id),
        named: found.named?.id === call.id ? undefined : found.named,
      };
    case 'create security group':
      return withGroup(found, readGroup(answer, operation));
    case 'update security group':
    case 'delete security group':
      return withGroup(found, undefined);
    case 'create security group rule':
      return withGroup(
        found,
        found.group && { ...found.group, rules: [...found.group.rules, readRule(answer, operation)] },
      );
    case 'delete security group rule':
      return withGroup(
        found,
        found.group && { ...found.group, rules: found.group.rules.filter(({ id }) => id !== call.id) },
      );
    case 'update port':
      return found;
  }
}

export function changed(
  found: Found,
  id: string,
  change: (one: LoadBalancer) => LoadBalancer,
  status = 'PENDING_UPDATE',
): Found {
  const loadBalancers = found.loadBalancers.map((one) =>
    one.id === id ? { ...change(one), status, pendingMs: 0 } : one,
  );
  return { ...found, loadBalancers };
}

function withPool(found: Found, id: string, pool: string, change: (pool: Pool) => Pool): Found {
  return changed(found, id, (one) => ({
    ...one,
    pools: one.pools.map((known) => (known.id === pool ? change(known) : known)),
  }));
}

export function withGroup(found: Found, group: Found['group']): Found {
  return { ...found, group };
}

export function withBalancer(found: Found, one: LoadBalancer): Found {
  return { ...found, loadBalancers: [...found.loadBalancers.filter(({ id }) => id !== one.id), one] };
}

interface Created {
  readonly operation: string;
  readonly owner: Owner;
  readonly body: NewLoadBalancer;
}

/** The answer to a create has everything that was made with it, but for ids of what holds what and, with most releases, monitors. */
function readCreated(answer: unknown, created: Created): LoadBalancer {
  const { operation, body } = created;
  const loadBalancer = readLoadBalancer(answer, operation);
  const json = objectOf(objectOf(answer)?.['loadbalancer']) ?? {};
  return {
    ...loadBalancer,
    listeners: objectsOf(json['listeners']).map((one) => ({
      ...readListener(one, operation),
      loadBalancerId: loadBalancer.id,
    })),
    pools: objectsOf(json['pools']).map((one) => {
      const pool = readPool(one, operation);
      const wish = body.ports.find(({ pool: { name } }) => name === pool.name);
      return { ...pool, loadBalancerId: loadBalancer.id, ...insideOf(one, wish, created) };
    }),
  };
}

/** @param wish what was asked for */
function insideOf(
  pool: JsonObject,
  wish: NewPort | undefined,
  { operation, owner }: Created,
): Pick<Pool, 'members' | 'monitor' | 'monitorId'> {
  const members = objectsOf(pool['members']).map((one) => {
    const member = readMember(one, operation);
    const asked = wish?.members.find(({ address, port }) => address === member.address && port === member.port);
    return { ...member, providerID: member.providerID ?? asked?.providerID };
  });
  if (wish?.monitor === undefined) return { members, monitor: undefined, monitorId: undefined };
  const there = objectOf(pool['healthmonitor']);
  const id = String(there?.['id'] ?? '');
  const monitor = { ...wish.monitor, id, status: 'PENDING_CREATE', tags: ownerTagsOf(owner) };
  return { members, monitor, monitorId: id };
}

function shownMember({ name, address, port, weight, monitorPort, providerID }: NewMember, { members = [] }: Pool) {
  const before = members.find((one) => one.address === address && one.port === port);
  const id = before?.id ?? `${address} ${port}`;
  return {
    id,
    name,
    address,
    port,
    weight,
    monitorPort,
    status: 'PENDING_UPDATE',
    healthy: before?.healthy,
    providerID,
  };
}
