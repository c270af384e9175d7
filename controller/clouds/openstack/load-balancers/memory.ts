import type { Clock } from '../../../../common/process/clock.ts';
import type { Owner } from '../../load-balancers.ts';
import { type Answers, createAnswers } from './answers-heard.ts';
import type { OctaviaObserved, Subject } from './observed.ts';
import { isAtWork } from './plan-wait.ts';
import { createWorkTimes, type WorkTimes } from './work-times.ts';

/** What one process remembers between looks; nothing of it is needed to be right. */
export interface Memory extends WorkTimes, Answers {
  /**
   * What came of a step, so that waiting for its end needs one read a look. Only what waits is kept, and what has yet to be compared with what is there.
   *
   * @param sure all of its pieces are known as they will be then
   */
  remember(subject: Subject, observed: OctaviaObserved | undefined, sure: boolean): void;
  recall(owner: Owner): { readonly observed: OctaviaObserved; readonly sure: boolean } | undefined;
  /** Nothing of what was remembered holds. */
  forget(owner: Owner): void;
  /** The Services that have a security group of their own; a list of everything has shown it. */
  sawGroups(services: readonly string[]): void;
  mayHaveGroup(owner: Owner): boolean;
  /** Whether any Service may; a list that showed none is believed for an hour. */
  mayHaveGroups(): boolean;
  /** What a look at one Service, begun at that moment, answered. */
  saw(observed: OctaviaObserved | undefined, atMs: number): void;
  /** Such a look has just answered this, and nothing has been done since. */
  isOfNow(observed: OctaviaObserved | undefined): boolean;
  /** One in ERROR was deleted, to be made anew; should that go on, it takes ever longer rests. */
  noteRecreation(owner: Owner): void;
  restOf(owner: Owner): number;
  /** A failover was refused; it is not tried again. */
  noteNoFailover(): void;
  readonly noFailover: boolean;
}

/** Nobody comes to use a load balancer in less: it takes several changes, each with its wait. */
const nowMs = 2000;
const noGroupsMs = 3_600_000;
/** For how long what is known from our steps alone holds once Octavia lets others in. */
const uncomparedMs = 30_000;
/** Whoever waits looks more often; one that was away for longer may find what others have done since. */
const waitsMs = 300_000;
/** Between two that came to ERROR as soon as they were made. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

export function createMemory(clock: Clock): Memory {
  let noFailover = false;
  /** By Service. */
  const last = new Map<
    string,
    { readonly observed: OctaviaObserved; readonly sure: boolean; readonly waits: boolean; readonly atMs: number }
  >();
  /** By Service: how often in a row what was made came to ERROR. */
  const recreations = new Map<string, { readonly count: number; readonly atMs: number }>();
  let groups: { readonly services: ReadonlySet<string>; readonly atMs: number } | undefined;
  /** By what a look answered: when it began. */
  const looks = new WeakMap<OctaviaObserved, number>();
  return {
    ...createWorkTimes(clock),
    ...createAnswers(),
    remember({ owner }, observed, sure) {
      const { own, hosts = [] } = observed?.pieces ?? {};
      if (own?.status === 'ACTIVE') recreations.delete(owner.service);
      // The rest is read anew anyway.
      const waits = [own, ...hosts].some((one) => one && isAtWork(one));
      if (observed && (waits || observed.pieces.assumed))
        last.set(owner.service, { observed, sure, waits, atMs: clock.monotonic() });
      else last.delete(owner.service);
    },
    recall({ service }) {
      const known = last.get(service);
      // While Octavia is at work it lets nobody else in.
      return known && clock.monotonic() - known.atMs < (known.waits ? waitsMs : uncomparedMs) ? known : undefined;
    },
    forget: ({ service }) => void last.delete(service),
    sawGroups(services) {
      groups = { services: new Set(services), atMs: clock.monotonic() };
    },
    mayHaveGroup: ({ service }) => groups?.services.has(service) ?? true,
    mayHaveGroups: () => (groups?.services.size ?? 1) > 0 || clock.monotonic() - (groups?.atMs ?? 0) > noGroupsMs,
    saw(observed, atMs) {
      if (observed) looks.set(observed, atMs);
    },
    isOfNow(observed) {
      const atMs = observed && looks.get(observed);
      return atMs !== undefined && clock.monotonic() - atMs < nowMs;
    },
    noteRecreation({ service }) {
      const count = (recreations.get(service)?.count ?? 0) + 1;
      recreations.set(service, { count, atMs: clock.monotonic() });
    },
    restOf({ service }) {
      const known = recreations.get(service);
      if (known === undefined || known.count < 2) return 0;
      const restMs = Math.min(longestRestMs, firstRestMs * 2 ** (known.count - 2));
      return Math.max(0, known.atMs + restMs - clock.monotonic());
    },
    noteNoFailover() {
      noFailover = true;
    },
    get noFailover() {
      return noFailover;
    },
  };
}
