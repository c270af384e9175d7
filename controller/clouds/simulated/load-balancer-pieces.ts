import { nameHolder } from '../access.ts';
import {
  type DesiredLoadBalancer,
  type DesiredMember,
  type DesiredPort,
  ownerTags,
  type Refusal,
} from '../load-balancers.ts';
import type { Settings } from './load-balancer-annotations.ts';
import type { Listener, LoadBalancer, Pool } from './load-balancer-answer.ts';
import {
  type ListenerChange,
  type NewListener,
  type NewPool,
  type PoolChange,
  type SimulatedStep,
  stepOf,
} from './load-balancer-step.ts';
import type { MemberSets } from './member-sets.ts';
import { ownListeners, ownPools, type Subject } from './observed.ts';
import { ownedBy } from './ownership.ts';

/** What one Service wants, as far as its listeners and its pool go. */
export interface Wanted {
  readonly desired: DesiredLoadBalancer;
  readonly settings: Settings;
  readonly subject: Subject;
  /** Those of this scope. */
  readonly members: readonly DesiredMember[];
  readonly sets: MemberSets;
}

export interface PiecePlan {
  readonly steps: SimulatedStep[];
  readonly refusals: Refusal[];
}

export function tagsFor({ owner, service }: DesiredLoadBalancer): Record<string, string> {
  return {
    [ownerTags.cluster]: owner.cluster,
    [ownerTags.service]: owner.service,
    [ownerTags.serviceName]: service,
  };
}

export function newPool({ desired, settings }: Wanted): NewPool {
  return {
    name: desired.name,
    tags: tagsFor(desired),
    healthCheck: settings.healthCheck,
    sessionAffinity: desired.sessionAffinity,
  };
}

export function newListener({ desired, settings }: Wanted, port: DesiredPort): NewListener {
  const tcp = port.protocol === 'TCP';
  return {
    name: port.name || `${port.protocol.toLowerCase()}-${port.port}`,
    tags: tagsFor(desired),
    protocol: port.protocol,
    port: port.port,
    memberPort: memberPortOf(port),
    sourceRanges: desired.sourceRanges,
    proxyProtocol: tcp && settings.proxyProtocol === true,
    tls: tcp && settings.tls?.has(port.port) === true,
  };
}

/** Without a node port, the members get what came in on its own port. */
function memberPortOf({ nodePort, port }: DesiredPort): number {
  return nodePort === 0 ? port : nodePort;
}

/**
 * What brings our listeners and our pool on a load balancer up to date: the pool first, then listeners that are missing, that differ,
 * that are not wanted any more. Pieces of others stay as they are.
 * @param mayAdd whether new pieces may join
 */
export function planPieces(wanted: Wanted, loadBalancer: LoadBalancer, mayAdd: boolean): PiecePlan {
  const { desired, settings, subject, members } = wanted;
  const steps: SimulatedStep[] = [];
  const refusals: Refusal[] = [];
  const { id, name } = loadBalancer;
  const [pool, ...otherPools] = ownPools(loadBalancer, subject.owner);
  if (pool) steps.push(...poolSteps(wanted, loadBalancer, pool));
  const mayAddPool = mayAdd && settings.healthCheck !== undefined;
  if (!pool && mayAddPool) {
    const call = { does: 'add pool', loadBalancer: id, pool: newPool(wanted), members } as const;
    steps.push(stepOf(subject, desired.name, `add a pool of ${count(members)} to ${name}`, call));
  }

  // What is not understood keeps a listener from being made, not from being kept up to date.
  const understood = settings.proxyProtocol !== undefined && settings.tls !== undefined;
  const mayAddListener = mayAdd && understood && (pool !== undefined || mayAddPool);
  const ours = ownListeners(loadBalancer, subject.owner);
  const changes: SimulatedStep[] = [];
  for (const port of desired.ports) {
    const shown = `${port.protocol} ${port.port}`;
    const there = loadBalancer.listeners.find((one) => one.protocol === port.protocol && one.port === port.port);
    if (there && ours.includes(there)) {
      const change = listenerChange(wanted, there, port, pool);
      if (!change) continue;
      const summary = `listener ${shown} of ${name}: ${differences(there, change)}`;
      changes.push(
        stepOf(subject, there.id, summary, { does: 'change listener', loadBalancer: id, id: there.id, change }),
      );
    } else if (there) {
      const message = `${shown} of load balancer ${name} (${id}) is taken by listener ${there.id} of ${nameHolder(there.tags[ownerTags.serviceName], desired)}`;
      refusals.push({ reason: 'Conflict', message, ports: [port] });
    } else if (mayAddListener) {
      const listener = newListener(wanted, port);
      const summary = `add listener ${shown} to port ${listener.memberPort} of the members to ${name}`;
      const poolRef = pool?.id ?? desired.name;
      steps.push(stepOf(subject, shown, summary, { does: 'add listener', loadBalancer: id, listener, pool: poolRef }));
    }
  }
  steps.push(...changes);
  for (const one of ours) {
    if (desired.ports.some(({ protocol, port }) => protocol === one.protocol && port === one.port)) continue;
    const summary = `delete listener ${one.protocol} ${one.port} of ${name}`;
    steps.push(stepOf(subject, one.id, summary, { does: 'delete listener', loadBalancer: id, id: one.id }));
  }
  for (const one of otherPools.filter((pool) => !usedByOthers(pool, loadBalancer, subject))) {
    const summary = `delete pool ${one.name} of ${name}, which is one too many`;
    steps.push(stepOf(subject, one.id, summary, { does: 'delete pool', loadBalancer: id, id: one.id }));
  }
  return { steps, refusals };
}

function poolSteps({ desired, settings, subject, members, sets }: Wanted, { id, name }: LoadBalancer, pool: Pool) {
  const steps: SimulatedStep[] = [];
  const change = poolChange(desired, settings, pool);
  if (change) {
    const summary = `pool of ${name}: ${differences(pool, change)}`;
    steps.push(stepOf(subject, pool.id, summary, { does: 'change pool', loadBalancer: id, id: pool.id, change }));
  }
  if (settings.nodeLabels !== undefined && sets.digest(members) !== pool.memberDigest) {
    const summary = `members of ${name}: ${sets.difference(pool.members, members)}`;
    steps.push(stepOf(subject, pool.id, summary, { does: 'set members', loadBalancer: id, id: pool.id, members }));
  }
  return steps;
}

/** A listener that is not ours sends its connections there. */
function usedByOthers(pool: Pool, { listeners }: LoadBalancer, { owner }: Subject): boolean {
  return listeners.some((one) => one.pool === pool.id && !ownedBy(one.tags, owner));
}

/** What takes our pieces off a load balancer of somebody else. */
export function planDetach(subject: Subject, host: LoadBalancer): SimulatedStep[] {
  const listeners = ownListeners(host, subject.owner).map((one) => {
    const summary = `delete listener ${one.protocol} ${one.port} of ${host.name}`;
    return stepOf(subject, one.id, summary, { does: 'delete listener', loadBalancer: host.id, id: one.id });
  });
  const pools = ownPools(host, subject.owner)
    .filter((pool) => !usedByOthers(pool, host, subject))
    .map((pool) => {
      const summary = `delete pool ${pool.name} of ${host.name}`;
      return stepOf(subject, pool.id, summary, { does: 'delete pool', loadBalancer: host.id, id: pool.id });
    });
  return [...listeners, ...pools];
}

function listenerChange(
  wanted: Wanted,
  there: Listener,
  port: DesiredPort,
  pool: Pool | undefined,
): ListenerChange | undefined {
  const { settings } = wanted;
  const want = newListener(wanted, port);
  const change: ListenerChange = {
    ...(there.memberPort !== want.memberPort && { memberPort: want.memberPort }),
    ...(!sameTexts(there.sourceRanges, want.sourceRanges) && { sourceRanges: want.sourceRanges }),
    ...(settings.proxyProtocol !== undefined &&
      there.proxyProtocol !== want.proxyProtocol && { proxyProtocol: want.proxyProtocol }),
    ...(settings.tls !== undefined && there.tls !== want.tls && { tls: want.tls }),
    ...(pool && there.pool !== pool.id && { pool: pool.id }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

function poolChange(
  { sessionAffinity }: DesiredLoadBalancer,
  { healthCheck }: Settings,
  there: Pool,
): PoolChange | undefined {
  const known = there.healthCheck;
  const change: PoolChange = {
    ...(healthCheck && (known?.port !== healthCheck.port || known.path !== healthCheck.path) && { healthCheck }),
    ...(there.sessionAffinity?.timeoutSeconds !== sessionAffinity?.timeoutSeconds && {
      sessionAffinity: sessionAffinity ?? null,
    }),
  };
  return Object.keys(change).length > 0 ? change : undefined;
}

function differences(before: object, change: object): string {
  const old = before as Readonly<Record<string, unknown>>;
  return Object.entries(change)
    .map(([key, value]) => `${key} from ${JSON.stringify(old[key]) ?? 'none'} to ${JSON.stringify(value)}`)
    .join(', ');
}

function count(members: readonly unknown[]): string {
  return members.length === 1 ? '1 member' : `${members.length} members`;
}

function sameTexts(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.toSorted().join() === b.toSorted().join();
}
