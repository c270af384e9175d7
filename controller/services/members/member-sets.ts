import type { Clock, Timer } from '../../../common/process/clock.ts';
import type { Log } from '../../../common/process/log.ts';
import type { MetricsOf } from '../../../common/process/metrics.ts';
import type { Informer } from '../../kube/informer.ts';
import type { BudgetKeeper } from '../../model/budget-keeper.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import type { NodeView } from '../../model/node-view.ts';
import {
  isWithheld,
  type Memberships,
  withGranted,
  withHeld,
  withheldIn,
  withoutExpired,
  withRestartedWaits,
} from './departed-members.ts';
import { eligibilityOf } from './facts.ts';
import { createMemberRemovals, type MemberRemovals } from './member-removals.ts';
import { type Membership, nextMemberships } from './membership.ts';
import type { memberMetrics } from './metrics.ts';
import { collectNodeChanges, type NodeChangeCollector } from './node-changes.ts';
import { createSelections } from './selection.ts';
import { type MembersRequest, membersOf, type ServiceMembers } from './service-members.ts';
import { sharedWork } from './shared-work.ts';

export interface MemberSetsOptions {
  readonly nodes: Informer<NodeView>;
  readonly clouds: readonly ConfiguredCloud[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsOf<typeof memberMetrics>;
  /** Limits removals of members whose Nodes vanished unexplained (kind `member`). */
  readonly budget: BudgetKeeper;
  /** All Nodes that the API server has now. Throws when they cannot be read. */
  liveNodes(): Promise<Iterable<NodeView>>;
  /** True while everything is paused: then no budget is spent. */
  paused(): boolean;
  /** `--member-drain-time`: how long a leaving member drains. Default 30 s. */
  readonly drainMs?: number | undefined;
  /** How long a leaving member waits at most for a replacement. Default 2 min. */
  readonly maxWaitMs?: number | undefined;
  /**
   * After a quiet time of this length the first change is published at once, with what comes together with it. Those
   * that follow are gathered until none has come for so long. Default 1 s.
   */
  readonly quietMs?: number | undefined;
  /** They are gathered for so long at most; default 5 s. */
  readonly longestBatchMs?: number | undefined;
  /**
   * How long a Node must be gone, unexplained, before budget is spent on its member: a Node that is registered again in
   * time keeps it. Default 30 s.
   */
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
  /** Empty when unknown. */
  readonly node: string;
  /** When this leader noticed, monotonic. */
  readonly sinceMs: number;
}

/** Changes of one moment, such as those of one answer of the API server, are published together. */
const momentMs = 20;

/** How many Nodes one line of the log names. */
const namedAtMost = 10;

/** The Nodes that may be members of load balancers: one filtered set for each scope, shared by all Services. */
export interface MemberSets {
  /** Begins a term of leadership. Throws when the cache of Nodes is not synced. */
  start(): void;
  /** Ends the term and drops all state. */
  stop(): void;
  /**
   * The lifecycle loop is about to delete this Node, because its VM is proved gone: its member is removed without
   * budget and without a drain. To be called before the deletion is sent, because the event may arrive before the
   * answer.
   */
  noteDeletion(node: NodeView): void;
  /**
   * Undefined outside a term and for a scope without an API. Notes the members of the load balancer. To be called right
   * before planning; the answer must not be cached.
   */
  membersFor(request: MembersRequest): ServiceMembers | undefined;
  /** The handler is called once for each batch of changes and scope; not for the first sets of a term. */
  onChange(handler: (change: MembersChanged) => void): void;
  withheld(): readonly WithheldMember[];
}

interface Term {
  readonly changes: NodeChangeCollector;
  readonly removals: MemberRemovals;
  sets: Memberships;
  batch: Batch | undefined;
  /** When members were last published, monotonic. */
  publishedMs: number;
}

interface Batch {
  /** Later changes do not put its end off. */
  readonly ends: boolean;
  readonly firstMs: number;
  readonly timer: Timer;
}

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
    if (term?.changes.observe(event)) batchSoon(term);
  });

  function batchSoon(current: Term): void {
    if (current.batch?.ends) return;
    const now = clock.monotonic();
    current.batch?.timer.cancel();
    const firstMs = current.batch?.firstMs ?? now;
    const ends = current.batch === undefined && now - current.publishedMs >= quietMs;
    const waitMs = ends ? momentMs : Math.min(quietMs, firstMs + longestBatchMs - now);
    current.batch = { ends, firstMs, timer: clock.setTimer(waitMs, () => flush(current)) };
  }

  function flush(current: Term): void {
    const now = clock.monotonic();
    current.batch = undefined;
    // Not published: no load balancer holds them.
    current.sets = withoutExpired(current.sets, now);
    publish(current, nextMemberships(scopes, current.sets, current.changes.take(), now));
  }

  function publish(current: Term, next: Memberships): void {
    const before = current.sets;
    current.sets = next;
    for (const [scope, set] of next) {
      const held = before.get(scope);
      count(set);
      if (held?.hash === set.hash) continue;
      current.publishedMs = clock.monotonic();
      metrics.batches.add({ scope });
      const [joined, left] = [without(set, held), held === undefined ? [] : without(held, set)];
      log.info('members changed', {
        scope,
        members: set.members.length,
        joined: joined.length,
        left: left.length,
        nodes: [...joined.map((name) => `+${name}`), ...left.map((name) => `-${name}`)].slice(0, namedAtMost),
      });
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

  /** Notes which departed members this load balancer holds, and those that no Node accounts for. */
  function noteObserved(current: Term, set: Membership, observed: MembersRequest['observed']): Membership {
    const nonMembers = observed === undefined ? [] : work.nonMembers(set, observed);
    const noted = withHeld(set, nonMembers, clock.monotonic());
    if (noted === set) return set;
    current.sets = new Map([...current.sets, [set.scope, noted]]);
    count(noted);
    current.removals.wake();
    return noted;
  }

  function membersFor(request: MembersRequest): ServiceMembers | undefined {
    const { nodeLabels = [] } = request;
    if (term?.changes.chooseBy(nodeLabels.map(({ key }) => key))) {
      term.batch?.timer.cancel();
      flush(term);
    }
    const set = term?.sets.get(request.scope);
    if (term === undefined || set === undefined) return undefined;
    const selected = selections.of(noteObserved(term, set, request.observed), nodeLabels);
    return membersOf(selected, request, drain, clock.monotonic(), work);
  }

  /** The cache of a new leader may be minutes old: members whose Nodes exist restart their wait. */
  async function confirmGone(current: Term): Promise<void> {
    const present = new Map<string, Set<string>>();
    for (const node of await options.liveNodes()) {
      const eligibility = eligibilityOf(node, clouds);
      if (eligibility.kind === 'none') continue;
      const instances = present.get(eligibility.scope) ?? new Set();
      present.set(eligibility.scope, instances.add(eligibility.facts.instance));
    }
    current.sets = withRestartedWaits(current.sets, present, clock.monotonic());
  }

  /** Decides by the sets of this moment, because Nodes may have come back while the ledger was written. */
  function release(current: Term, granted: number): void {
    const next = withGranted(current.sets, granted, { nowMs: clock.monotonic(), confirmMs });
    if (next === undefined) return;
    for (const { providerID, facts } of next.released)
      log.info('member released: its Node vanished', { providerID, node: facts?.node });
    publish(current, next.sets);
  }

  function startTerm(): Term {
    const changes = collectNodeChanges(nodes, clouds, clock);
    const sets = nextMemberships(scopes, new Map(), changes.take(), clock.monotonic());
    const removals = createMemberRemovals({
      clock,
      log,
      budget,
      confirmMs,
      paused: options.paused,
      waitingSinceMs: () => withheldIn(current.sets).map(({ departed }) => departed.sinceMs),
      size: () =>
        [...current.sets.values()].reduce(
          (sum, { active, present, departed }) => sum + active.size + present.size + departed.size,
          0,
        ),
      confirmGone: () => confirmGone(current),
      release: (granted) => release(current, granted),
    });
    const current: Term = { changes, removals, sets, batch: undefined, publishedMs: Number.NEGATIVE_INFINITY };
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
    noteDeletion: (node) => term?.changes.noteDeletion(node),
    membersFor,
    onChange: (handler) => handlers.push(handler),
    withheld: () =>
      withheldIn(term?.sets ?? new Map()).map(({ set, departed: { providerID, facts, sinceMs } }) => ({
        scope: set.scope,
        providerID,
        node: facts?.node ?? '',
        sinceMs,
      })),
  };
}

/** The Nodes of the members of one set that another one lacks. */
function without(set: Membership, other: Membership | undefined): string[] {
  return [...set.active].flatMap(([instance, { node }]) => (other?.active.has(instance) ? [] : [node]));
}
