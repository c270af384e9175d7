import { type Clock, sleep } from '../../common/process/clock.ts';
import type { Permit } from '../clouds/permit.ts';
import { isRefusal } from './failure.ts';

/** A request of one owner that can share a call with requests of other owners. */
export interface Job<W, A> {
  readonly work: W;
  /** Jobs with the same key are always sent in one call, and refused together. */
  readonly key: string;
  readonly service: string;
  readonly permit: Permit;
  resolve(answer: A): void;
  reject(error: unknown): void;
}

export interface QueueParts<W, A> {
  readonly clock: Clock;
  /** Which of the waiting jobs go in the next call. */
  next(waiting: readonly Job<W, A>[]): readonly Job<W, A>[];
  /** The answer to a job that needs no call any more. Called right before the call. */
  answerOf?(job: Job<W, A>): A | undefined;
  /**
   * Whatever it throws is what the jobs get. A refusal (`Invalid`, `QuotaExceeded`, `Forbidden`) is sent in halves.
   *
   * @param permit that of every owner
   */
  send(jobs: readonly Job<W, A>[], permit: Permit): Promise<A>;
  /** The answer, where the error proves that the work was done already. Must not throw. */
  settles?(error: unknown, jobs: readonly Job<W, A>[]): A | undefined;
}

export type Queue<W, A> = ReturnType<typeof createQueue<W, A>>;

/** One call at a time, each with all jobs that wait. */
export function createQueue<W, A>(parts: QueueParts<W, A>) {
  const waiting: Job<W, A>[] = [];
  let isBusy = false;

  /** A refused call is sent again in halves, so that few calls find what is refused. */
  async function send(jobs: readonly Job<W, A>[]): Promise<void> {
    const permits = new Map(jobs.map(({ service, permit }) => [service, permit]));
    try {
      const answer = await parts.send(jobs, (timeoutMs) => {
        for (const permit of permits.values()) permit(timeoutMs);
      });
      for (const job of jobs) job.resolve(answer);
    } catch (error) {
      const keys = [...new Set(jobs.map(({ key }) => key))];
      const settled = parts.settles?.(error, jobs);
      if (keys.length > 1 && (settled !== undefined || isRefusal(error))) {
        const half = new Set(keys.slice(0, keys.length >> 1));
        await send(jobs.filter(({ key }) => half.has(key)));
        await send(jobs.filter(({ key }) => !half.has(key)));
      } else if (settled !== undefined) for (const job of jobs) job.resolve(settled);
      else for (const job of jobs) job.reject(error);
    }
  }

  function toSend(jobs: readonly Job<W, A>[]): readonly Job<W, A>[] {
    // An owner without a permit must not delay the others. With a single owner, the call itself checks the permit.
    const isCommon = new Set(jobs.map(({ service }) => service)).size > 1;
    return jobs.filter((job) => {
      try {
        if (isCommon) job.permit(0);
      } catch (error) {
        job.reject(error);
        return false;
      }
      const answer = parts.answerOf?.(job);
      if (answer !== undefined) job.resolve(answer);
      return answer === undefined;
    });
  }

  async function drain(): Promise<void> {
    isBusy = true;
    // Jobs that are submitted in the same tick join the first call.
    await sleep(parts.clock, 0);
    while (waiting.length > 0) {
      const next = new Set(parts.next(waiting));
      waiting.splice(0, waiting.length, ...waiting.filter((job) => !next.has(job)));
      const jobs = toSend([...next]);
      if (jobs.length > 0) await send(jobs);
    }
    isBusy = false;
  }

  return {
    get isBusy() {
      return isBusy;
    },
    submit: (job: Omit<Job<W, A>, 'resolve' | 'reject'>) =>
      new Promise<A>((resolve, reject) => {
        waiting.push({ ...job, resolve, reject });
        if (!isBusy) void drain();
      }),
  };
}
