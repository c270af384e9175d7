import type { Clock } from '../../../common/process/clock.ts';
import { defineFlags } from '../../../common/process/flags.ts';
import { createLog, logLevels } from '../../../common/process/log.ts';
import { defineCommand, type ProgramDefinition } from '../../../common/process/program.ts';
import { version } from '../../../common/version.ts';
import { accessOf, readRestarts, restartUnit, unitState, writeRestarts } from './machine.ts';
import { reregister } from './reregister.ts';

const flags = defineFlags({
  kubeconfig: {
    kind: 'list',
    default: ['/etc/kubernetes/kubelet.conf', '/var/lib/kubelet/kubeconfig'],
    help: "The kubelet's own kubeconfig; of several the first that is there.",
  },
  'node-name': {
    kind: 'string',
    check: (text) => (/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text) ? undefined : 'the name of a Node'),
    help: "The kubelet's Node; default: the one that its certificate is for.",
  },
  unit: { kind: 'string', default: 'kubelet.service', help: 'The unit to restart.' },
  answers: {
    kind: 'int',
    default: 5,
    min: 1,
    help: 'How often in a row the API server must say that the Node is gone.',
  },
  interval: { kind: 'duration', default: '15s', min: 0, help: 'Time between those questions.' },
  'after-boot': { kind: 'duration', default: '5m', help: 'Nothing is done before the machine has run for so long.' },
  'after-start': { kind: 'duration', default: '5m', help: 'Nothing is done before the kubelet has run for so long.' },
  'first-pause': {
    kind: 'duration',
    default: '5m',
    help: 'Least time between two restarts; doubles with each that did not help.',
  },
  'longest-pause': { kind: 'duration', default: '1h', help: 'Where that doubling ends.' },
  timeout: { kind: 'duration', default: '10s', min: 1, help: 'Time for one request.' },
  'state-file': {
    kind: 'string',
    default: '/run/mooring-reregister/restarts.json',
    help: 'Counts the restarts of this boot.',
  },
  'log-level': { kind: 'string', default: 'info', choices: logLevels, help: 'Least level of the lines on stderr.' },
});

export interface ReregisterProgramDependencies {
  readonly clock: Clock;
  /** Milliseconds on CLOCK_MONOTONIC, which systemd counts with. */
  readonly monotonicMs: () => number;
  /** Aborts when the process was asked to stop. */
  readonly signal: AbortSignal;
}

/** The program that `mooring-reregister.service` runs. */
export function reregisterProgram({ clock, monotonicMs, signal }: ReregisterProgramDependencies): ProgramDefinition {
  return {
    name: 'mooring-reregister',
    version,
    summary: 'Restarts the kubelet when its own Node object is gone.',
    commands: {
      run: defineCommand({
        summary:
          'Looks once. Ends with 0 unless it could not look: an API server that is silent or refuses is no failure ' +
          'of ours.',
        flags,
        examples: ['mooring-reregister run --answers 3 --interval 20s'],
        async run({ values, io }) {
          const log = createLog({ clock, level: values.logLevel, format: 'text', write: io.stderr });
          try {
            await reregister(
              {
                nodeName: values.nodeName,
                answers: values.answers,
                intervalMs: values.interval,
                requestTimeoutMs: values.timeout,
                afterBootMs: values.afterBoot,
                afterStartMs: values.afterStart,
                firstPauseMs: values.firstPause,
                longestPauseMs: values.longestPause,
              },
              {
                clock,
                log,
                signal,
                kubelet: () => unitState(values.unit, monotonicMs()),
                restart: () => restartUnit(values.unit),
                access: () => accessOf(values.kubeconfig),
                readRestarts: () => readRestarts(values.stateFile),
                writeRestarts: (restarts) => writeRestarts(values.stateFile, restarts),
              },
            );
            return 0;
          } catch (error) {
            io.stderr(`mooring-reregister run: ${error instanceof Error ? error.message : String(error)}\n`);
            return 1;
          }
        },
      }),
    },
  };
}
