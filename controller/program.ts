import type { Clock } from '../common/process/clock.ts';
import { defineFlags } from '../common/process/flags.ts';
import { createLog, errorFields, type Log } from '../common/process/log.ts';
import {
  type CommandDefinition,
  defineCommand,
  type ProgramDefinition,
  type ProgramIo,
} from '../common/process/program.ts';
import type { Random } from '../common/process/random.ts';
import { version } from '../common/version.ts';
import { names } from '../common/well-known.ts';
import { runChecks } from './check/run-checks.ts';
import { CloudConfigError } from './clouds/cloud.ts';
import { connectTo } from './connect.ts';
import { explainNode } from './explain/explain-node.ts';
import { printExplanation } from './explain/print-explanation.ts';
import { readNodeFacts } from './explain/read-facts.ts';
import { table } from './explain/table.ts';
import { isNotFound } from './kube/api.ts';
import { createKubeClient } from './kube/client.ts';
import { openClouds } from './open-clouds.ts';
import { clusterFlags, networkFlags } from './options/network-flags.ts';
import { OptionError, readCloudRequests } from './options/options.ts';
import { commonFlags, runFlags } from './options/own-flags.ts';
import { readRunOptions } from './options/run-options.ts';
import { upstreamFlags } from './options/upstream-flags.ts';
import { runController } from './run.ts';

export interface ControllerWorld {
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts on SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
}

interface LogValues {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly logFormat: 'json' | 'text';
  readonly v: number;
}

/** Answers of `explain` and `check` go to stdout, so their logs go to stderr. */
function openLog(clock: Clock, values: LogValues, write: (line: string) => void): Log {
  return createLog({ clock, level: values.v >= 4 ? 'debug' : values.logLevel, format: values.logFormat, write });
}

/** Turns what a person did wrong into exit code 2, and everything else into 1. */
async function exitCode(io: ProgramIo, command: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const wrong = error instanceof OptionError || error instanceof CloudConfigError;
    const { error: message, cause } = errorFields(error);
    io.stderr(`mooring-controller ${command}: ${message}${cause === undefined ? '' : `: ${cause}`}\n`);
    return wrong ? 2 : 1;
  }
}

const outputFlags = defineFlags({
  output: { kind: 'string', short: 'o', default: 'table', choices: ['table', 'json'], help: 'Form of the answer.' },
});
const leaseFlags = defineFlags({
  'leader-elect-resource-name': runFlags['leader-elect-resource-name'],
  'leader-elect-resource-namespace': runFlags['leader-elect-resource-namespace'],
});

export const runCommandFlags = { ...commonFlags, ...runFlags, ...clusterFlags, ...networkFlags, ...upstreamFlags };

/** Upstream's controllers have no commands: arguments that begin with a flag mean `run`, so that a manifest can be moved over. */
export function withCommand(argv: readonly string[]): readonly string[] {
  const [first = ''] = argv;
  const isOther = ['--help', '-h', '--version'].includes(first);
  return first.startsWith('-') && !isOther ? ['run', ...argv] : argv;
}

export function controllerProgram({ clock, random, signal }: ControllerWorld): ProgramDefinition {
  const run: CommandDefinition = defineCommand({
    summary: 'Runs the controller until it is told to stop.',
    flags: runCommandFlags,
    examples: [
      'mooring-controller run --cloud-provider aws',
      'mooring-controller run --cloud-provider openstack --cloud-config /etc/kubernetes/cloud.conf --kubeconfig ~/.kube/config',
      'mooring-controller run --cloud-provider aws --cloud-provider openstack --cloud-config openstack=/etc/openstack.conf',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'run', async () => {
        const log = openLog(clock, values, io.stdout);
        await runController(await readRunOptions(values), { clock, random, log, env: io.env, stop: signal });
        return 0;
      }),
  });

  const explain: CommandDefinition = defineCommand({
    summary: 'Says where a node stands and why, from the API server alone.',
    operands: ['node', 'name'],
    flags: { ...commonFlags, ...outputFlags, ...leaseFlags },
    examples: ['mooring-controller explain node worker-1', 'mooring-controller explain node worker-1 -o json'],
    run: ({ values, operands, io }) =>
      exitCode(io, 'explain', async () => {
        const [kind, name = ''] = operands;
        if (kind !== 'node') throw new OptionError(`${JSON.stringify(kind)}, expected node`);
        const log = openLog(clock, values, io.stderr);
        const config = await connectTo(values.kubeconfig, { clock, log, env: io.env });
        const client = createKubeClient({ config, clock, log });
        try {
          const facts = await readNodeFacts(client.api, name, {
            nowMs: clock.now(),
            namespace: names.namespace,
            leaseNamespace: values.leaderElectResourceNamespace,
            leaseName: values.leaderElectResourceName,
          });
          const explanation = explainNode(facts);
          io.stdout(
            values.output === 'json' ? `${JSON.stringify(explanation, undefined, 2)}\n` : printExplanation(explanation),
          );
          return 0;
        } catch (error) {
          if (!isNotFound(error)) throw error;
          io.stderr(`mooring-controller explain: there is no Node ${JSON.stringify(name)}\n`);
          return 1;
        } finally {
          client.close();
        }
      }),
  });

  const check: CommandDefinition = defineCommand({
    summary: 'Proves credentials, region, permissions and reachability; changes nothing.',
    flags: { ...commonFlags, ...outputFlags },
    examples: [
      'mooring-controller check --cloud-provider aws',
      'mooring-controller check --cloud-provider openstack --cloud-config cloud.conf -o json',
    ],
    run: ({ values, io }) =>
      exitCode(io, 'check', async () => {
        const log = openLog(
          clock,
          { ...values, logLevel: values.logLevel === 'info' ? 'error' : values.logLevel },
          io.stderr,
        );
        const requests = await readCloudRequests(values);
        const clouds = await openClouds(requests, { clock, random, log, env: io.env, onCall: () => {} });
        const config = await connectTo(values.kubeconfig, { clock, log, env: io.env });
        const client = createKubeClient({ config, clock, log });
        try {
          const lines = await runChecks(client.api, clouds, signal);
          const rows = lines.map(({ of, name, ok, message }) => [of, ok ? 'ok' : 'FAILED', name, message]);
          io.stdout(
            values.output === 'json'
              ? `${JSON.stringify(lines, undefined, 2)}\n`
              : table([['OF', 'RESULT', 'CHECK', 'MESSAGE'], ...rows]),
          );
          return lines.every(({ ok }) => ok) ? 0 : 1;
        } finally {
          for (const { api } of clouds) api?.close();
          client.close();
        }
      }),
  });

  return {
    name: 'mooring-controller',
    version,
    summary: 'Ties Kubernetes nodes to the cloud VMs they run on.',
    commands: { run, explain, check },
  };
}
