import type { Clock, Timer } from '../../../common/process/clock.ts';
import { errorFields, type Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Informer, InformerEvent } from '../../kube/informer.ts';
import type { BudgetKeeper } from '../../nodes/budget-keeper.ts';
import type { ConfiguredCloud } from '../../nodes/configured-cloud.ts';
import type { NodeView } from '../../nodes/node-view.ts';
import { type Standing, sameStanding, standingOf } from './facts.ts';
import { explainStanding, type NodeMembership } from './member-explanation.ts';
import { type Departed, type Membership, nextMemberships, withDeparted } from './membership.ts';
import type { memberMetrics } from './metrics.ts';
import { type DrainTimes, type MembersRequest, membersOf, type ServiceMembers } from './service-members.ts';

export interface MemberSetsOptions {
  readonly nodes: Informer<NodeView>;
  readonly clouds: readonly ConfiguredCloud[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsOf<typeof memberMetrics>;
  /** Lets go of members whose Nodes vanished unexplained (kind `member`). */
  readonly budget: BudgetKeeper;
  /** True while everything is paused: then no budget is spent. */
  paused(): boolean;
  /** How long a leaving member drains. Default 30 s. */
  readonly drainMs?: number | undefined;
  /** How long a leaving member waits at most for its replacement. Default 2 min. */
  readonly maxWaitMs?: number | undefined;
  /** A batch ends after this much quiet; default 1 s. */
  readonly quietMs?: number | undefined;
  /** A batch lasts this long at most; default 5 s. */
  readonly longestBatchMs?: number | undefined;
  /** How long a Node must be gone, unexplained, before budget is spent on its member: one that is registered anew keeps it. Default 30 s. */
  readonly confirmMs?: number | undefined;
}

/** The members of one scope have changed. */
export interface MembersChanged {
  readonly scope: string;
  readonly hash: string;
}

/** A member that stays although its Node is gone. */
export interface WithheldMember {
  readonly scope: string;
  readonly providerID: string;
  /** Empty when no one remembers. */
  readonly node: string;
  /** Since when this leader knows, monotonic. */
  readonly sinceMs: number;
}

/** Which Nodes the load balancers of each scope send connections to, for one term of leadership: one filtered set a scope, shared by every Service. */
export interface MemberSets {
  /** Builds the first sets, at once. Throws when the cache of Nodes is not synced: nothing is decided from half of it. */
  start(): void;
  stop(): void;
  /** Takes note of a change in the cache; at once. Before `start` it is ignored. */
  observe(event: InformerEvent<NodeView>): void;
  /** Our own lifecycle loop is about to delete this Node, with its evidence: its member goes without budget and without a drain. Call it before the deletion is sent. */
  noteDeletion(node: Pick<NodeView, 'providerID'>): void;
  /** Undefined before `start` and for a scope without an API. Takes note of what the load balancer holds; call it right before planning, never keep its answer. */
  membersFor(request: MembersRequest): ServiceMembers | undefined;
  /** The Service is gone: what was remembered of its drains is dropped. */
  forget(service: string): void;
  /** Called once for each batch of changes and scope; not for the first set. */
  onChange(handler: (change: MembersChanged) => void): void;
  withheld(): readonly WithheldMember[];
  /** Undefined for a Node that nothing is known of. */
  explain(nodeName: string): NodeMembership | undefined;
}

/** While members are withheld: how often the budget is asked. */
const budgetLookMs = 30_000;
/** An own deletion that has not shown itself in the cache by then has failed. */
const deletionNoteMs = 300_000;
/** One that no load balancer was seen to hold for so long is forgotten. */
const forgetMs = 3 * 3_600_000;
/** How exactly it is known when a load balancer was last seen to hold one. */
const seenGrainMs = 60_000;

export function createMemberSets(options: MemberSetsOptions): MemberSets {
  const { nodes, clouds, clock, log, metrics, budget } = options;
  const { quietMs = 1000, longestBatchMs = 5000, confirmMs = 30_000 } = options;
  const drain = { drainMs: options.drainMs ?? 30_000, maxWaitMs: options.maxWaitMs ?? 120_000 };
  const scopes = clouds.filter(({ api }) => api !== undefined).map(({ scope }) => scope);
  const handlers: ((change: MembersChanged) => void)[] = [];
  /** By name of the Node. */
  const standings = new Map<string, Standing>();
  /** By providerID: where Nodes stood that went since the last batch. */
  const last = new Map<string, Standing>();
  const deletions = new Map<string, number>();
  const times = new Map<string, DrainTimes>();
  let sets: ReadonlyMap<string, Membership> = new Map();
  let state: 'new' | 'started' | 'stopped' = 'new';
  let batch: { readonly firstMs: number; timer: Timer } | undefined;
  let budgetTimer: { readonly atMs: number; readonly timer: Timer } | undefined;
  let spending = false;

  function observe(event: InformerEvent<NodeView>): void {
    if (state !== 'started') return;
    if (event.type === 'deleted') {
      // As last seen, which may be further than what we were told before: a mark and the deletion may come in one.
      const stood = standingOf(event.old, clouds);
      if (stood.kind !== 'none') last.set(stood.facts.providerID, stood);
      standings.delete(event.key);
      batchSoon();
      return;
    }
    const now = standingOf(event.object, clouds);
    if (sameStanding(standings.get(event.key), now)) return;
    standings.set(event.key, now);
    batchSoon();
  }

  function batchSoon(): void {
    const now = clock.monotonic();
    batch?.timer.cancel();
    const firstMs = batch?.firstMs ?? now;
    batch = { firstMs, timer: clock.setTimer(Math.min(quietMs, firstMs + longestBatchMs - now), flush) };
  }

  function flush(): void {
    batch = undefined;
    const now = clock.monotonic();
    for (const [providerID, untilMs] of deletions) if (untilMs <= now) deletions.delete(providerID);
    expire(now);
    const before = sets;
    const news = { standings: standings.values(), last, deletedByUs: (id: string) => deletions.has(id) };
    publish(nextMemberships(scopes, before, news, now));
    for (const providerID of last.keys()) deletions.delete(providerID);
    last.clear();
  }

  function publish(next: ReadonlyMap<string, Membership>): void {
    const before = sets;
    sets = next;
    for (const [scope, set] of next) {
      const held = before.get(scope);
      count(set);
      if (held?.hash === set.hash) continue;
      metrics.batches.add({ scope });
      log.info('members changed', { scope, members: set.members.length, before: held?.members.length ?? 0 });
      for (const handler of handlers) handler({ scope, hash: set.hash });
    }
  }

  function count(set: Membership): void {
    const { scope, present, departed } = set;
    const leaving = [...present.values()].filter(({ kind }) => kind === 'leaving').length;
    metrics.members.set({ scope, state: 'active' }, set.members.length);
    metrics.members.set({ scope, state: 'leaving' }, leaving);
    metrics.members.set({ scope, state: 'withheld' }, [...departed.values()].filter(isWithheld).length);
  }

  function replace(set: Membership, departed: ReadonlyMap<string, Departed>): void {
    sets = new Map([...sets, [set.scope, { ...set, departed }]]);
  }

  /** Silently: what nobody holds changes nothing. */
  function expire(now: number): void {
    for (const set of sets.values()) {
      const kept = [...set.departed].filter(([, { sinceMs, seenMs }]) => now - (seenMs ?? sinceMs) < forgetMs);
      if (kept.length < set.departed.size) sets = new Map([...sets, [set.scope, withDeparted(set, new Map(kept))]]);
    }
  }

  /** Notes which of the departed this load balancer holds, and learns of members that no Node accounts for. */
  function noteObserved(set: Membership, observed: MembersRequest['observed']): Membership {
    const now = clock.monotonic();
    let departed: Map<string, Departed> | undefined;
    for (const { providerID, draining } of observed ?? []) {
      if (set.active.has(providerID)) continue;
      const held = (departed ?? set.departed).get(providerID);
      if (
        held === undefined ? set.present.has(providerID) : now - (held.seenMs ?? Number.NEGATIVE_INFINITY) < seenGrainMs
      )
        continue;
      departed ??= new Map(set.departed);
      // Who drains has been let go before, by us.
      const phase = draining ? 'drains' : 'unexplained';
      departed.set(providerID, {
        ...(held ?? { providerID, facts: undefined, phase, sinceMs: now }),
        seenMs: now,
      });
    }
    if (departed === undefined) return set;
    replace(set, departed);
    askBudgetLater();
    const noted = { ...set, departed };
    count(noted);
    return noted;
  }

  function membersFor(request: MembersRequest): ServiceMembers | undefined {
    const set = state === 'started' ? sets.get(request.scope) : undefined;
    if (set === undefined) return undefined;
    const noted = noteObserved(set, request.observed);
    const before = times.get(request.service) ?? new Map();
    const result = membersOf(noted, request, before, drain, clock.monotonic());
    if (result.times.size > 0) times.set(request.service, result.times);
    else times.delete(request.service);
    return result.members;
  }

  function candidates(now: number): { readonly set: Membership; readonly one: Departed }[] {
    return [...sets.values()]
      .flatMap((set) => [...set.departed.values()].filter(isWithheld).map((one) => ({ set, one })))
      .filter(({ one }) => now - one.sinceMs >= confirmMs)
      .sort((a, b) => a.one.sinceMs - b.one.sinceMs || (a.one.providerID < b.one.providerID ? -1 : 1));
  }

  function askBudgetLater(atLeastMs = 0): void {
    if (state !== 'started' || spending) return;
    const waiting = [...sets.values()].flatMap(({ departed }) => [...departed.values()].filter(isWithheld));
    if (waiting.length === 0) return;
    const now = clock.monotonic();
    const atMs = Math.max(now + atLeastMs, Math.min(...waiting.map(({ sinceMs }) => sinceMs + confirmMs)));
    if (budgetTimer !== undefined && budgetTimer.atMs <= Math.max(atMs, now + budgetLookMs)) return;
    budgetTimer?.timer.cancel();
    const timer = clock.setTimer(atMs - now, () => {
      budgetTimer = undefined;
      void askBudget();
    });
    budgetTimer = { atMs, timer };
  }

  async function askBudget(): Promise<void> {
    spending = true;
    try {
      const wanted = candidates(clock.monotonic());
      if (wanted.length > 0 && !options.paused()) {
        const size = [...sets.values()].reduce(
          (sum, { active, present, departed }) => sum + active.size + present.size + departed.size,
          0,
        );
        const granted = await budget.take('member', wanted.length, size);
        if (state === 'started') letGo(granted, wanted.length);
      }
    } catch (error) {
      log.warn('budget not written, so no member is let go', errorFields(error));
    } finally {
      spending = false;
      askBudgetLater(budgetLookMs);
    }
  }

  /** Decided anew from what is there now: Nodes may have come back while the ledger was written. */
  function letGo(granted: number, wanted: number): void {
    const chosen = candidates(clock.monotonic()).slice(0, granted);
    const next = new Map(sets);
    for (const { set, one } of chosen) {
      const current = next.get(set.scope) ?? set;
      const departed = new Map(current.departed).set(one.providerID, { ...one, phase: 'drains' });
      next.set(set.scope, withDeparted(current, departed));
      log.info('member let go: its Node vanished', { providerID: one.providerID, node: one.facts?.node });
    }
    if (granted < wanted) log.warn('member removals withheld', { withheld: wanted - granted });
    if (chosen.length > 0) publish(next);
  }

  return {
    start() {
      if (state !== 'new') return;
      if (!nodes.synced) throw new Error('the cache of Nodes is not synced');
      state = 'started';
      for (const node of nodes.values()) standings.set(node.name, standingOf(node, clouds));
      const news = { standings: standings.values(), last, deletedByUs: () => false };
      sets = nextMemberships(scopes, new Map(), news, clock.monotonic());
      for (const set of sets.values()) count(set);
    },
    stop() {
      state = 'stopped';
      batch?.timer.cancel();
      budgetTimer?.timer.cancel();
      metrics.members.reset();
    },
    observe,
    noteDeletion({ providerID }) {
      if (state === 'started') deletions.set(providerID, clock.monotonic() + deletionNoteMs);
    },
    membersFor,
    forget: (service) => times.delete(service),
    onChange: (handler) => handlers.push(handler),
    withheld: () =>
      [...sets.values()].flatMap(({ scope, departed }) =>
        [...departed.values()]
          .filter(isWithheld)
          .map(({ providerID, facts, sinceMs }) => ({ scope, providerID, node: facts?.node ?? '', sinceMs })),
      ),
    explain: (nodeName) => explainStanding(nodeName, standings.get(nodeName), sets),
  };
}

function isWithheld({ phase, seenMs }: Departed): boolean {
  return phase === 'unexplained' && seenMs !== undefined;
}
