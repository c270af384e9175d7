import { defineFlags } from '../../common/process/flags.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { adoptFlags, clusterFlags } from '../app/options/network-flags.ts';
import { readClusterOptions } from '../app/options/network-options.ts';
import { commonFlags, runFlags } from '../app/options/own-flags.ts';
import {
  type CommandEnvironment,
  exitCode,
  leaseFlags,
  leasePath,
  orInterrupted,
  outputFlags,
  printJson,
  withClouds,
} from './command.ts';
import { isEmptyPlan } from './plan/planned-change.ts';
import { printPlan } from './plan/print-plan.ts';
import { makePlan } from './plan/run-plan.ts';

/** Different from 1 (incomplete plan) and 2 (bad flag), so that a pipeline can distinguish them. */
const changesExitCode = 3;

const planFlags = defineFlags({
  ...adoptFlags,
  'node-deletion-budget': runFlags['node-deletion-budget'],
  'announced-deletion-budget': runFlags['announced-deletion-budget'],
  'exit-code': {
    kind: 'bool',
    default: false,
    help: `Exit code ${changesExitCode} when there are changes, 0 when there are none.`,
  },
});

export function planCommand(environment: CommandEnvironment): CommandDefinition {
  const { clock, random } = environment;
  return defineCommand({
    summary: 'Prints what a run would change now, per node and per resource; changes nothing.',
    flags: { ...commonFlags, ...clusterFlags, ...planFlags, ...outputFlags, ...leaseFlags },
    examples: [
      'mooring-controller plan --cloud-provider openstack --cloud-config cloud.conf',
      'mooring-controller plan --cloud-provider aws --exit-code -o json',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'plan', async () => {
        const options = readClusterOptions(values);
        const making = withClouds(values, environment, io, (api, clouds, log, namespace) =>
          makePlan({
            ...{ api, clock, random, log, clouds, options, namespace },
            leasePath: leasePath(values),
            adopts: values.adopt,
            deletionBudget: values.nodeDeletionBudget,
            announcedDeletionBudget: values.announcedDeletionBudget,
            say: (line) => io.stderr(`${line}\n`),
          }),
        );
        const made = await orInterrupted(environment.signal, making);
        if (values.output === 'json') printJson(io, made);
        else io.stdout(printPlan(made));
        if (made.problems.length > 0) return 1;
        return values.exitCode && !isEmptyPlan(made) ? changesExitCode : 0;
      }),
  });
}
