import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { groupOf } from '../app/options/flag-groups.ts';
import { clusterFlags, networkFlags } from '../app/options/network-flags.ts';
import { commonFlags, runFlags } from '../app/options/own-flags.ts';
import { readRunOptions } from '../app/options/run-options.ts';
import { servingFlags } from '../app/options/serving-flags.ts';
import { upstreamFlags } from '../app/options/upstream-flags.ts';
import { vendorFlags } from '../app/options/vendor-flags.ts';
import { webhookFlags } from '../app/options/webhook-flags.ts';
import { runController } from '../app/run.ts';
import { type CommandEnvironment, exitCode, openLog } from './command.ts';

export const runCommandFlags = {
  ...commonFlags,
  // Programs read the log of a controller, and people that of a command.
  'log-format': { ...commonFlags['log-format'], default: 'json' },
  ...runFlags,
  ...servingFlags,
  ...webhookFlags,
  ...clusterFlags,
  ...networkFlags,
  ...upstreamFlags,
  ...vendorFlags,
};

export function runCommand({ clock, random, signal }: CommandEnvironment): CommandDefinition {
  return defineCommand({
    summary: 'Runs the controller until it receives SIGTERM or SIGINT.',
    flags: runCommandFlags,
    groupOf,
    examples: [
      'mooring-controller run --cloud-provider aws',
      'mooring-controller run --cloud-provider openstack --cloud-config /etc/kubernetes/cloud.conf ' +
        '--kubeconfig ~/.kube/config',
      'mooring-controller run --cloud-provider aws --cloud-provider openstack --cloud-config ' +
        'openstack=/etc/openstack.conf',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'run', async () => {
        const log = openLog(clock, values, io.stdout);
        await runController(await readRunOptions(values), { clock, random, log, env: io.env, stop: signal });
        return 0;
      }),
  });
}
