import { parseArgs } from 'node:util';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { runOnEmbeddedApis } from '../conformance/run-suite.ts';
import { shippedObjectsSuite } from '../deploy/shipped-objects.suite.ts';
import { credentialsSuite } from './credentials.suite.ts';
import { networkSuite } from './network.suite.ts';
import { scenariosSuite } from './scenarios.suite.ts';
import { volumesSuite } from './volumes.suite.ts';

/**
 * The end-to-end suites on the embedded API server, for machines without a real one: `node test/e2e/run.ts [--only
 * network] [--services 200]`. Ends in "N passed, N failed".
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, services: { type: 'string', default: '200' } },
});
const suites: readonly ApiSuite[] = [
  scenariosSuite,
  networkSuite(Number(values.services)),
  credentialsSuite,
  volumesSuite,
  shippedObjectsSuite,
];

process.exitCode = await runOnEmbeddedApis(suites, values.only);
