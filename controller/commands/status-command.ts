import { defineFlags, type FlagValues } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { restOrAbort } from '../../common/process/until.ts';
import { installedIn } from '../app/connect.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { modulePaths } from '../app/options/options.ts';
import { readingFlags } from '../app/options/own-flags.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  leaseFlags,
  openLog,
  outputFlags,
  withApi,
} from './command.ts';
import { type LeaderView, viewLeader } from './metrics/leader-view.ts';
import { metricsFlags, metricsReader } from './metrics/metrics-flags.ts';
import { clusterStatus } from './status/cluster-status.ts';
import { printStatus } from './status/print-status.ts';
import { readCluster } from './status/read-cluster.ts';

const statusFlags = defineFlags({
  ...readingFlags,
  'load-balancer-class': clusterFlags['load-balancer-class'],
  ...metricsFlags,
  watch: {
    kind: 'bool',
    short: 'w',
    default: false,
    help: 'Show it again every five seconds, until interrupted; with -o json one line each time.',
  },
});

const periodMs = 5000;

/** Undefined without `--metrics-url`. */
function leaderReader(
  values: FlagValues<typeof metricsFlags>,
): (() => Promise<LeaderView | { readonly fault: string }>) | undefined {
  const readMetrics = metricsReader(values);
  return (
    readMetrics &&
    (() =>
      readMetrics().then(
        (text) => viewLeader(text) ?? { fault: 'these are the metrics of a standby: ask the leader' },
        (error: unknown) => ({ fault: error instanceof Error ? error.message : String(error) }),
      ))
  );
}

export function statusCommand({ clock, signal }: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Shows the cluster at a glance: the leader, and nodes and services by state and reason.',
    flags: { ...contextFlags, ...statusFlags, ...outputFlags, ...leaseFlags },
    examples: ['mooring-controller status', 'mooring-controller status --watch', 'mooring-controller status -o json'],
    run: ({ values, io }) =>
      exitCode(io, 'status', async () => {
        const log = openLog(clock, values, io.stderr);
        const readLeader = leaderReader(values);
        const options = {
          loadBalancerClasses: values.loadBalancerClass,
          moduleNames: [...modulePaths(values.cloudModule).keys()],
        };
        await withApi(values, { clock, log, env: io.env }, async (api, connection) => {
          do {
            const where = {
              nowMs: clock.now(),
              namespace: installedIn(values.mooringNamespace, connection),
              leaseNamespace: values.leaderElectResourceNamespace,
              leaseName: values.leaderElectResourceName,
            };
            const [cluster, metrics] = await Promise.all([readCluster(api, where, signal), readLeader?.()]);
            const status = clusterStatus(cluster, options, metrics);
            const time = values.watch ? `${new Date(where.nowMs).toISOString()}\n` : '';
            if (values.output === 'table')
              io.stdout(`${time}${printStatus(status, where.nowMs)}${values.watch ? '\n' : ''}`);
            else io.stdout(`${JSON.stringify(status, undefined, values.watch ? undefined : 2)}\n`);
            if (values.watch) await restOrAbort(clock, periodMs, signal);
          } while (values.watch && !signal.aborted);
        }).catch((error: unknown) => {
          if (!(values.watch && signal.aborted)) throw error;
        });
        return 0;
      }),
  });
}
