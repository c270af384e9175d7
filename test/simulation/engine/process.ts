import type { Clock } from '../../../common/process/clock.ts';
import { createLog, type Log, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import { names } from '../../../common/well-known.ts';
import type { NetworkOptions } from '../../../controller/app/options/network-options.ts';
import { createProcessMetrics } from '../../../controller/app/process-metrics.ts';
import { createReplica, type ReplicaOptions } from '../../../controller/app/replica.ts';
import type { Cloud } from '../../../controller/clouds/cloud.ts';
import { createSimulatedCloud } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import { parseRangeOptions } from '../../../controller/ipam/ipam-options.ts';
import type { Elector } from '../../../controller/kube/elector.ts';
import { writeTimeoutMs } from '../../../controller/kube/write-api.ts';
import { parseClusterCidrs } from '../../../controller/model/cluster-cidrs.ts';
import type { ConfiguredCloud } from '../../../controller/model/configured-cloud.ts';
import { type Budget, parseBudget } from '../../../controller/model/deletion-budget.ts';
import { reportScope } from '../../../controller/model/scope-record.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { strictPolicy } from '../../../controller/services/operator-policy.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { cloudHttp } from '../wires/cloud-wire.ts';
import { kubeWire } from '../wires/kube-wire.ts';
import type { Wire } from '../wires/wire.ts';
import { createReportIntake, type ReportIntake } from './report-intake.ts';
import type { Scenario } from './scenario.ts';

export const endpoint = 'http://cloud';
export const leaseDurationMs = 15_000;

/** One process of the controller as `createReplica` puts it together, with the world where its sockets are. */
export interface Process {
  readonly identity: string;
  readonly wire: Wire;
  readonly elector: Elector;
  readonly reportUrl: string;
  /** What the report API does with a report. */
  readonly reports: ReportIntake;
  /** Loops by name, and when each came round last. */
  progress(): ReadonlyMap<string, number>;
  /** SIGTERM: drains, then releases the lease. */
  stop(): void;
  /** Resolves when it has ended in order, with why it did so by itself. Never when it was killed. */
  readonly ended: Promise<unknown>;
}

export function startProcess(wire: Wire, cloud: SimulatedCloud, scenario: Scenario, log = silentLog): Process {
  const { clock } = wire;
  const { random } = wire.dice;
  const { identity } = wire.process;
  const registry = createMetricRegistry();
  const configured = scenario.clouds.map((spec) => openCloud(wire, cloud, spec, { log }));
  const stopping = new AbortController();
  const { elector, nodes, context, progress, run } = createReplica(
    {
      api: kubeWire(wire),
      clouds: configured,
      clock,
      random,
      log,
      registry,
      metrics: createProcessMetrics(registry),
      identity,
      host: identity,
      pageSize: scenario.pageSize,
      onStartedLeading() {},
    },
    replicaOptions(scenario, identity),
  );
  const ended = run(stopping.signal)
    .catch((error: unknown) => error)
    .then((failure) => {
      for (const { api: opened } of configured) opened?.close();
      return failure;
    });

  return {
    identity,
    wire,
    elector,
    progress,
    ended,
    reportUrl: reportUrlOf(identity),
    reports: createReportIntake({
      // What is drawn for reports changes nothing elsewhere.
      api: kubeWire({ ...wire, ...wire.ofReports }),
      clock,
      nodes,
      store: context.reports,
      leadership: elector,
      read: wire.ofReports.read,
    }),
    stop: () => stopping.abort(),
  };
}

/** One configured cloud as this process reaches it. */
export function openCloud(
  wire: Wire,
  cloud: SimulatedCloud,
  { region, reportOnly }: Scenario['clouds'][number],
  { log = silentLog, planningClock = wire.clock }: { readonly log?: Log; readonly planningClock?: Clock },
): ConfiguredCloud {
  if (reportOnly !== undefined) {
    const accepts = (id: string) => id.startsWith(`${reportOnly}://`);
    return { name: reportOnly, scope: reportScope(reportOnly), accepts, selector: undefined, api: undefined };
  }
  const simulated = createSimulatedCloud({
    config: { endpoint, project: 'demo', region, credential: { text: cloud.credential } },
    context: {
      clock: wire.clock,
      random: wire.dice.random,
      log,
      env: {},
      mutationTimeoutMs: writeTimeoutMs(leaseDurationMs),
      onCall: () => {},
    },
    http: cloudHttp(wire, cloud),
    credential: async () => cloud.credential,
  });
  const opened = withLoadBalancers<Cloud>(simulated, planningClock);
  return {
    name: 'simulated',
    scope: opened.scope,
    account: opened.account,
    accepts: (id) => opened.accepts(id),
    selector: undefined,
    api: opened,
  };
}

function reportUrlOf(identity: string): string {
  return `https://${identity}:10270`;
}

export function replicaOptions(scenario: Scenario, identity: string): ReplicaOptions {
  return {
    lease: {
      elect: true,
      namespace: names.namespace,
      name: names.lease,
      durationMs: leaseDurationMs,
      renewDeadlineMs: 10_000,
      retryPeriodMs: 2000,
    },
    reportUrl: reportUrlOf(identity),
    deletionBudget: mustBudget(scenario.budget),
    announcedDeletionBudget: mustBudget(scenario.announcedBudget),
    loops: {
      node: true,
      lifecycle: true,
      service: true,
      route: true,
      ipam: scenario.ipam,
      tagging: false,
      volume: false,
    },
    concurrentNodeSyncs: 16,
    monitorPeriodMs: 5000,
    statusUpdateMs: 60_000,
    outOfServiceTaint: scenario.outOfServiceTaint,
    interruptionTaint: scenario.interruptionTaint,
    tagLabels: [],
    network: networkOptions(scenario),
  };
}

/** Where the pods of all Nodes are. */
export const clusterCidr = '10.244.0.0/16';

function networkOptions(scenario: Scenario): NetworkOptions {
  const clusterCidrs = parseClusterCidrs(clusterCidr);
  if ('expected' in clusterCidrs) throw new Error(clusterCidrs.expected);
  return {
    clusterName: 'simulated',
    loadBalancerClasses: [],
    policy: { ...strictPolicy, retain: [{ to: 'namespace', namespace: 'default' }], retainLimit: 10_000 },
    bounds: { clusterCidrs, serviceCidrs: [], masks: { 4: 24 } },
    routes: true,
    concurrentServiceSyncs: 10,
    drainMs: scenario.drainMs,
    removalBudget: mustBudget(scenario.removalBudget),
    loadBalancerAuditMs: 60_000,
    deleteOrphans: scenario.deleteOrphans,
    routeAuditMs: 60_000,
    concurrentRoutes: 32,
    ipam: scenario.ipam ? ipamOptions() : undefined,
  };
}

function ipamOptions(): NetworkOptions['ipam'] {
  const options = parseRangeOptions({
    clusterCidr,
    serviceClusterIpRange: '',
    nodeCidrMaskSize: 0,
    nodeCidrMaskSizeIpv4: 0,
    nodeCidrMaskSizeIpv6: 0,
  });
  if ('expected' in options) throw new Error(options.expected);
  return options;
}

function mustBudget(text: string): Budget {
  const budget = parseBudget(text);
  if ('expected' in budget) throw new Error(`${text}: expected ${budget.expected}`);
  return budget;
}

/** For a readable trace: what the process itself says. */
export function traceLog(wire: Wire, trace: (line: string) => void) {
  return createLog({
    clock: wire.clock,
    level: 'debug',
    format: 'text',
    write: (line) => trace(`${wire.process.identity}  log ${line.slice(25).trimEnd()}`),
  });
}
