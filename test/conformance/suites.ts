import { access } from './access.ts';
import type { ApiSuite } from './api-under-test.ts';
import { serverSideApply, withoutApply } from './apply.ts';
import { config } from './config.ts';
import { create } from './create.ts';
import { deletion } from './deletion.ts';
import { events } from './events.ts';
import { factsSuite } from './facts.suite.ts';
import { kubectlSuite } from './kubectl.suite.ts';
import { leases } from './leases.ts';
import { lists } from './lists.ts';
import { nodeFacts } from './nodes.ts';
import { patches } from './patches.ts';
import { reviews } from './reviews.ts';
import { serviceFacts } from './services.ts';
import { tokens } from './tokens.ts';
import { updates } from './updates.ts';
import { watches } from './watches.ts';

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
