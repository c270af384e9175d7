import { parseArgs } from 'node:util';
import type { ApiSuite, Check } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { shippedObjectsSuite } from '../deploy/shipped-objects.suite.ts';
import { credentialsSuite } from './credentials.suite.ts';
import { networkSuite } from './network.suite.ts';
import { scenariosSuite } from './scenarios.suite.ts';

/**
 * The end-to-end suites on the embedded API server, for machines without a real one: `node test/e2e/run.ts [--only network] [--services 200]`. Ends in "N passed, N failed".
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, services: { type: 'string', default: '200' } },
});
const suites: readonly ApiSuite[] = [
  scenariosSuite,
  networkSuite(Number(values.services)),
  credentialsSuite,
  shippedObjectsSuite,
];
const counts = { passed: 0, failed: 0 };

for (const suite of suites) {
  if (values.only !== undefined && values.only !== suite.name) continue;
  const startedMs = Date.now();
  const check: Check = async (name, body) => {
    try {
      await body();
      counts.passed += 1;
    } catch (error) {
      counts.failed += 1;
      console.log(`not ok - ${suite.name}: ${name}\n${error instanceof Error ? error.message : error}\n`);
    }
  };
  const api = await startEmbeddedApi();
  try {
    await suite.run(api, check);
  } finally {
    await api.stop();
  }
  console.error(`${suite.name}: ${((Date.now() - startedMs) / 1000).toFixed(1)} s`);
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;
