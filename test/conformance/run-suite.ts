import type { ApiSuite, ApiUnderTest, Check } from './api-under-test.ts';
import { startEmbeddedApi } from './embedded-api.ts';

/** What became of the checks so far. */
export interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Runs one suite and adds to the counts. Prints failures and skips to stdout, and the duration to stderr. Never throws.
 */
export async function runSuite(suite: ApiSuite, api: ApiUnderTest, counts: Counts): Promise<void> {
  const started = performance.now();
  const fail = (what: string, error: unknown) => {
    counts.failed += 1;
    console.log(`not ok - ${what}\n${error instanceof Error ? error.stack : error}\n`);
  };
  const check: Check = async (name, body, { skip } = {}) => {
    if (skip !== undefined) {
      counts.skipped += 1;
      console.log(`skipped - ${suite.name}: ${name}: ${skip}`);
      return;
    }
    try {
      await body();
      counts.passed += 1;
    } catch (error) {
      fail(`${suite.name}: ${name}`, error);
    }
  };
  try {
    await suite.run(api, check);
  } catch (error) {
    fail(suite.name, error);
  }
  console.error(`${suite.name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/**
 * Runs each suite on an embedded API server of its own. Prints "N passed, N failed" at the end.
 *
 * @param only the name of the suite to run; undefined = all
 * @returns the exit code: 0 all passed, 1 something failed, 2 no suite has that name
 */
export async function runOnEmbeddedApis(suites: readonly ApiSuite[], only: string | undefined): Promise<number> {
  const chosen = suites.filter(({ name }) => only === undefined || name === only);
  if (chosen.length === 0) {
    console.error(`--only ${only}: expected one of ${suites.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  for (const suite of chosen) {
    const api = await startEmbeddedApi();
    try {
      await runSuite(suite, api, counts);
    } finally {
      await api.stop();
    }
  }
  const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
  console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`);
  return counts.failed > 0 ? 1 : 0;
}
