import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../../common/process/clock.ts';
import type { HealthCheck } from '../../common/process/health.ts';
import type { Log } from '../../common/process/log.ts';
import { createMetricRegistry, createStandardMetrics, type MetricRegistry } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import { version } from '../../common/version.ts';
import { createChangeRecord } from '../dry-run/change-record.ts';
import { createDryRun } from '../dry-run/dry-run.ts';
import { createKubeClient } from '../kube/client.ts';
import { writeTimeoutMs } from '../kube/write-api.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { reportLines } from '../reports/report-lines.ts';
import type { ServingCredentials } from '../runtime/serving/credentials.ts';
import { leaderHealth } from '../runtime/serving/leader-health.ts';
import type { PassedOnReports } from '../runtime/serving/secure-server.ts';
import { connectTo, installedIn } from './connect.ts';
import { followReports } from './follow-reports.ts';
import { openAttestor } from './open-attestor.ts';
import { type CloudSet, createCloudSet } from './open-clouds.ts';
import { type Loops, loopNames } from './options/loops.ts';
import type { RunOptions } from './options/run-options.ts';
import { createProcessMetrics, type ProcessMetrics } from './process-metrics.ts';
import { createReplica, type Replica } from './replica.ts';
import { serveReports } from './serve-reports.ts';
import { serveSecurely } from './serve-securely.ts';
import { serveWebhooks } from './serve-webhooks.ts';

export interface RunDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborts on SIGTERM: the controller then drains, releases the lease and ends. */
  readonly stop: AbortSignal;
}

/** A loop without progress for this long is stuck: nothing that it waits for takes that long. */
const stuckMs = 120_000;

/**
 * Runs one replica until `stop` aborts. Resolves when everything has drained and the lease is released. Throws an
 * OptionError or CloudConfigError for an invalid configuration, and the errors of reading the kubeconfig.
 *
 * A cloud whose account is unknown at the start is report-only. When the account becomes known, everything drains and
 * starts again with that cloud, in this process.
 */
export async function runController(options: RunOptions, deps: RunDeps): Promise<void> {
  const { clock, random, env, stop } = deps;
  const log = options.dryRun ? deps.log.with({ dryRun: true }) : deps.log;
  let metrics: ProcessMetrics | undefined;
  const clouds = await createCloudSet(
    options.clouds,
    {
      clock,
      random,
      log,
      env,
      mutationTimeoutMs: writeTimeoutMs(options.lease.durationMs),
      onCall: (call) => metrics?.onCloudCall(call),
      onWait: (wait) => metrics?.onCloudWait(wait),
    },
    { readFile: (path) => readFile(path), onReload: (cloud, result) => metrics?.onReload(cloud, result) },
  );
  const standard = createStandardMetrics();
  try {
    while (!stop.aborted) {
      const registry = createMetricRegistry(standard);
      metrics = createProcessMetrics(registry);
      const parts = { registry, metrics, clouds: clouds.current() };
      await untilChanged(clouds, stop, (ended) => runReplica(options, { ...deps, log, stop: ended }, parts));
      if (!stop.aborted) log.info('the account of another cloud is known now: starting again with it');
    }
  } finally {
    clouds.close();
  }
}

/** Runs until the clouds change or `stop` aborts. Throws the errors of running, or of the changed clouds. */
async function untilChanged(
  clouds: CloudSet,
  stop: AbortSignal,
  run: (ended: AbortSignal) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const ended = AbortSignal.any([stop, ending.signal]);
  const changing = clouds.untilKnown(ended).finally(() => ending.abort());
  const running = run(ended).finally(() => ending.abort());
  const failed = (await Promise.allSettled([running, changing])).find((one) => one.status === 'rejected');
  if (failed) throw failed.reason;
}

interface ReplicaRun {
  readonly registry: MetricRegistry;
  readonly metrics: ProcessMetrics;
  readonly clouds: readonly ConfiguredCloud[];
}

async function runReplica(
  options: RunOptions,
  { clock, random, log, env, stop }: RunDeps,
  { registry, metrics, clouds }: ReplicaRun,
): Promise<void> {
  metrics.buildInfo.set({ version }, 1);
  const without = new Set(clouds.flatMap(({ name, reportOnly }) => (reportOnly === undefined ? [] : [name])));
  for (const { name } of clouds) {
    metrics.reportOnly.set({ cloud: name }, without.has(name) ? 1 : 0);
    metrics.watchReloads(name);
  }
  const connection = await connectTo(options.kubeconfig, { clock, log, env });
  const client = createKubeClient({ config: connection, clock, log, onCall: metrics.onApiCall });
  const host = hostname();
  const would = createChangeRecord({ onChange: (change) => log.info('would change', { ...change }) });
  const dry = options.dryRun ? createDryRun({ api: client.api, clouds, record: would }) : undefined;
  const identity = `${host}_${randomUUID()}`;
  const replica = createReplica(
    {
      api: dry?.api ?? client.api,
      clouds: dry?.clouds ?? clouds,
      clock,
      random,
      log,
      registry,
      metrics,
      identity,
      host,
      namespace: installedIn(options.mooringNamespace, connection),
      onStartedLeading: () => service?.wake(),
    },
    dry === undefined ? options : { ...options, lease: { ...options.lease, elect: false } },
  );
  const { nodes } = replica;
  const attestor = openAttestor({
    clock,
    log,
    registry,
    clouds,
    nodes,
    trust: options.trust,
    reports: replica.context.reports,
  });
  const certificate = Promise.withResolvers<ServingCredentials>();
  const webhooks =
    options.webhooks === undefined || options.dryRun
      ? undefined
      : serveWebhooks(options.webhooks, {
          clock,
          log,
          registry,
          clouds,
          paused: replica.context.paused,
          ofReports: certificate.promise,
        });
  // The report API writes its certificates and the URLs of replicas, which a dry run must not do.
  const service = options.dryRun
    ? undefined
    : serveReports(
        replica.context,
        {
          api: client.api,
          fencedApi: replica.leading,
          leadership: replica.elector,
          nodes,
          task: replica.task,
          attestor,
          registry,
          shipped: replica.shipped,
          onCredentials(credentials) {
            certificate.resolve(credentials);
            webhooks?.reload(credentials);
          },
        },
        { ...options.reports, url: options.reportUrl, identity },
      );
  if (options.dryRun)
    log.info('dry run: nothing is written, the Lease is not taken, and no reports or webhooks are served');

  const live: HealthCheck[] = [
    {
      name: 'loops',
      check() {
        for (const [loop, at] of replica.progress()) {
          const age = clock.monotonic() - at;
          if (age > stuckMs) return `${loop} has made no progress for ${Math.round(age / 1000)} s`;
        }
        return undefined;
      },
    },
    leaderHealth(replica.elector, options.lease.durationMs),
  ];
  if (service !== undefined)
    metrics.reportApi.collect(() => metrics.reportApi.set(service.problem() === undefined ? 1 : 0));
  else {
    // Sums and alerts are about replicas that lead and take reports.
    metrics.reportApi.remove();
    metrics.leading.collect(() => metrics.leading.reset());
  }
  metrics.paused.collect(() => metrics.paused.set(replica.context.paused() ? 1 : 0));
  metrics.loopAge.collect(() => {
    // Those of an earlier term have ended.
    metrics.loopAge.reset();
    for (const [loop, at] of replica.progress()) metrics.loopAge.set({ loop }, (clock.monotonic() - at) / 1000);
    for (const [resource, cache] of replica.caches) {
      const staleMs = cache.stalenessMs();
      if (staleMs !== undefined) metrics.cacheAge.set({ resource }, staleMs / 1000);
    }
  });
  for (const [loop, name] of Object.entries(loopNames)) {
    const runs = options.loops[loop as keyof Loops];
    metrics.loops.set({ name, manager: 'cloud-controller-manager' }, runs ? 1 : 0);
  }
  const secure = await serveSecurely(options.secure, {
    api: client.api,
    clock,
    log,
    live,
    ready: [...replica.ready, ...(webhooks === undefined ? [] : [webhooks.ready])],
    registry,
    configz: () => options.shown,
    reports: () => passedOn(replica, clock),
  });

  log.info('started', { version, identity, clouds: clouds.map(({ scope }) => scope) });
  if (options.readReports)
    void followReports(options.readReports, replica.context.reports, { clock, log, signal: stop });
  try {
    await replica.run(stop);
  } finally {
    await Promise.all([service?.stop(), webhooks?.stop(), secure?.close()]);
    client.close();
    log.info('stopped');
  }
}

function passedOn({ elector, context: { reports }, nodes }: Replica, clock: Clock): PassedOnReports {
  if (elector.leading) return { lines: reportLines(reports, clock, nodes.size) };
  const url = elector.leaderReportUrl();
  const leader = url === undefined ? 'no replica does' : `the replica at ${url} does`;
  return { fault: `this replica does not lead, so no agent reports to it: ${leader}` };
}
