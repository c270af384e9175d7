import type { Clock } from '../../../../common/process/clock.ts';
import type { Owner } from '../../load-balancers.ts';
import type { LoadBalancer } from './answer.ts';
import type { OctaviaObserved, Subject } from './observed.ts';
import { createPace } from './pace.ts';
import { isAtWork } from './plan-wait.ts';

/** What one process remembers between looks; nothing of it is needed to be right. */
export interface Memory {
  /**
   * What came of a step, so that waiting for its end needs one read a look. Only what waits is kept, and what has yet to be compared with what is there.
   *
   * @param sure all of its pieces are known as they will be then
   */
  remember(subject: Subject, observed: OctaviaObserved | undefined, sure: boolean): void;
  recall(owner: Owner): { readonly observed: OctaviaObserved; readonly sure: boolean } | undefined;
  /** Nothing of what was remembered holds. */
  forget(owner: Owner): void;
  /** As it was just seen, with how long it has been at work. */
  timed(loadBalancer: LoadBalancer): LoadBalancer;
  /** As our change has left it, with how long that may take. @param work which change, as a word */
  begun(loadBalancer: LoadBalancer, work: string): LoadBalancer;
  /** When our last change of it was answered, monotonic milliseconds, while it is at work on that. */
  begunAtMs(id: string): number | undefined;
  /** It was just seen that it does not exist. */
  ended(id: string): void;
  /** Everything of this owner, or of everybody, was looked for by a look that began at this stamp. */
  looked(owner: Owner | 'everybody', stamp: number): void;
  /** For `looked`, taken before the first read of a look. */
  stamp(): number;
  /** Something is about to be made for this owner; the answer is a function to be called when it is known what came of it. */
  makes(owner: Owner): () => void;
  /** What was looked for is all that there is: nothing was made since whose answer nobody heard. */
  knowsAll(owner: Owner): boolean;
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
/** Between two that came to ERROR as soon as they were made. */
const firstRestMs = 30_000;
const longestRestMs = 600_000;

interface Work {
  readonly status: string;
  /** Provider and change; undefined: it is not ours. */
  readonly kind: string | undefined;
  /** When our change was answered, or it was first seen. */
  readonly sinceMs: number;
  /** The last look that showed it at work. */
  readonly stillMs: number | undefined;
}

export function createMemory(clock: Clock): Memory {
  let noFailover = false;
  /** By Service. */
  const last = new Map<
    string,
    { readonly observed: OctaviaObserved; readonly sure: boolean; readonly waits: boolean; readonly atMs: number }
  >();
  const pace = createPace();
  /** By load balancer that is at work. */
  const atWork = new Map<string, Work>();
  /** By Service: how often in a row what was made came to ERROR. */
  const recreations = new Map<string, { readonly count: number; readonly atMs: number }>();
  let groups: { readonly services: ReadonlySet<string>; readonly atMs: number } | undefined;
  /** By what a look answered: when it began. */
  const looks = new WeakMap<OctaviaObserved, number>();
  let stamp = 0;
  let everybodyLooked = false;
  /** By Service: looked for in this process. */
  const looked = new Set<string>();
  /** By Service: when something was sent of which nobody knows what came of it. */
  const unheard = new Map<string, number>();

  function done(id: string): void {
    const { kind, sinceMs, stillMs } = atWork.get(id) ?? {};
    atWork.delete(id);
    if (kind === undefined || sinceMs === undefined) return;
    pace.done(kind, clock.monotonic() - sinceMs, stillMs === undefined ? undefined : stillMs - sinceMs);
  }

  function withTimes(loadBalancer: LoadBalancer, { kind, sinceMs }: Work): LoadBalancer {
    const expectedMs = kind === undefined ? undefined : pace.expectedMs(kind);
    return { ...loadBalancer, pendingMs: clock.monotonic() - sinceMs, expectedMs };
  }

  return {
    stamp: () => stamp,
    looked(owner, since) {
      if (owner === 'everybody') {
        everybodyLooked = true;
        looked.clear();
        for (const [service, at] of unheard) if (at <= since) unheard.delete(service);
        return;
      }
      if (!everybodyLooked) looked.add(owner.service);
      if ((unheard.get(owner.service) ?? Number.POSITIVE_INFINITY) <= since) unheard.delete(owner.service);
    },
    makes({ service }) {
      stamp += 1;
      const at = stamp;
      unheard.set(service, at);
      return () => {
        if (unheard.get(service) === at) unheard.delete(service);
      };
    },
    knowsAll: ({ service }) => (everybodyLooked || looked.has(service)) && !unheard.has(service),
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
      return known && (known.waits || clock.monotonic() - known.atMs < uncomparedMs) ? known : undefined;
    },
    forget: ({ service }) => void last.delete(service),
    timed(loadBalancer) {
      const { id, status } = loadBalancer;
      if (!isAtWork(loadBalancer)) {
        if (status === 'ACTIVE') done(id);
        else atWork.delete(id);
        return loadBalancer;
      }
      const stillMs = clock.monotonic();
      const before = atWork.get(id);
      const known =
        before?.status === status ? before : { status, kind: undefined, sinceMs: before?.sinceMs ?? stillMs };
      const work = { ...known, stillMs };
      atWork.set(id, work);
      return withTimes(loadBalancer, work);
    },
    begun(loadBalancer, work) {
      const { id, status, provider } = loadBalancer;
      const begun = { status, kind: `${provider}: ${work}`, sinceMs: clock.monotonic(), stillMs: undefined };
      atWork.set(id, begun);
      return withTimes(loadBalancer, begun);
    },
    begunAtMs(id) {
      const { kind, sinceMs } = atWork.get(id) ?? {};
      return kind === undefined ? undefined : sinceMs;
    },
    ended: (id) => done(id),
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
