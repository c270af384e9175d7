import type { Clock } from '../common/process/clock.ts';
import { defineFlags } from '../common/process/flags.ts';
import { createLog, type Log, type LogFormat, type LogLevel } from '../common/process/log.ts';
import { createStandardMetrics } from '../common/process/metrics.ts';
import { defineCommand, type ProgramDefinition, type ProgramIo } from '../common/process/program.ts';
import type { Random } from '../common/process/random.ts';
import { version } from '../common/version.ts';
import { readHostFacts } from './host-facts.ts';
import type { Machine } from './machine.ts';
import { openMachine } from './open-machine.ts';
import { openSource } from './open-source.ts';
import { runFlags, sourceFlags } from './options.ts';
import { printProviderId, providerIdFlags, readPatiently } from './provider-id.ts';
import { runAgent } from './run.ts';
import { type Facts, factsTable } from './show.ts';

export interface AgentDependencies {
  readonly clock: Clock;
  readonly random: Random;
  readonly platform: NodeJS.Platform;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
}

const showFlags = defineFlags({
  output: { kind: 'string', short: 'o', default: 'table', choices: ['table', 'json'], help: 'Form of the answer.' },
  timeout: { kind: 'duration', default: '30s', min: 1, help: 'How long to try before giving up.' },
  ...sourceFlags,
});

/** The commands of `mooring-agent`. */
export function agentProgram({ clock, random, platform, signal }: AgentDependencies): ProgramDefinition {
  function logOf(values: { readonly logLevel: LogLevel; readonly logFormat: LogFormat }, io: ProgramIo): Log {
    return createLog({ clock, level: values.logLevel, format: values.logFormat, write: io.stderr });
  }

  function machine({ systemRoot }: { readonly systemRoot: string }, { env }: ProgramIo): Machine {
    return openMachine({ platform, windowsFolder: env['SystemRoot'], systemRoot });
  }

  return {
    name: 'mooring-agent',
    version,
    summary: "Reads the VM's own metadata and reports it to the Mooring controller.",
    commands: {
      run: defineCommand({
        summary: 'Observes this machine and reports to a controller until told to stop.',
        flags: runFlags,
        examples: [
          'mooring-agent run --controller-url-file /etc/mooring/controller-urls --ca-file /etc/mooring/ca.crt',
          'mooring-agent run --cloud openstack --region RegionOne --controller-url https://10.0.0.4:10270',
        ],
        async run({ values, io }) {
          if (values.controllerUrl.length === 0 && values.controllerUrlFile === undefined) {
            io.stderr(
              'mooring-agent run: --controller-url, --controller-url-file: none given, expected at least one\n',
            );
            return 2;
          }
          return orFailed('run', io, () =>
            runAgent(values, {
              clock,
              random,
              log: logOf(values, io),
              machine: machine(values, io),
              standard: createStandardMetrics(),
              signal,
            }),
          );
        },
      }),
      'provider-id': defineCommand({
        summary: 'Prints the providerID of this machine, for kubelet --provider-id, and nothing else.',
        flags: providerIdFlags,
        examples: [
          'kubelet --provider-id="$(mooring-agent provider-id --cloud aws)" ...',
          'mooring-agent provider-id --output kubelet-args --with hostname-override,node-ip',
        ],
        async run({ values, io }) {
          if (values.output === 'id' && values.with.length > 0) {
            io.stderr(
              `mooring-agent provider-id: --with: ${JSON.stringify(values.with.join(','))}, expected ` +
                `--output kubelet-args beside it\n`,
            );
            return 2;
          }
          return orFailed('provider-id', io, async () => {
            const dependencies = { clock, random, log: logOf(values, io), machine: machine(values, io), signal };
            const { source } = await openSource(values, dependencies);
            io.stdout(await printProviderId(source, values, dependencies));
            return 0;
          });
        },
      }),
      show: defineCommand({
        summary: 'Shows what the metadata service and the firmware say.',
        flags: showFlags,
        examples: ['mooring-agent show', 'mooring-agent show --cloud aws -o json'],
        run: ({ values, io }) =>
          orFailed('show', io, async () => {
            const dependencies = { clock, random, log: logOf(values, io), machine: machine(values, io), signal };
            const { source, dmi, by } = await openSource(values, dependencies);
            const instance = await readPatiently(source, values.timeout, dependencies);
            const notices = (await source.notices?.(signal)) ?? [];
            const { productSerial: _, ...firmware } = dmi;
            const host = await readHostFacts(dependencies.machine);
            const facts: Facts = { cloud: source.cloud, by, instance, notices, firmware, host };
            io.stdout(values.output === 'json' ? `${JSON.stringify(facts, null, 2)}\n` : factsTable(facts));
            return 0;
          }),
      }),
    },
  };
}

/** Turns a failure into a line on stderr and exit code 1. */
async function orFailed(command: string, io: ProgramIo, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    io.stderr(`mooring-agent ${command}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}
