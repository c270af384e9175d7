import { parentPort } from 'node:worker_threads';
import type { WorkerAnswer } from './pool.ts';
import { runSeed, type SeedResult } from './run-seed.ts';

// A promise that is not awaited is a fault of the controller as much as any other.
let stray: unknown;
process.on('unhandledRejection', (error) => {
  stray ??= error;
});

parentPort?.on('message', async (seed: number) => {
  stray = undefined;
  let result: SeedResult;
  try {
    result = await runSeed(seed);
  } catch (error) {
    stray ??= error;
    result = { seed, broken: undefined, seconds: 0, convergedIn: 0, counts: new Map() };
  }
  if (stray !== undefined && result.broken === undefined) {
    const message = stray instanceof Error ? (stray.stack ?? stray.message) : String(stray);
    result = { ...result, broken: { promise: 'none: the code threw', at: 0, message } };
  }
  parentPort?.postMessage({ result } satisfies WorkerAnswer);
});
