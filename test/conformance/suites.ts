import { access } from './access.suite.ts';
import type { ApiSuite } from './api-under-test.ts';
import { serverSideApply, withoutApply } from './apply.suite.ts';
import { config } from './config.suite.ts';
import { create } from './create.suite.ts';
import { deletion } from './deletion.suite.ts';
import { events } from './events.suite.ts';
import { factsSuite } from './facts-suite.ts';
import { kubectlSuite } from './kubectl-suite.ts';
import { leases } from './leases.suite.ts';
import { lists } from './lists.suite.ts';
import { nodeFacts } from './nodes.suite.ts';
import { patches } from './patches.suite.ts';
import { reviews } from './reviews.suite.ts';
import { serviceFacts } from './services.suite.ts';
import { tokens } from './tokens.suite.ts';
import { updates } from './updates.suite.ts';
import { watches } from './watches.suite.ts';

/** Every suite of request and answer facts. `kubectl` is the program's path; without it that suite is skipped. */
export function conformanceSuites(options: { kubectl?: string | undefined }): ApiSuite[] {
  return [
    factsSuite('access', access),
    factsSuite('create', create),
    factsSuite('updates', updates),
    factsSuite('patches', patches),
    factsSuite('apply', [...serverSideApply, ...withoutApply]),
    factsSuite('nodes', nodeFacts),
    factsSuite('services', serviceFacts),
    factsSuite('deletion', deletion),
    factsSuite('config', config),
    factsSuite('lists', lists),
    factsSuite('watches', watches, 20),
    factsSuite('leases', leases),
    factsSuite('events', events),
    factsSuite('tokens', tokens, 20),
    factsSuite('reviews', reviews),
    kubectlSuite(options.kubectl),
  ];
}
