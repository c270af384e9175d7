import { type CloudErrorKind, isCloudError } from '../../common/cloud-error.ts';
import { type Clock, sleep } from '../../common/process/clock.ts';
import { type Answer, type Found, identityOf, type Kind, nameOf, type Want, type WriteIo } from './resource.ts';

export interface BatchesParts {
  readonly clock: Clock;
  /** Asked in the turn in which it would be sent: it must stay after all, or is gone already. */
  mustStay(found: Found): boolean;
  /** Asked in the turn in which it would be sent: another Service has made it meanwhile. */
  isThere(want: Want, kind: Kind): Found | undefined;
  /** From now on it counts as deleting; or no longer, because the call failed. */
  setGoing(found: Found, isGoing: boolean): void;
  note(answer: Answer, removed: readonly Found[]): void;
  /** What is known of that kind is old. */
  invalidate(kind: string): void;
  end(operation: string): Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

/** Calls that take many things of one group: one at a time for each lane; what gathers meanwhile goes as one. */
export interface Batches {
  create(lane: string, kind: Kind, want: Want, io: WriteIo): Promise<Answer>;
  remove(lane: string, kind: Kind, found: Found, io: WriteIo): Promise<Answer>;
}

interface Job {
  readonly do: 'create' | 'remove';
  readonly kind: Kind;
  /** The same for all who ask for the same thing. */
  readonly thing: string;
  readonly want?: Want;
  readonly found?: Found;
  readonly io: WriteIo;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const refusing: ReadonlySet<CloudErrorKind> = new Set(['Invalid', 'QuotaExceeded', 'Forbidden']);
const uncertain: ReadonlySet<CloudErrorKind> = new Set(['Timeout', 'Unavailable', 'Conflict']);

/** One for each owner. */
function ownersOf(jobs: readonly Job[]): readonly WriteIo[] {
  return [...new Map(jobs.map(({ io }) => [io.owner.service, io])).values()];
}

export function createBatches(parts: BatchesParts): Batches {
  const lanes = new Map<string, Job[]>();

  async function call(jobs: readonly Job[]): Promise<void> {
    const [first] = jobs as readonly [Job];
    const { kind } = first;
    const things = [...new Map(jobs.map((job) => [job.thing, job])).values()];
    const removed = things.flatMap(({ found }) => (found === undefined ? [] : [found]));
    const io: WriteIo = {
      ...first.io,
      permit(timeoutMs) {
        for (const each of ownersOf(jobs)) each.permit(timeoutMs);
      },
    };
    for (const found of removed) parts.setGoing(found, true);
    try {
      const wants = things.map(({ want, io: { owner, idOf } }) => ({ want: want!, owner, idOf }));
      const answer = first.do === 'create' ? await kind.createMany!(wants, io) : await kind.removeMany!(removed, io);
      if (answer.operation !== undefined) await parts.end(answer.operation);
      parts.note(answer, removed);
      if (first.do === 'create' && answer.found === undefined) parts.invalidate(kind.kind);
      for (const job of jobs) job.resolve(answer);
    } catch (error) {
      for (const found of removed) parts.setGoing(found, false);
      await failed(jobs, things, removed, error);
    }
  }

  async function failed(jobs: readonly Job[], things: readonly Job[], removed: readonly Found[], error: unknown) {
    const [{ do: what, kind }] = jobs as readonly [Job];
    const is = isCloudError(error) ? error.kind : undefined;
    // What was to be made is there, what was to go is not: as it should be, and what is known of the group is old.
    const isDone = (what === 'create' && is === 'Taken') || (what === 'remove' && is === 'NotFound');
    if (is === undefined || isDone || uncertain.has(is)) parts.invalidate(kind.kind);
    if (things.length > 1 && (isDone || (is !== undefined && refusing.has(is)))) {
      const half = new Set(things.slice(0, things.length >> 1).map(({ thing }) => thing));
      await call(jobs.filter(({ thing }) => half.has(thing)));
      await call(jobs.filter(({ thing }) => !half.has(thing)));
    } else if (isDone) {
      if (what === 'remove') parts.note({}, removed);
      for (const job of jobs) job.resolve({});
    } else for (const job of jobs) job.reject(error);
  }

  /** Decided again in the turn in which it is sent. */
  function toSend(jobs: readonly Job[]): readonly Job[] {
    // One that may not send keeps no other waiting; where there is no other, the call itself asks.
    const isCommon = ownersOf(jobs).length > 1;
    return jobs.filter((job) => {
      try {
        if (isCommon) job.io.permit(0);
      } catch (error) {
        job.reject(error);
        return false;
      }
      const there = job.want === undefined ? undefined : parts.isThere(job.want, job.kind);
      if (there !== undefined) job.resolve({ id: there.id, found: [there] });
      else if (job.found !== undefined && parts.mustStay(job.found)) job.resolve({});
      else return true;
      return false;
    });
  }

  async function drain(name: string, queue: Job[]): Promise<void> {
    await sleep(parts.clock, 0);
    while (queue.length > 0) {
      // What is added goes before what is taken away.
      const next = queue.find((job) => job.do === 'create') ?? queue[0]!;
      const mine = queue.filter((job) => job.do === next.do && job.kind === next.kind);
      queue.splice(0, queue.length, ...queue.filter((job) => !mine.includes(job)));
      const jobs = toSend(mine);
      if (jobs.length > 0) await call(jobs);
    }
    lanes.delete(name);
  }

  function submit(lane: string, job: Omit<Job, 'resolve' | 'reject'>): Promise<Answer> {
    return new Promise<Answer>((resolve, reject) => {
      const queue = lanes.get(lane);
      if (queue !== undefined) queue.push({ ...job, resolve, reject });
      else {
        const started: Job[] = [{ ...job, resolve, reject }];
        lanes.set(lane, started);
        void drain(lane, started);
      }
    });
  }

  return {
    create(lane, kind, want, io) {
      const thing = kind.merge === undefined ? `${io.owner.service} ${nameOf(want)}` : nameOf(want);
      return submit(lane, { do: 'create', kind, thing, want, io });
    },
    remove: (lane, kind, found, io) => submit(lane, { do: 'remove', kind, thing: identityOf(found), found, io }),
  };
}
