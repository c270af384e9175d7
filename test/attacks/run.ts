import { parseArgs } from 'node:util';
import type { ApiSuite } from '../conformance/api-under-test.ts';
import { runOnEmbeddedApis } from '../conformance/run-suite.ts';
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

process.exitCode = await runOnEmbeddedApis(suites, values.only);
