import type { Clock, Timer } from '../../../common/process/clock.ts';
import type { Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Informer, InformerEvent } from '../../kube/informer.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { NodeView } from '../../model/node-view.ts';
import { type Eligibility, eligibilityOf, sameEligibility } from './facts.ts';
import { explainEligibility, type NodeMembership } from './member-explanation.ts';
import { createMemberRemovals, type MemberRemovals } from './member-removals.ts';
import { type Departed, instanceIn, type Membership, nextMemberships, withDeparted } from './membership.ts';
import type { memberMetrics } from './metrics.ts';
import { createSelections } from './selection.ts';
import { type MembersRequest, membersOf, type ServiceMembers } from './service-members.ts';
import { sharedWork } from './shared-work.ts';

export interface MemberSetsOptions {
  readonly nodes: Informer<NodeView>;
  readonly clouds: readonly ConfiguredCloud[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsOf<typeof memberMetrics>;
  /** Lets go of members whose Nodes vanished unexplained (kind `member`). */
  readonly budget: BudgetKeeper;
  /** All Nodes as the API server has them now. Throws when it does not tell. */
  liveNodes(): Promise<Iterable<NodeView>>;
  /** True while everything is paused: then no budget is spent. */
  paused(): boolean;
  /** `--member-drain-time`: how long a leaving member drains. Default 30 s. */
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

/** Which Nodes the load balancers of each scope send connections to: one filtered set a scope, shared by every Service. */
export interface MemberSets {
  /** Begins a term of leadership with the sets of this moment. Throws when the cache of Nodes is not synced: nothing is decided from half of it. */
  start(): void;
  /** Ends the term; nothing of it is remembered. */
  stop(): void;
  /**
   * Our own lifecycle loop is about to delete this Node, with its evidence: its member goes without budget and without a drain. To be called before the deletion is
   * sent, since the cache may hear of it before the answer comes.
   */
  noteDeletion(node: NodeView): void;
  /** Undefined outside a term and for a scope without an API. Takes note of what the load balancer holds; call it right before planning, never keep its answer. */
  membersFor(request: MembersRequest): ServiceMembers | undefined;
  /** Called once for each batch of changes and scope; not for the first sets of a term. */
  onChange(handler: (change: MembersChanged) => void): void;
  withheld(): readonly WithheldMember[];
  /** Undefined for a Node that nothing is known of. */
  explain(nodeName: string): NodeMembership | undefined;
}

interface Term {
  /** By name of the Node. */
  readonly eligibilities: Map<string, Eligibility>;
  /** By instance: where Nodes stood that went since the last batch. */
  readonly last: Map<string, Eligibility>;
  /** By instance: until when a deletion of ours explains its absence. */
  readonly deletions: Map<string, number>;
  /** Labels that some Service has chosen members by in this term. */
  readonly chosenBy: Set<string>;
  readonly removals: MemberRemovals;
  sets: ReadonlyMap<string, Membership>;
  batch: { readonly firstMs: number; readonly timer: Timer } | undefined;
}

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
  const scopes = clouds.filter(({ api }) => api !== undefined);
  const handlers: ((change: MembersChanged) => void)[] = [];
  const work = sharedWork();
  const selections = createSelections();
  let term: Term | undefined;

  nodes.subscribe((event) => {
    if (term) observe(term, event);
  });

  function observe(current: Term, event: InformerEvent<NodeView>): void {
    const { eligibilities, last } = current;
    if (event.type === 'deleted') {
      // As last seen, which may be further than what we were told before: a mark and the deletion may come in one.
      const stood = eligibilityOf(event.old, clouds, current.chosenBy);
      if (stood.kind !== 'none') last.set(stood.facts.instance, stood);
      eligibilities.delete(event.key);
      batchSoon(current);
      return;
    }
    const now = eligibilityOf(event.object, clouds, current.chosenBy);
    if (sameEligibility(eligibilities.get(event.key), now)) return;
    eligibilities.set(event.key, now);
    batchSoon(current);
  }

  function batchSoon(current: Term): void {
    const now = clock.monotonic();
    current.batch?.timer.cancel();
    const firstMs = current.batch?.firstMs ?? now;
    const timer = clock.setTimer(Math.min(quietMs, firstMs + longestBatchMs - now), () => flush(current));
    current.batch = { firstMs, timer };
  }

  function flush(current: Term): void {
    const { deletions, last, eligibilities } = current;
    const now = clock.monotonic();
    current.batch = undefined;
    for (const [instance, untilMs] of deletions) if (untilMs <= now) deletions.delete(instance);
    expire(current, now);
    const news = {
      eligibilities: eligibilities.values(),
      last,
      deletedByUs: (instance: string) => deletions.has(instance),
    };
    const next = nextMemberships(scopes, current.sets, news, now);
    for (const instance of last.keys()) deletions.delete(instance);
    last.clear();
    publish(current, next);
  }

  function publish(current: Term, next: ReadonlyMap<string, Membership>): void {
    const before = current.sets;
    current.sets = next;
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

  function replace(current: Term, set: Membership): void {
    current.sets = new Map([...current.sets, [set.scope, set]]);
  }

  /** Silently: what nobody holds changes nothing. */
  function expire(current: Term, now: number): void {
    for (const set of current.sets.values()) {
      const kept = [...set.departed].filter(([, { sinceMs, seenMs }]) => now - (seenMs ?? sinceMs) < forgetMs);
      if (kept.length < set.departed.size) replace(current, withDeparted(set, new Map(kept)));
    }
  }

  /** Notes which of the departed this load balancer holds, and learns of members that no Node accounts for. */
  function noteObserved(current: Term, set: Membership, observed: MembersRequest['observed']): Membership {
    const now = clock.monotonic();
    let departed: Map<string, Departed> | undefined;
    for (const { providerID, draining } of observed === undefined ? [] : work.nonMembers(set, observed)) {
      const instance = instanceIn(set, providerID);
      const held = (departed ?? set.departed).get(instance);
      if (held === undefined && set.present.has(instance)) continue;
      if (held?.seenMs !== undefined && now - held.seenMs < seenGrainMs) continue;
      departed ??= new Map(set.departed);
      // Who drains has been let go before, by us.
      const phase = draining ? 'drains' : 'unexplained';
      departed.set(instance, { ...(held ?? { providerID, facts: undefined, phase, sinceMs: now }), seenMs: now });
    }
    if (departed === undefined) return set;
    const noted = { ...set, departed };
    replace(current, noted);
    count(noted);
    current.removals.wake();
    return noted;
  }

  /** The first Service that chooses by a label has all Nodes looked at anew. */
  function chooseBy(current: Term, keys: readonly string[]): void {
    const news = keys.filter((key) => !current.chosenBy.has(key));
    if (news.length === 0) return;
    for (const key of news) current.chosenBy.add(key);
    for (const node of nodes.values())
      current.eligibilities.set(node.name, eligibilityOf(node, clouds, current.chosenBy));
    current.batch?.timer.cancel();
    flush(current);
  }

  function membersFor(request: MembersRequest): ServiceMembers | undefined {
    const { nodeLabels = [] } = request;
    if (term !== undefined)
      chooseBy(
        term,
        nodeLabels.map(({ key }) => key),
      );
    const set = term?.sets.get(request.scope);
    if (term === undefined || set === undefined) return undefined;
    const noted = selections.of(noteObserved(term, set, request.observed), nodeLabels);
    return membersOf(noted, request, drain, clock.monotonic(), work);
  }

  /** The cache may be minutes old, above all a new leader's: who has a Node after all begins to wait anew, until the cache shows it. */
  async function reconsider(current: Term): Promise<void> {
    const there = new Map<string, Set<string>>();
    for (const node of await options.liveNodes()) {
      const stands = eligibilityOf(node, clouds);
      if (stands.kind === 'none') continue;
      const instances = there.get(stands.scope) ?? new Set();
      there.set(stands.scope, instances.add(stands.facts.instance));
    }
    const now = clock.monotonic();
    for (const set of current.sets.values()) {
      const departed = new Map(set.departed);
      for (const [instance, one] of set.departed)
        if (isWithheld(one) && there.get(set.scope)?.has(instance)) departed.set(instance, { ...one, sinceMs: now });
      replace(current, { ...set, departed });
    }
  }

  /** Decided from what is there now: Nodes may have come back while the ledger was written. */
  function letGo(current: Term, granted: number): void {
    const now = clock.monotonic();
    const waiting = withheldIn(current.sets)
      .filter(({ one }) => now - one.sinceMs >= confirmMs)
      .sort((a, b) => a.one.sinceMs - b.one.sinceMs || (a.instance < b.instance ? -1 : 1));
    const changed = waiting.filter(({ one }, index) => index < granted || one.refused !== true);
    if (changed.length === 0) return;
    const next = new Map<string, Map<string, Departed>>();
    for (const [index, { set, instance, one }] of waiting.entries()) {
      const departed = next.get(set.scope) ?? new Map(set.departed);
      next.set(set.scope, departed);
      departed.set(instance, index < granted ? { ...one, phase: 'drains' } : { ...one, refused: true });
      if (index < granted)
        log.info('member let go: its Node vanished', { providerID: one.providerID, node: one.facts?.node });
    }
    publish(
      current,
      new Map(
        [...current.sets].map(([scope, set]) => {
          const departed = next.get(scope);
          return [scope, departed === undefined ? set : withDeparted(set, departed)];
        }),
      ),
    );
  }

  function startTerm(): Term {
    const eligibilities = new Map<string, Eligibility>();
    for (const node of nodes.values()) eligibilities.set(node.name, eligibilityOf(node, clouds));
    const last = new Map<string, Eligibility>();
    const news = { eligibilities: eligibilities.values(), last, deletedByUs: () => false };
    const sets = nextMemberships(scopes, new Map(), news, clock.monotonic());
    const removals = createMemberRemovals({
      clock,
      log,
      budget,
      confirmMs,
      paused: options.paused,
      waiting: () => withheldIn(current.sets).map(({ one }) => one.sinceMs),
      size: () =>
        [...current.sets.values()].reduce(
          (sum, { active, present, departed }) => sum + active.size + present.size + departed.size,
          0,
        ),
      reconsider: () => reconsider(current),
      letGo: (granted) => letGo(current, granted),
    });
    const current: Term = {
      ...{ eligibilities, last, deletions: new Map(), chosenBy: new Set() },
      ...{ removals, sets, batch: undefined },
    };
    return current;
  }

  return {
    start() {
      if (term) return;
      if (!nodes.synced) throw new Error('the cache of Nodes is not synced');
      term = startTerm();
      for (const set of term.sets.values()) count(set);
    },
    stop() {
      term?.batch?.timer.cancel();
      term?.removals.stop();
      term = undefined;
      metrics.members.reset();
    },
    noteDeletion(node) {
      const stood = eligibilityOf(node, clouds);
      if (stood.kind !== 'none') term?.deletions.set(stood.facts.instance, clock.monotonic() + deletionNoteMs);
    },
    membersFor,
    onChange: (handler) => handlers.push(handler),
    withheld: () =>
      withheldIn(term?.sets ?? new Map()).map(({ set, one: { providerID, facts, sinceMs } }) => ({
        scope: set.scope,
        providerID,
        node: facts?.node ?? '',
        sinceMs,
      })),
    explain: (nodeName) => term && explainEligibility(nodeName, term.eligibilities.get(nodeName), term.sets),
  };
}

function isWithheld({ phase, seenMs }: Departed): boolean {
  return phase === 'unexplained' && seenMs !== undefined;
}

function withheldIn(sets: ReadonlyMap<string, Membership>) {
  return [...sets.values()].flatMap((set) =>
    [...set.departed].flatMap(([instance, one]) => (isWithheld(one) ? [{ set, instance, one }] : [])),
  );
}
