import type { Clock } from '../../../common/process/clock.ts';
import { listenFault } from '../../../common/process/listen-fault.ts';
import type { Log } from '../../../common/process/log.ts';
import type { Random } from '../../../common/process/random.ts';
import type { KubeApi } from '../../kube/api.ts';
import { explainSubject } from '../explain/explain-subject.ts';
import type { FactsOptions } from '../explain/surroundings.ts';
import type { ReadMetrics } from '../metrics/read-metrics.ts';
import type { RowOptions } from '../status/cluster-status.ts';
import { createClusterFeed } from './cluster-feed.ts';
import type { PageFiles } from './page-files.ts';
import { type Faults, type RunningUi, serveUi } from './serve-ui.ts';

export interface OpenUiOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly page: () => Promise<PageFiles>;
  /** Of the API server, for the page. */
  readonly server: string;
  readonly where: Omit<FactsOptions, 'nowMs'>;
  readonly rows: RowOptions;
  readonly readMetrics?: ReadMetrics | undefined;
  readonly port: number;
  readonly faults?: Faults | undefined;
}

/** Follows the cluster and serves the page. Throws an Error that names the flag when it cannot listen. */
export async function openUi(options: OpenUiOptions): Promise<RunningUi> {
  const { api, clock, where, rows, port, page, log, faults } = options;
  const feed = createClusterFeed({ ...options, readMetrics: options.readMetrics });
  const ui = await serveUi({
    feed,
    page,
    log,
    port,
    faults,
    async explain(subject) {
      const explained = await explainSubject(api, subject, {
        ...where,
        ...rows,
        nowMs: clock.now(),
        readMembers: async (service) => feed.membersOf(service),
      });
      const { state, reason, why, remedy, events } = explained;
      const facts = Object.values(explained.facts).map(({ label, text }) => ({ label, text }));
      return { state, reason, why, remedy, facts, events };
    },
  }).catch((error: unknown) => {
    throw new Error(listenFault('--port', `127.0.0.1:${port}`, error), { cause: error });
  });
  feed.start();
  return {
    url: ui.url,
    async close() {
      await ui.close();
      await feed.stop();
    },
  };
}
