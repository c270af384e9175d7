import { createHash } from 'node:crypto';
import type { DesiredMember } from '../../clouds/load-balancers.ts';
import { type Eligibility, hasStrongerClaim, instanceOf, type LeavingReason, type MemberFacts } from './facts.ts';

/**
 * A former member whose Node no longer exists (or is no longer of this scope).
 *
 * - `out`: its VM is proved gone, or was off; removed at once
 * - `drains`: a mark announced it, or the budget granted its removal; drained, then removed
 * - `unexplained`: stays where it is a member until the budget grants its removal
 */
export interface Departed {
  /** As the Node spells it, or the load balancer where no Node is known. */
  readonly providerID: string;
  /** Undefined for one that only a load balancer still has. */
  readonly facts: MemberFacts | undefined;
  readonly phase: 'out' | 'drains' | 'unexplained';
  /** Monotonic. */
  readonly sinceMs: number;
  /** The budget refused its removal. */
  readonly refused?: boolean | undefined;
  /** When a load balancer last held it, monotonic; undefined = never, so there is nothing to remove. */
  readonly seenMs: number | undefined;
}

/** A Node that exists and is not an active member. */
export interface Present {
  readonly facts: MemberFacts;
  readonly kind: 'leaving' | 'off' | 'waiting';
  readonly reason: LeavingReason | undefined;
}

/** The members of all load balancers of one scope: computed once for each batch of changes, shared by all Services. */
export interface Membership {
  readonly scope: string;
  /** Its name in `--cloud-provider`. */
  readonly cloud: string;
  /** The instances of existing Nodes, by their providerIDs as the Nodes spell them. */
  readonly spelled: ReadonlyMap<string, string>;
  /** By instance, as the other two. */
  readonly active: ReadonlyMap<string, MemberFacts>;
  /** The active ones as desired members, in the order of their Nodes' names. */
  readonly members: readonly DesiredMember[];
  readonly present: ReadonlyMap<string, Present>;
  readonly departed: ReadonlyMap<string, Departed>;
  /** Equal for memberships that mean the same for every Service. */
  readonly hash: string;
}

/** The changes of Nodes since the last membership. */
export interface NodeChanges {
  /** Of every Node. */
  readonly eligibilities: Iterable<Eligibility>;
  /** By instance: the last eligibility of Nodes that were deleted since. */
  readonly last: ReadonlyMap<string, Eligibility>;
  /** Whether our own lifecycle loop has deleted the Node of this instance, because its VM is proved gone. */
  deletedByUs(instance: string): boolean;
}

/** A scope with load balancers, and the name of its cloud. */
export interface Scope {
  readonly scope: string;
  readonly name: string;
}

/**
 * The next memberships of these scopes. A member whose Node no longer exists becomes `departed`: a missing Node alone
 * removes no member. Pure.
 */
export function nextMemberships(
  scopes: readonly Scope[],
  before: ReadonlyMap<string, Membership>,
  changes: NodeChanges,
  nowMs: number,
): ReadonlyMap<string, Membership> {
  const byScope = new Map<string, Map<string, Exclude<Eligibility, { kind: 'none' }>>>(
    scopes.map(({ scope }) => [scope, new Map()]),
  );
  for (const eligibility of changes.eligibilities) {
    if (eligibility.kind === 'none') continue;
    const held = byScope.get(eligibility.scope);
    const other = held?.get(eligibility.facts.instance);
    if (other === undefined || hasStrongerClaim(eligibility.facts, other.facts))
      held?.set(eligibility.facts.instance, eligibility);
  }
  return new Map(
    scopes.map((place) => [
      place.scope,
      next(place, byScope.get(place.scope) ?? new Map(), before.get(place.scope), changes, nowMs),
    ]),
  );
}

function next(
  place: Scope,
  now: ReadonlyMap<string, Exclude<Eligibility, { kind: 'none' }>>,
  before: Membership | undefined,
  changes: NodeChanges,
  nowMs: number,
): Membership {
  const active = new Map<string, MemberFacts>();
  const present = new Map<string, Present>();
  for (const [instance, eligibility] of now) {
    const { facts, kind } = eligibility;
    if (kind === 'member') active.set(instance, facts);
    else present.set(instance, { facts, kind, reason: kind === 'leaving' ? eligibility.reason : undefined });
  }
  const departed = new Map<string, Departed>();
  for (const [instance, one] of before?.departed ?? []) {
    const kind = now.get(instance)?.kind;
    // A Node that exists again replaces its departed member, but does not revoke a removal before it is initialised.
    if (kind === undefined || (kind === 'waiting' && one.phase !== 'unexplained')) departed.set(instance, one);
  }
  for (const [instance, facts, kindBefore] of before === undefined ? [] : held(before)) {
    if (now.has(instance)) continue;
    const last = changes.last.get(instance);
    const kind = last === undefined || last.kind === 'none' ? kindBefore : last.kind;
    const phase =
      kind === 'off' || changes.deletedByUs(instance) ? 'out' : kind === 'leaving' ? 'drains' : 'unexplained';
    departed.set(instance, { providerID: facts.providerID, facts, phase, sinceMs: nowMs, seenMs: undefined });
  }
  const spelled = new Map([...now].map(([instance, { facts }]) => [facts.providerID, instance]));
  const sorted = [...active.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
  const members = sorted.map((facts) => desiredMember(facts, false));
  const hash = hashOf(sorted, present, departed);
  return { scope: place.scope, cloud: place.name, spelled, active, members, present, departed, hash };
}

function* held(before: Membership): Iterable<[string, MemberFacts, Eligibility['kind']]> {
  for (const [instance, facts] of before.active) yield [instance, facts, 'member'];
  for (const [instance, { facts, kind }] of before.present) yield [instance, facts, kind];
}

/** The instance of this membership that a load balancer's providerID means. */
export function instanceIn(set: Membership, providerID: string): string {
  return set.spelled.get(providerID) ?? instanceOf(set.cloud, providerID);
}

/** The membership with other departed ones. Pure. */
export function withDeparted(set: Membership, departed: ReadonlyMap<string, Departed>): Membership {
  const sorted = [...set.active.values()].sort((a, b) => (a.node < b.node ? -1 : 1));
  return { ...set, departed, hash: hashOf(sorted, set.present, departed) };
}

export function desiredMember(
  facts: Pick<MemberFacts, 'node' | 'providerID' | 'addresses' | 'zone'>,
  draining: boolean,
): DesiredMember {
  const { node, providerID, addresses, zone } = facts;
  return { node, providerID, addresses, zone, draining };
}

function hashOf(
  active: readonly MemberFacts[],
  present: ReadonlyMap<string, Present>,
  departed: ReadonlyMap<string, Departed>,
): string {
  const hash = createHash('sha256');
  for (const { node, providerID, addresses, zone, labels } of active) {
    const chosenBy = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
    hash.update(`${JSON.stringify([node, providerID, addresses, zone, chosenBy])}\n`);
  }
  const others = [
    ...[...present].flatMap(([id, { kind }]) => (kind === 'waiting' ? [] : [`${id} ${kind}`])),
    ...[...departed].flatMap(([id, { phase, refused = false }]) =>
      phase === 'unexplained' && !refused ? [] : [`${id} ${phase}`],
    ),
  ];
  return hash.update(others.sort().join('\n')).digest('hex').slice(0, 16);
}
