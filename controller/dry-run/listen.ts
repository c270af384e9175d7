import type { Clock } from '../../common/process/clock.ts';
import { formatDuration } from '../../common/process/duration.ts';
import { errorFields } from '../../common/process/log.ts';
import { restOrAbort } from '../../common/process/until.ts';
import { type ReadReports, readPeriodMs } from '../app/follow-reports.ts';
import type { KubeApi } from '../kube/api.ts';
import { createInterner } from '../kube/intern.ts';
import { readPages } from '../kube/paged-list.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { readiness, unreadOfNode, viewNode } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import type { ReportStore } from '../reports/store.ts';

export interface Listening {
  readonly readReports: ReadReports;
  /** How long to read again while a Node that could report is unheard, milliseconds; 0: read once. */
  readonly forMs: number;
  readonly signal: AbortSignal;
}

interface ListenParts {
  readonly api: KubeApi;
  readonly clouds: readonly ConfiguredCloud[];
  /** Of the replica that makes the plan. */
  readonly ahead: Clock;
  say(line: string): void;
}

/**
 * Reads the reports of agents that the leader has. Returns why some may be missing; undefined where all that it has are
 * there. Throws a KubeError.
 */
export async function listen(
  { readReports, forMs, signal }: Listening,
  reports: ReportStore,
  parts: ListenParts,
): Promise<string | undefined> {
  const { ahead: clock, say } = parts;
  const untilMs = clock.monotonic() + forMs;
  for (;;) {
    const fault = await readReports(reports, clock).then(
      () => undefined,
      (error: unknown) => `the reports of the leader cannot be read: ${errorFields(error)['error']}`,
    );
    const leftMs = untilMs - clock.monotonic();
    if (leftMs <= 0 || signal.aborted) return fault;
    const unheard = await countUnheard(reports, parts, signal);
    if (fault === undefined && unheard === 0) return undefined;
    say(fault ?? `listening for ${formatDuration(Math.ceil(leftMs / 1000) * 1000)} yet: ${unheard} nodes not heard`);
    await restOrAbort(clock, Math.min(leftMs, readPeriodMs), signal);
  }
}

/** Of the Nodes that are ours and alive. */
async function countUnheard(reports: ReportStore, { api, clouds }: ListenParts, signal: AbortSignal): Promise<number> {
  const intern = createInterner();
  let count = 0;
  const onPage = (items: readonly unknown[]) => {
    for (const item of items) {
      const node = viewNode(item, intern);
      const mayReport = readiness(node) !== 'Unknown' && ownershipOf(node, clouds).kind !== 'foreign';
      if (mayReport && reports.get(node.name)?.nodeUid !== node.uid) count += 1;
    }
  };
  await readPages({ api, path: '/api/v1/nodes', query: {}, pageSize: 500, unread: unreadOfNode, signal, onPage });
  return count;
}
