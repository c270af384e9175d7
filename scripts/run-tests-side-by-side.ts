import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';

/**
 * `node scripts/run-tests-side-by-side.ts FILE|GLOB...`: runs tests by `run-tests.ts` in one process for each
 * processor, a batch of neighbouring files at a time, since neighbours load the same modules. Ends in one line
 * `N passed, N failed[, N skipped]` for all of them, and with 1 where a test or a process failed.
 */
const batchesEach = 6;

const processes = availableParallelism();
const files = process.argv.slice(2).flatMap((pattern) => {
  const found = globSync(pattern);
  if (found.length === 0) throw new Error(`no file matches ${pattern}`);
  return found;
});
const batches = batchesOf([...new Set(files)].sort(), processes * batchesEach);
const total = { passed: 0, failed: 0, skipped: 0 };
await Promise.all(
  Array.from({ length: processes }, async () => {
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) await run(batch);
  }),
);
console.log(`${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ''}`);
process.exitCode = total.failed > 0 ? 1 : 0;

function batchesOf(all: readonly string[], count: number): string[][] {
  const size = Math.ceil(all.length / count);
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size));
}

/** A process that ends without its closing line, or fails after it, counts as one failure. */
async function run(batch: readonly string[]): Promise<void> {
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...batch];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let counted: { readonly passed: number; readonly failed: number; readonly skipped: number } | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    const [, passed, failed, skipped = 0] = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line) ?? [];
    if (passed === undefined) console.log(line);
    else counted = { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) };
  }
  const code = await ended;
  const isBroken = counted === undefined || (code !== 0 && counted.failed === 0);
  if (isBroken) console.log(`not ok - the tests of ${batch[0]} to ${batch.at(-1)} ended with ${code}`);
  total.passed += counted?.passed ?? 0;
  total.failed += (counted?.failed ?? 0) + (isBroken ? 1 : 0);
  total.skipped += counted?.skipped ?? 0;
}
