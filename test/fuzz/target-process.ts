/**
 * The report servers and the secure port under attack, in a process of their own, as the controller builds them. The
 * parent sends the address of the API server and asks for the kept reports and the log; see `target.ts`.
 */

import { type Clock, systemClock } from '../../common/process/clock.ts';
import { createLog, silentLog } from '../../common/process/log.ts';
import { createMetricRegistry } from '../../common/process/metrics.ts';
import { names } from '../../common/well-known.ts';
import { isNotFound, type KubeObject } from '../../controller/kube/api.ts';
import { createKubeClient } from '../../controller/kube/client.ts';
import { fixedConnection } from '../../controller/kube/testing/fixed-connection.ts';
import { createReportMetrics } from '../../controller/reports/metrics.ts';
import { createIdentity } from '../../controller/reports/sender-identity.ts';
import { createReportServer, type ReportLimits } from '../../controller/reports/server.ts';
import { createReportStore, type ReportStore } from '../../controller/reports/store.ts';
import { createSecureServer } from '../../controller/runtime/serving/secure-server.ts';
import type { Door } from './cases.ts';
import type { FromTarget, TargetConfig, ToTarget } from './target.ts';

/** Short, so that what is begun and never finished is over soon; no limit of pace, so that every case is looked at. */
const openLimits: Partial<ReportLimits> = {
  perNode: 1_000_000_000,
  perAddress: 1_000_000_000,
  headersTimeoutMs: 600,
  requestTimeoutMs: 900,
  idleTimeoutMs: 5000,
  handshakeTimeoutMs: 5000,
  checkIntervalMs: 100,
};
/**
 * The monotonic clock of the server without limits runs this much faster, so that nearly every refusal is logged and
 * cached verdicts age.
 */
const hurry = 300;

function say(message: FromTarget): void {
  process.send?.(message);
}

async function serve(config: TargetConfig): Promise<void> {
  const clock = systemClock();
  const hurried: Clock = { ...clock, monotonic: () => clock.monotonic() * hurry };
  const { api } = createKubeClient({
    config: fixedConnection({ server: config.apiUrl, token: config.apiToken, tls: { ca: config.apiCa } }),
    clock,
    log: silentLog,
  });
  let lines: string[] = [];
  let kept: { node: string; uid: string; report: string }[] = [];
  const inner = createReportStore(clock);
  const store: ReportStore = {
    ...inner,
    put(sender, report) {
      const outcome = inner.put(sender, report);
      if (outcome === 'kept') {
        kept.push({ node: sender.nodeName, uid: sender.nodeUid, report: JSON.stringify(report) });
      }
      return outcome;
    },
  };

  async function liveNodeUid(name: string): Promise<string | undefined> {
    try {
      return (await api.call<KubeObject>({ verb: 'get', path: `/api/v1/nodes/${name}` })).metadata.uid;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  const registry = createMetricRegistry();
  const metrics = createReportMetrics(registry);
  let asked = 0;
  async function open(door: Door, time: Clock, limits: Partial<ReportLimits>): Promise<number> {
    const server = await createReportServer({
      clock: time,
      log: createLog({ clock, level: 'debug', format: 'json', write: (line) => lines.push(line) }),
      metrics,
      credentials: config.credentials,
      identity: createIdentity({
        api,
        clock: time,
        audience: names.audience,
        serviceAccount: { namespace: names.namespace, name: names.agent },
        liveNodeUid,
        // Full long before memory is judged.
        cacheSize: 500,
        onReview: metrics.review,
      }),
      store,
      leadership: {
        leading: door !== 'standby',
        leaderReportUrl() {
          asked += 1;
          return asked % 3 === 0 ? undefined : 'https://10.0.0.1:10270';
        },
      },
      status: () => ({ initialized: false, reasons: [{ code: 'AwaitingReport', message: 'no report yet' }] }),
      fleetSize: () => 1000,
      limits,
    });
    return server.listen({ host: '127.0.0.1', port: 0 });
  }

  const secure = createSecureServer({
    clock: hurried,
    log: createLog({ clock, level: 'debug', format: 'json', write: (line) => lines.push(line) }),
    api,
    credentials: config.credentials,
    live: [{ name: 'loops', check: () => undefined }],
    ready: [{ name: 'nodes-synced', check: () => undefined }],
    metrics: registry,
    configz: () => ({ reportAddress: ':10270' }),
    reports: () => ({ lines: [] }),
  });

  say({
    type: 'ready',
    ports: {
      secure: await secure.listen({ host: '127.0.0.1', port: 0 }),
      open: await open('open', hurried, openLimits),
      shipped: await open('shipped', clock, {}),
      standby: await open('standby', hurried, openLimits),
    },
  });

  process.on('message', (message: ToTarget) => {
    if (message.type !== 'account') return;
    // Twice, since finalizers of the first free what the second can collect.
    globalThis.gc?.();
    globalThis.gc?.();
    const { heapUsed, rss, external } = process.memoryUsage();
    say({ type: 'account', lines, kept, heapUsed, rss, external, stored: store.size });
    lines = [];
    kept = [];
  });
}

process.once('message', (message: ToTarget) => {
  if (message.type === 'serve') void serve(message.config);
});
// The parent is gone, and with it every further request.
process.on('disconnect', () => process.exit(0));
