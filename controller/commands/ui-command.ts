import { defineFlags } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { installedIn } from '../app/connect.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { modulePaths } from '../app/options/options.ts';
import { readingFlags } from '../app/options/own-flags.ts';
import { type CommandEnvironment, contextFlags, exitCode, leaseFlags, openLog, withApi } from './command.ts';
import { metricsFlags, metricsReader } from './metrics/metrics-flags.ts';
import { openUi } from './ui/open-ui.ts';

const uiFlags = defineFlags({
  ...readingFlags,
  'load-balancer-class': clusterFlags['load-balancer-class'],
  port: { kind: 'int', default: 0, min: 0, max: 65_535, help: 'Port of the page on 127.0.0.1; 0: any free one.' },
  ...metricsFlags,
});

export function uiCommand({ clock, random, signal }: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Serves a picture of the cluster to the browser of this machine; it only reads.',
    flags: { ...contextFlags, ...uiFlags, ...leaseFlags },
    examples: [
      'mooring-controller ui',
      'mooring-controller ui --metrics-url=https://127.0.0.1:10258/metrics --metrics-token-file=token',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'ui', async () => {
        const readMetrics = metricsReader(values);
        const log = openLog(clock, values, io.stderr);
        await withApi(values, { clock, log, env: io.env }, async (api, connection) => {
          const ui = await openUi({
            api,
            clock,
            random,
            log,
            server: connection.server,
            readMetrics,
            page: async () => (await import('./ui/page-files.ts')).readPageFiles(),
            port: values.port,
            where: {
              namespace: installedIn(values.mooringNamespace, connection),
              leaseNamespace: values.leaderElectResourceNamespace,
              leaseName: values.leaderElectResourceName,
            },
            rows: {
              loadBalancerClasses: values.loadBalancerClass,
              moduleNames: [...modulePaths(values.cloudModule).keys()],
            },
          });
          io.stdout(`${ui.url}\n`);
          try {
            if (!signal.aborted)
              await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          } finally {
            await ui.close();
          }
        });
        return 0;
      }),
  });
}
