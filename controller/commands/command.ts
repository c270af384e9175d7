import type { Clock } from '../../common/process/clock.ts';
import { defineFlags, type FlagValues } from '../../common/process/flags.ts';
import { createLog, errorFields, type Log } from '../../common/process/log.ts';
import type { ProgramIo } from '../../common/process/program.ts';
import type { Random } from '../../common/process/random.ts';
import { unlessAborted } from '../../common/process/until.ts';
import { visibleText } from '../../common/visible-text.ts';
import { names } from '../../common/well-known.ts';
import { connectTo, installedIn } from '../app/connect.ts';
import { closeCloud, type OpeningContext, openClouds } from '../app/open-clouds.ts';
import { type CloudValues, OptionError, readCloudRequests } from '../app/options/options.ts';
import { runFlags } from '../app/options/own-flags.ts';
import { adviceWhenDown, isDown } from '../clouds/checks.ts';
import { CloudConfigError } from '../clouds/cloud.ts';
import { cloudNameOf } from '../clouds/registry.ts';
import type { KubeApi } from '../kube/api.ts';
import { createKubeClient } from '../kube/client.ts';
import type { KubeConnection } from '../kube/connection.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { assertAnswering } from './api-problem.ts';

/** The environment of a command. */
export interface CommandEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts on SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Asks the person at the terminal for a line; undefined without a terminal. */
  ask(question: string): Promise<string | undefined>;
}

export const outputFlags = defineFlags({
  output: { kind: 'string', short: 'o', default: 'table', choices: ['table', 'json'], help: 'Form of the answer.' },
});
export const contextFlags = defineFlags({
  context: { kind: 'string', default: '', help: 'Context of the kubeconfig. Empty: its current one.' },
});
export const leaseFlags = defineFlags({
  'leader-elect-resource-name': runFlags['leader-elect-resource-name'],
  'leader-elect-resource-namespace': runFlags['leader-elect-resource-namespace'],
});
export const reportOnlyFlags = defineFlags({
  'report-only': {
    kind: 'list',
    help: 'Clouds that are meant to be without a credential: the command does not fail for want of one.',
  },
});

/** The names of `--report-only`. Throws an OptionError for one that is not among the clouds. */
export function readReportOnly(
  { reportOnly }: FlagValues<typeof reportOnlyFlags>,
  clouds: readonly ConfiguredCloud[],
): ReadonlySet<string> {
  const named = new Set(reportOnly.map(cloudNameOf));
  const served = clouds.map(({ name }) => name);
  const [unknown] = [...named].filter((name) => !served.includes(name));
  if (unknown === undefined) return named;
  throw new OptionError(`--report-only: ${JSON.stringify(unknown)}, expected one of ${served.join(', ')}`);
}

interface LogValues {
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error';
  readonly logFormat: 'json' | 'text';
  readonly v: number;
}

/** The log of `run` goes to stdout. Commands that print an answer to stdout log to stderr. */
export function openLog(clock: Clock, values: LogValues, write: (line: string) => void): Log {
  return createLog({ clock, level: values.v >= 4 ? 'debug' : values.logLevel, format: values.logFormat, write });
}

/**
 * For commands that print an answer, the log adds only warnings (unknown keys, why a cloud is report-only) and errors,
 * unless a flag asks for more.
 */
function quietly<T extends LogValues>(values: T): T {
  return { ...values, logLevel: values.logLevel === 'info' ? 'warn' : values.logLevel };
}

/** Returns exit code 2 for invalid flags and configurations, and 1 for all other errors. */
export async function exitCode(io: ProgramIo, command: string, work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const wrong = error instanceof OptionError || error instanceof CloudConfigError;
    const { error: message, cause } = errorFields(error);
    const advice = isDown(error) ? `; ${adviceWhenDown}` : '';
    const why = visibleText(`${message}${cause === undefined ? '' : `: ${cause}`}`);
    io.stderr(`${io.program ?? names.controller} ${command}: ${why}${advice}\n`);
    return wrong ? 2 : 1;
  }
}

/** Ends at once on an interrupt; for commands that change nothing. */
export async function orInterrupted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return unlessAborted(work, signal, () => new Error('interrupted'));
}

const sayEveryMs = 2000;

/** Calls `say` every two seconds until `work` is over, with the time that it has taken: `4 s`. */
export async function sayingMeanwhile<T>(clock: Clock, say: (elapsed: string) => void, work: Promise<T>): Promise<T> {
  const sinceMs = clock.monotonic();
  const next = () =>
    clock.setTimer(sayEveryMs, () => {
      say(`${Math.round((clock.monotonic() - sinceMs) / 1000)} s`);
      timer = next();
    });
  let timer = next();
  try {
    return await work;
  } finally {
    timer.cancel();
  }
}

export function printJson(io: ProgramIo, value: unknown): void {
  io.stdout(`${JSON.stringify(value, undefined, 2)}\n`);
}

interface ApiOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly env: ProgramIo['env'];
  /** The command itself says whether the API server answers. */
  readonly unproved?: boolean;
}

/**
 * Runs `work` with a connection to the cluster, and closes it afterwards. Throws an OptionError for an invalid
 * kubeconfig, and an Error where the API server does not answer.
 */
export async function withApi<T>(
  { kubeconfig, context = '' }: { readonly kubeconfig: string; readonly context?: string },
  { clock, log, env, unproved = false }: ApiOptions,
  work: (api: KubeApi, connection: KubeConnection) => Promise<T>,
): Promise<T> {
  const config = await connectTo(kubeconfig, { clock, log, env, context: context || undefined });
  const client = createKubeClient({ config, clock, log });
  try {
    if (!unproved) await assertAnswering(client.api, config, clock.now());
    return await work(client.api, config);
  } finally {
    client.close();
  }
}

interface CloudsOptions extends Pick<OpeningContext, 'planningClock' | 'answerWithinMs'> {
  readonly unproved?: boolean;
}

/**
 * As `withApi`, with the clouds of the command line, a log of warnings and errors, and the namespace that Mooring is
 * installed in.
 */
export async function withClouds<T>(
  values: CloudValues & Partial<FlagValues<typeof contextFlags>>,
  { clock, random }: CommandEnvironment,
  io: ProgramIo,
  work: (api: KubeApi, clouds: readonly ConfiguredCloud[], log: Log, namespace: string) => Promise<T>,
  { planningClock = clock, unproved = false, answerWithinMs }: CloudsOptions = {},
): Promise<T> {
  const log = openLog(clock, quietly(values), io.stderr);
  const requests = await readCloudRequests(values);
  const context = { clock, random, log, env: io.env, planningClock, answerWithinMs, onCall: () => {} };
  const clouds = await openClouds(requests, context);
  try {
    return await withApi(values, { clock, log, env: io.env, unproved }, (api, connection) =>
      work(api, clouds, log, installedIn(values.mooringNamespace, connection)),
    );
  } finally {
    for (const cloud of clouds) closeCloud(cloud);
  }
}
