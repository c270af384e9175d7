import { parseArgs } from 'node:util';
import type { ApiSuite, Check } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { attestationSuite } from './attestation.suite.ts';
import { connectionsSuite } from './connections.suite.ts';
import { httpSuite } from './http.suite.ts';
import { kubeletIdentitySuite } from './kubelet-identity.suite.ts';
import { lateAccountSuite } from './late-account.suite.ts';
import { metadataSuite } from './metadata.suite.ts';
import { namespaceUserSuite } from './namespace-user.suite.ts';
import { rightsSuite } from './rights.suite.ts';
import { routesSuite } from './routes.suite.ts';
import { tokensSuite } from './tokens.suite.ts';
import { wrongProjectSuite } from './wrong-project.suite.ts';

/**
 * Attacks on the running programs, each suite on an embedded API server of its own:
 * `node test/attacks/run.ts [--only NAME]`. Ends in "N passed, N failed".
 */
const { values } = parseArgs({ options: { only: { type: 'string' } } });
const suites: readonly ApiSuite[] = [
  wrongProjectSuite,
  routesSuite,
  rightsSuite,
  attestationSuite,
  connectionsSuite,
  httpSuite,
  metadataSuite,
  tokensSuite,
  namespaceUserSuite,
  kubeletIdentitySuite,
  lateAccountSuite,
];
const counts = { passed: 0, failed: 0 };

if (values.only !== undefined && !suites.some(({ name }) => name === values.only)) {
  console.error(`--only ${values.only}: expected one of ${suites.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
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
