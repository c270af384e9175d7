import { createHash } from 'node:crypto';
import type { DesiredMember } from '../../clouds/load-balancers.ts';
import type { LeavingReason, MemberFacts, Standing } from './facts.ts';

/**
 * One that was a member and whose Node is no longer there (or no longer of this scope).
 *
 * - `out`: its VM is proved gone, or was off; removed at once
 * - `drains`: a mark foretold it, or the budget let it go; drained, then removed
 * - `unexplained`: kept where it is until the budget lets it go
 */
export interface Departed {
  readonly providerID: string;
  /** Undefined for one that only a load balancer still knows. */
  readonly facts: MemberFacts | undefined;
  readonly phase: 'out' | 'drains' | 'unexplained';
  /** Monotonic. */
  readonly sinceMs: number;
  /** When a load balancer was last seen to hold it, monotonic; undefined = never: then nothing need be removed. */
  readonly seenMs: number | undefined;
}

/** A Node that is there and not a plain member. */
export interface Present {
  readonly facts: MemberFacts;
  readonly kind: 'leaving' | 'off' | 'waiting';
  readonly reason: LeavingReason | undefined;
}

/** The members of all load balancers of one scope: made once for each batch of changes and shared by every Service. */
export interface Membership {
  readonly scope: string;
  /** By providerID. */
  readonly active: ReadonlyMap<string, MemberFacts>;
  /** The active ones as load balancers want them, in the order of their Nodes' names. */
  readonly members: readonly DesiredMember[];
  readonly present: ReadonlyMap<string, Present>;
  readonly departed: ReadonlyMap<string, Departed>;
  /** Equal for memberships that come to the same for every Service. */
  readonly hash: string;
}

/** What has become of the Nodes since the last membership. */
export interface NodeNews {
  /** Where every Node stands now. */
  readonly standings: Iterable<Standing>;
  /** By providerID: where Nodes stood when they were last seen, of those that went meanwhile. */
  readonly last: ReadonlyMap<string, Standing>;
  /** Whether our own lifecycle loop has deleted the Node of this instance, with its evidence. */
  deletedByUs(providerID: string): boolean;
}

/** Of two Nodes that claim one instance, the one that speaks for keeping it is heard. */
const rank = { member: 0, waiting: 1, leaving: 2, off: 3 } as const;

/**
 * The next memberships of these scopes. A member whose Node is not there any more becomes `departed`, never simply absent: absence of a Node alone empties nothing.
 * Pure.
 */
export function nextMemberships(
  scopes: readonly string[],
  before: ReadonlyMap<string, Membership>,
  news: NodeNews,
  nowMs: number,
): ReadonlyMap<string, Membership> {
  const byScope = new Map<string, Map<string, Exclude<Standing, { kind: 'none' }>>>(
    scopes.map((scope) => [scope, new Map()]),
  );
  for (const standing of news.standings) {
    if (standing.kind === 'none') continue;
    const held = byScope.get(standing.scope);
    const { providerID, node } = standing.facts;
    const other = held?.get(providerID);
    const order = other && (rank[standing.kind] - rank[other.kind] || (node < other.facts.node ? -1 : 1));
    if (order === undefined || order < 0) held?.set(providerID, standing);
  }
  return new Map([...byScope].map(([scope, now]) => [scope, next(scope, now, before.get(scope), news, nowMs)]));
}

function next(
  scope: string,
  now: ReadonlyMap<string, Exclude<Standing, { kind: 'none' }>>,
  before: Membership | undefined,
  news: NodeNews,
  nowMs: number,
): Membership {
  const active = new Map<string, MemberFacts>();
  const present = new Map<string, Present>();
  for (const [providerID, standing] of now) {
    const { facts, kind } = standing;
    if (kind === 'member') active.set(providerID, facts);
    else present.set(providerID, { facts, kind, reason: kind === 'leaving' ? standing.reason : undefined });
  }
  const departed = new Map<string, Departed>();
  for (const [providerID, one] of before?.departed ?? []) {
    const kind = now.get(providerID)?.kind;
    // A Node that is there again speaks for itself; one that waits for its initialisation takes back no removal that was decided.
    if (kind === undefined || (kind === 'waiting' && one.phase !== 'unexplained')) departed.set(providerID, one);
  }
  for (const [providerID, facts, stood] of before === undefined ? [] : held(before)) {
    if (now.has(providerID)) continue;
    const last = news.last.get(providerID);
    const kind = last === undefined || last.kind === 'none' ? stood : last.kind;
    const phase =
      kind === 'off' || news.deletedByUs(providerID)
        ? 'out'
        : kind === 'leaving' || facts.doomed
          ? 'drains'
          : 'unexplained';
    departed.set(providerID, { providerID, facts, phase, sinceMs: nowMs, seenMs: undefined });
  }
  return membership(scope, active, present, departed);
}

function* held(before: Membership): Iterable<[string, MemberFacts, Standing['kind']]> {
  for (const [providerID, facts] of before.active) yield [providerID, facts, 'member'];
  for (const [providerID, { facts, kind }] of before.present) yield [providerID, facts, kind];
}

function membership(
  scope: string,
  active: ReadonlyMap<string, MemberFacts>,
  present: ReadonlyMap<string, Present>,
  departed: ReadonlyMap<string, Departed>,
): Membership {
  const members = [...active.values()]
    .sort((a, b) => (a.node < b.node ? -1 : 1))
    .map((facts) => desiredMember(facts, false));
  return { scope, active, members, present, departed, hash: hashOf(members, present, departed) };
}

/** The same membership with other departed ones. Pure. */
export function withDeparted(set: Membership, departed: ReadonlyMap<string, Departed>): Membership {
  return { ...set, departed, hash: hashOf(set.members, set.present, departed) };
}

export function desiredMember(facts: Omit<MemberFacts, 'doomed'>, draining: boolean): DesiredMember {
  const { node, providerID, addresses, zone } = facts;
  return { node, providerID, addresses, zone, draining };
}

function hashOf(
  members: readonly DesiredMember[],
  present: ReadonlyMap<string, Present>,
  departed: ReadonlyMap<string, Departed>,
): string {
  const hash = createHash('sha256');
  for (const { node, providerID, addresses, zone } of members) {
    hash.update(`${JSON.stringify([node, providerID, addresses, zone])}\n`);
  }
  const others = [
    ...[...present].flatMap(([id, { kind }]) => (kind === 'waiting' ? [] : [`${id} ${kind}`])),
    ...[...departed].flatMap(([id, { phase }]) => (phase === 'unexplained' ? [] : [`${id} ${phase}`])),
  ];
  return hash.update(others.sort().join('\n')).digest('hex').slice(0, 16);
}
