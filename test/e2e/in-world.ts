import { rm } from 'node:fs/promises';
import type { Check } from '../conformance/api-under-test.ts';
import { showLogs } from '../kit/world/show-logs.ts';
import { startWorld, type World, type WorldOptions } from '../kit/world/world.ts';

/**
 * Runs checks in a world of their own. After a failure the last output of the processes is printed and the world's
 * folder stays.
 */
export async function inWorld(
  options: Omit<WorldOptions, 'say' | 'cloudLatencyMs'>,
  check: Check,
  body: (world: World, check: Check) => Promise<void>,
): Promise<void> {
  const world = await startWorld({ ...options, cloudLatencyMs: 0, say: () => {} });
  let failed = true;
  try {
    let failures = 0;
    await body(world, (name, fact, skipped) =>
      check(
        name,
        () =>
          fact().catch((error: unknown) => {
            failures += 1;
            throw error;
          }),
        skipped,
      ),
    );
    failed = failures > 0;
  } finally {
    await world.stop();
    if (failed) await showLogs(world, process.stderr);
    // What an agent was being given at that moment may still be written.
    else await rm(world.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
