import { defineFlags } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { clusterFlags } from '../app/options/network-flags.ts';
import { commonFlags, runFlags } from '../app/options/own-flags.ts';
import { readLoops } from '../app/options/run-options.ts';
import { webhookFlags } from '../app/options/webhook-flags.ts';
import { permissionsFor } from '../app/permissions.ts';
import { capabilitiesIn, isNeeded } from './check/needed.ts';
import { printChecks, stateOf } from './check/print-checks.ts';
import { runChecks } from './check/run-checks.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  leaseFlags,
  orInterrupted,
  outputFlags,
  printJson,
  readReportOnly,
  reportOnlyFlags,
  sayingMeanwhile,
  withClouds,
} from './command.ts';

/** How long a cloud may take to tell its account. */
const answerWithinMs = 3000;

export const checkFlags = defineFlags({
  // Those about Nodes have no effect: the chart's test gives it what the Deployment gives `run`.
  ...commonFlags,
  controllers: runFlags.controllers,
  webhooks: webhookFlags.webhooks,
  'cluster-cidr': clusterFlags['cluster-cidr'],
  'configure-cloud-routes': clusterFlags['configure-cloud-routes'],
  ...reportOnlyFlags,
  ...leaseFlags,
  ...contextFlags,
  ...outputFlags,
});

export function checkCommand(environment: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Checks credentials, region, permissions and reachability; changes nothing.',
    flags: checkFlags,
    examples: [
      'mooring-controller check --cloud-provider aws',
      'mooring-controller check --cloud-provider aws --cluster-cidr=10.0.0.0/14',
      'mooring-controller check --cloud-provider aws --controllers=cloud-node,cloud-node-lifecycle',
      'mooring-controller check --cloud-provider openstack --cloud-config cloud.conf -o json',
      'mooring-controller check --cloud-provider aws --report-only aws',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'check', async () => {
        const named = readLoops(values.controllers);
        const cloudRoutes = values.clusterCidr !== '' && values.configureCloudRoutes;
        const capabilities = capabilitiesIn(named, { cloudRoutes, webhooks: values.webhooks });
        const waiting = new Set<string>();
        const checking = withClouds(
          values,
          environment,
          io,
          (api, clouds, _, namespace) => {
            const reportOnly = readReportOnly(values, clouds);
            // A webhook reads no object of the cluster: the request has the PersistentVolume.
            const rights = permissionsFor({ ...named, route: named.route && cloudRoutes }, namespace, {
              namespace: values.leaderElectResourceNamespace,
              name: values.leaderElectResourceName,
            });
            return runChecks(api, clouds, rights, environment.signal, reportOnly, waiting);
          },
          { unproved: true, answerWithinMs },
        );
        const say = (elapsed: string) => {
          const silent = [...waiting].join(', ') || 'the clouds';
          io.stderr(`checking, ${elapsed}: no answer yet from ${silent}; is the endpoint right, and reachable?\n`);
        };
        const saying = sayingMeanwhile(environment.clock, say, checking);
        const checked = await orInterrupted(environment.signal, saying);
        const lines = checked.map((line) => ({ ...line, needed: isNeeded(line, capabilities) }));
        if (values.output === 'json')
          printJson(
            io,
            lines.map((line) => ({ ...line, state: stateOf(line) })),
          );
        else io.stdout(printChecks(lines));
        return lines.some((line) => stateOf(line) === 'failed') ? 1 : 0;
      }),
  });
}
