import { isDeepStrictEqual } from 'node:util';
import { nameHolder } from '../../access.ts';
import { type DesiredPort, ownerTags, type Refusal } from '../../load-balancers.ts';
import type { Listener, LoadBalancer, Pool } from './answer.ts';
import { leftMark, serviceOfClassicName } from './names.ts';
import { ourListeners, ourPools, type Pieces, type Subject } from './observed.ts';
import { memberSteps } from './plan-members.ts';
import { type ListenerChange, type OctaviaStep, type PoolChange, stepOf } from './step.ts';
import { namesOwner, octaviaTags, ownedBy, tagValue } from './tags.ts';
import {
  checkOf,
  listenerProtocol,
  newListener,
  newMembers,
  newPool,
  poolProtocol,
  portTag,
  sameMonitor,
  transportOf,
  type Wanted,
} from './wanted.ts';

export interface PiecePlan {
  readonly steps: OctaviaStep[];
  readonly refusals: Refusal[];
}

/**
 * What brings our listeners, pools, members and monitors on a load balancer up to date, port by port: the pool with what is in it before the listener that sends
 * there, then what is not wanted any more. Pieces of others stay as they are.
 *
 * @param mayAdd whether new pieces may join
 */
export function planPieces(wanted: Wanted, loadBalancer: LoadBalancer, isOwn: boolean, mayAdd: boolean): PiecePlan {
  const { desired, settings, subject } = wanted;
  const steps: OctaviaStep[] = [];
  const later: OctaviaStep[] = [];
  const refusals: Refusal[] = [];
  const { id, name } = loadBalancer;
  const ours = ourListeners(loadBalancer, subject, isOwn);
  const pools = ourPools(loadBalancer, subject, isOwn);
  const inUse = new Set<string>();
  // What is not understood keeps things from being made, not from being kept up to date.
  const mayMake = mayAdd && settings.refusals.length === 0;

  for (const port of desired.ports) {
    if (port.protocol === 'SCTP' && !wanted.features.sctp) continue;
    const shown = `${port.protocol} ${port.port}`;
    const onPort = loadBalancer.listeners.filter(
      (one) => one.port === port.port && transportOf(one.protocol) === port.protocol,
    );
    const stranger = onPort.find((one) => !ours.includes(one));
    if (stranger) {
      const holder = stranger.tags.map(serviceOfClassicName).find((service) => service !== undefined);
      const message = `${shown} of load balancer ${name} (${id}) is taken by listener ${stranger.id} of ${nameHolder(holder, desired)}`;
      refusals.push({ reason: 'Conflict', message, ports: [port] });
      continue;
    }
    const there = onPort[0];
    const protocol = mayMake ? listenerProtocol(wanted, port) : (there?.protocol ?? listenerProtocol(wanted, port));
    const replaced = there !== undefined && there.protocol !== protocol;
    const pool = poolFor(wanted, port, there, pools, inUse, mayMake);
    if (pool) inUse.add(pool.id);
    else if (!mayMake) continue;
    steps.push(...poolPlan(wanted, port, loadBalancer, pool));
    if (there && !replaced) {
      const change = listenerChange(wanted, there, port, pool, name);
      if (change === undefined) continue;
      const summary = `listener ${shown} of ${name}: ${differences(there, change)}`;
      later.push(
        stepOf(subject, there.id, summary, { does: 'update listener', loadBalancer: id, id: there.id, change }),
      );
      continue;
    }
    if (there) {
      const summary = `delete listener ${shown} of ${name}: ${there.protocol} becomes ${protocol}`;
      steps.push(stepOf(subject, there.id, summary, { does: 'delete listener', loadBalancer: id, id: there.id }));
    }
    const listener = newListener(wanted, port, name);
    const summary = `add listener ${shown} (${listener.protocol}) to ${name}`;
    const call = {
      does: 'create listener',
      loadBalancer: id,
      listener,
      pool: pool?.id,
      portTag: portTag(port),
    } as const;
    steps.push(stepOf(subject, shown, summary, call));
  }
  steps.push(...later);
  for (const one of ours) {
    if (desired.ports.some(({ protocol, port }) => protocol === transportOf(one.protocol) && port === one.port))
      continue;
    steps.push(deleteListener(subject, one, loadBalancer));
  }
  const oursById = new Set(ours.map((one) => one.id));
  for (const pool of pools) {
    if (inUse.has(pool.id) || pool.listenerIds.some((one) => !oursById.has(one))) continue;
    // Without the wish to make another, what is there stays.
    if (!mayMake && pool.listenerIds.some((one) => isWanted(ours, one, desired.ports))) continue;
    steps.push(deletePool(subject, pool, loadBalancer));
  }
  return { steps, refusals };
}

function isWanted(listeners: readonly Listener[], id: string, ports: readonly DesiredPort[]): boolean {
  const one = listeners.find((listener) => listener.id === id);
  return (
    one !== undefined && ports.some(({ protocol, port }) => protocol === transportOf(one.protocol) && port === one.port)
  );
}

/** The pool that the port's listener uses or is to use; undefined = one has to be made. */
function poolFor(
  wanted: Wanted,
  port: DesiredPort,
  listener: Listener | undefined,
  pools: readonly Pool[],
  inUse: ReadonlySet<string>,
  mayMake: boolean,
): Pool | undefined {
  const current = pools.find(({ id }) => id === listener?.poolId);
  const protocol = poolProtocol(wanted, port);
  if (current && (current.protocol === protocol || !mayMake)) return current;
  return pools.find(
    (pool) =>
      !inUse.has(pool.id) &&
      pool.protocol === protocol &&
      pool.listenerIds.length === 0 &&
      pool.tags.includes(portTag(port)),
  );
}

function poolPlan(
  wanted: Wanted,
  port: DesiredPort,
  loadBalancer: LoadBalancer,
  pool: Pool | undefined,
): OctaviaStep[] {
  const { settings, subject } = wanted;
  const steps: OctaviaStep[] = [];
  const wish = newPool(wanted, port, loadBalancer.name);
  const tag = portTag(port);
  const place = { loadBalancer: loadBalancer.id, portTag: tag };
  if (!pool) {
    const summary = `add pool ${wish.name} (${wish.protocol}) to ${loadBalancer.name}`;
    steps.push(stepOf(subject, wish.name, summary, { does: 'create pool', ...place, pool: wish }));
  } else {
    const change: PoolChange = {
      ...(settings.method !== undefined && pool.algorithm !== wish.algorithm && { algorithm: wish.algorithm }),
      ...(!samePersistence(wanted, pool, wish) && {
        persistence:
          wish.persistence === undefined ? null : { type: wish.persistence, timeout: wish.persistenceTimeout },
      }),
      ...(pool.status === 'ERROR' && { algorithm: wish.algorithm }),
    };
    if (Object.keys(change).length > 0) {
      const summary = `pool ${pool.name}: ${differences(pool, change)}`;
      steps.push(
        stepOf(subject, pool.id, summary, { does: 'update pool', loadBalancer: loadBalancer.id, id: pool.id, change }),
      );
    }
  }
  const { monitor, monitorPort } = checkOf(wanted, port, pool, loadBalancer.name);
  const kept = settings.monitor === undefined ? pool?.members?.[0]?.monitorPort : monitorPort;
  const members = newMembers(wanted, port, kept, pool);
  const changes = memberSteps(wanted, loadBalancer, pool, tag, members);
  const there = pool?.monitor;
  const checks: OctaviaStep[] = [];
  if (settings.monitor !== undefined) {
    if (there && pool && (monitor === undefined || there.type !== monitor.type)) {
      const summary = `delete the health monitor (${there.type}) of pool ${pool.name}`;
      const call = {
        does: 'delete health monitor',
        loadBalancer: loadBalancer.id,
        pool: pool.id,
        id: there.id,
      } as const;
      checks.push(stepOf(subject, there.id, summary, call));
    }
    if (monitor && (!there || there.type !== monitor.type)) {
      const summary = `add a health monitor (${monitor.type}) to pool ${pool?.name ?? wish.name}`;
      const call = { does: 'create health monitor', ...place, pool: pool?.id, monitor } as const;
      checks.push(stepOf(subject, monitor.name, summary, call));
    } else if (monitor && there && pool && (!sameMonitor(there, monitor) || there.status === 'ERROR')) {
      const summary = `health monitor of pool ${pool.name}: ${differences(there, { ...monitor, name: undefined })}`;
      const call = {
        does: 'update health monitor',
        loadBalancer: loadBalancer.id,
        pool: pool.id,
        id: there.id,
        monitor,
      } as const;
      checks.push(stepOf(subject, there.id, summary, call));
    }
  }
  // A check that members do not answer yet would take them all out: the port first, then who looks at it.
  return [...steps, ...changes, ...checks];
}

/** A time that we have set is kept up to date; the classic controller sets none. */
function samePersistence(
  { subject }: Wanted,
  pool: Pool,
  wish: { persistence: string | undefined; persistenceTimeout: number | undefined },
): boolean {
  if (pool.persistence !== wish.persistence) return false;
  return !ownedBy(pool.tags, subject.owner) || pool.persistenceTimeout === wish.persistenceTimeout;
}

function listenerChange(
  wanted: Wanted,
  there: Listener,
  port: DesiredPort,
  pool: Pool | undefined,
  loadBalancerName: string,
): ListenerChange | undefined {
  const { settings, features } = wanted;
  const want = newListener(wanted, port, loadBalancerName);
  const forwards = there.insertHeaders['X-Forwarded-For'] === 'true';
  const change: ListenerChange = {
    ...(want.connectionLimit !== undefined &&
      there.connectionLimit !== want.connectionLimit && { connectionLimit: want.connectionLimit }),
    ...(settings.tlsRef !== undefined &&
      want.tlsRef !== undefined &&
      there.tlsRef !== want.tlsRef && { tlsRef: want.tlsRef }),
    ...(settings.forwardedFor !== undefined &&
      ['HTTP', 'TERMINATED_HTTPS'].includes(there.protocol) &&
      forwards !== want.forwardedFor && { forwardedFor: want.forwardedFor }),
    ...(features.timeouts &&
      want.timeouts !== undefined &&
      !isDeepStrictEqual(there.timeouts, want.timeouts) && { timeouts: want.timeouts }),
    ...(want.allowedCidrs !== undefined &&
      !sameTexts(there.allowedCidrs, want.allowedCidrs) && { allowedCidrs: want.allowedCidrs }),
    ...(pool !== undefined && there.poolId !== pool.id && { poolId: pool.id }),
    ...(there.status === 'ERROR' && { tags: [...new Set([...there.tags, ...want.tags])] }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

export function deleteListener(subject: Subject, one: Listener, { id, name }: LoadBalancer): OctaviaStep {
  const summary = `delete listener ${transportOf(one.protocol)} ${one.port} of ${name}`;
  return stepOf(subject, one.id, summary, { does: 'delete listener', loadBalancer: id, id: one.id });
}

export function deletePool(subject: Subject, pool: Pool, { id, name }: LoadBalancer): OctaviaStep {
  const summary = `delete pool ${pool.name} of ${name}`;
  return stepOf(subject, pool.id, summary, { does: 'delete pool', loadBalancer: id, id: pool.id });
}

/** What takes our pieces off a load balancer. */
export function planDetach(subject: Subject, loadBalancer: LoadBalancer, isOwn: boolean): OctaviaStep[] {
  const listeners = ourListeners(loadBalancer, subject, isOwn);
  const ids = new Set(listeners.map(({ id }) => id));
  const pools = ourPools(loadBalancer, subject, isOwn).filter((pool) => pool.listenerIds.every((id) => ids.has(id)));
  return [
    ...listeners.map((one) => deleteListener(subject, one, loadBalancer)),
    ...pools.map((pool) => deletePool(subject, pool, loadBalancer)),
  ];
}

/** Takes our pieces off a load balancer of somebody else; one that this cluster made and whose own Service is gone goes with its last user, and its floating IP. */
export function planLeaving(
  { subject, floatingIps }: Pick<Pieces, 'subject' | 'floatingIps'>,
  host: LoadBalancer,
): OctaviaStep[] {
  const { cluster } = subject.owner;
  const isLeft =
    tagValue(host.tags, octaviaTags.leftToOthers) === cluster && tagValue(host.tags, ownerTags.service) === undefined;
  const ours = ourListeners(host, subject, false);
  if (!isLeft || ours.length < host.listeners.length) return planDetach(subject, host, false);
  const { id, name } = host;
  const summary = `delete load balancer ${name}, which nobody uses any more`;
  return [
    ...floatingIps
      .filter(({ portId, description }) => portId === host.vipPortId && description.endsWith(leftMark({ cluster })))
      .map((one) =>
        stepOf(subject, one.id, `delete floating IP ${one.address}, which nobody uses any more`, {
          does: 'delete floating IP',
          id: one.id,
        }),
      ),
    stepOf(subject, id, summary, { does: 'delete load balancer', id, cascade: true }),
  ];
}

/** What a create has made whose answer came too late: ours by its tags, with an address that nobody was ever shown. */
export function planDoubles(
  subject: Subject,
  { doubles, floatingIps }: Pick<Pieces, 'doubles' | 'floatingIps'>,
): OctaviaStep[] {
  return doubles
    .filter((one) => !one.status.startsWith('PENDING') && !servesOthers(one, subject))
    .filter(
      (one) =>
        !floatingIps.some(({ portId }) => portId === one.vipPortId) &&
        tagValue(one.tags, octaviaTags.address) === undefined,
    )
    .map(({ id, name }) =>
      stepOf(subject, id, `delete load balancer ${name} (${id}), which is one too many`, {
        does: 'delete load balancer',
        id,
        cascade: true,
      }),
    );
}

/** Whether somebody else serves ports by it. */
export function servesOthers(loadBalancer: LoadBalancer, subject: Subject): boolean {
  const ours = ourListeners(loadBalancer, subject, true);
  return loadBalancer.listeners.some((one) => !ours.includes(one) && namesOwner(one.tags));
}

function differences(before: object, change: object): string {
  const old = before as Readonly<Record<string, unknown>>;
  return (
    Object.entries(change)
      .filter(([key, value]) => value !== undefined && !isDeepStrictEqual(old[key], value))
      .map(([key, value]) => `${key} from ${JSON.stringify(old[key]) ?? 'none'} to ${JSON.stringify(value)}`)
      .join(', ') || 'set again'
  );
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.toSorted().join() === b.toSorted().join();
}
