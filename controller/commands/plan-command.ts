import { formatDuration } from '../../common/process/duration.ts';
import { type CommandDefinition, defineCommand } from '../../common/process/program.ts';
import { groupOf } from '../app/options/flag-groups.ts';
import { OptionError } from '../app/options/options.ts';
import { readDecisionOptions } from '../app/options/run-options.ts';
import { makePlan } from '../dry-run/make-plan.ts';
import { isEmptyPlan } from '../dry-run/planned-change.ts';
import { createSkippingClock } from '../dry-run/skipping-clock.ts';
import {
  type CommandEnvironment,
  contextFlags,
  exitCode,
  orInterrupted,
  outputFlags,
  printJson,
  readReportOnly,
  withClouds,
} from './command.ts';
import { changesExitCode, planFlags } from './plan/plan-flags.ts';
import { printPlan } from './plan/print-plan.ts';

export function planCommand(environment: CommandEnvironment): CommandDefinition {
  const { clock, random } = environment;
  return defineCommand({
    summary: 'Prints what a run with the same flags would change, and changes nothing.',
    flags: { ...contextFlags, ...planFlags, ...outputFlags },
    groupOf,
    examples: [
      'mooring-controller plan --cloud-provider openstack --cloud-config cloud.conf',
      'mooring-controller plan --cloud-provider aws --controllers *,nodeipam --allocate-node-cidrs ' +
        '--cluster-cidr 10.244.0.0/16 --exit-code -o json',
      'mooring-controller plan --cloud-provider aws --ahead 0s',
      'mooring-controller plan --cloud-provider aws --listen 60s --reports-token-file token ' +
        '--reports-url https://127.0.0.1:10258/reports',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'plan', async () => {
        const options = { ...(await readDecisionOptions(values)), reportUrl: '' };
        const { signal } = environment;
        const listening = options.readReports && { readReports: options.readReports, forMs: values.listen, signal };
        if (values.listen > 0 && listening === undefined)
          throw new OptionError(`--listen: "${formatDuration(values.listen)}", expected --reports-url beside it`);
        const ahead = createSkippingClock(clock);
        const say = (line: string) => io.stderr(`${line}\n`);
        const making = withClouds(
          values,
          environment,
          io,
          (api, clouds, _log, namespace) =>
            makePlan({
              api,
              clouds,
              namespace,
              clock,
              ahead,
              random,
              options,
              say,
              listening,
              aheadMs: values.ahead,
              reportOnly: readReportOnly(values, clouds),
            }),
          { planningClock: ahead },
        );
        const made = await orInterrupted(signal, making);
        if (values.output === 'json') printJson(io, made);
        else io.stdout(printPlan(made));
        if (made.problems.length > 0) return 1;
        return values.exitCode && !isEmptyPlan(made) ? changesExitCode : 0;
      }),
  });
}
