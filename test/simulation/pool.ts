import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { SeedResult } from './run-seed.ts';

export interface SeedsOptions {
  readonly from: number;
  readonly count: number;
  readonly threads?: number;
  /** Stops at the first seed that breaks a promise. */
  readonly untilBroken?: boolean;
  onResult?(result: SeedResult): void;
}

/** What a worker answers about a seed; a crash of the simulation itself is a broken promise too. */
export interface WorkerAnswer {
  readonly result: SeedResult;
}

/** Runs `count` seeds on all cores; resolves with their results in the order of seeds. */
export async function runSeeds(options: SeedsOptions): Promise<SeedResult[]> {
  const { from, count, untilBroken = false, onResult } = options;
  const threads = Math.min(options.threads ?? availableParallelism(), count);
  const results: SeedResult[] = [];
  let next = from;
  let ended = false;

  async function work(): Promise<void> {
    const worker = new Worker(new URL('./seed-worker.ts', import.meta.url));
    try {
      while (!ended && next < from + count) {
        const seed = next++;
        const result = await ask(worker, seed);
        results.push(result);
        onResult?.(result);
        if (untilBroken && result.broken !== undefined) ended = true;
      }
    } finally {
      await worker.terminate();
    }
  }

  await Promise.all(Array.from({ length: threads }, work));
  return results.sort((a, b) => a.seed - b.seed);
}

function ask(worker: Worker, seed: number): Promise<SeedResult> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown) => {
      worker.off('message', answered);
      reject(error);
    };
    const answered = ({ result }: WorkerAnswer) => {
      worker.off('error', failed);
      resolve(result);
    };
    worker.once('message', answered);
    worker.once('error', failed);
    worker.postMessage(seed);
  });
}
