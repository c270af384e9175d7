import { createInterface } from 'node:readline/promises';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { type ProgramDefinition, runProgram } from './program.ts';
import type { Random } from './random.ts';

/** As in package.json: with an older Node something fails sooner or later, and says nothing of the reason. */
export const neededNode = '24.15';

/** The environment of a program: the only place that reads globals. */
export interface ProcessEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly platform: NodeJS.Platform;
  /** Aborts on SIGTERM and SIGINT, on Windows on Ctrl+C, Ctrl+Break and a closed console. */
  readonly signal: AbortSignal;
  /** Asks the person at the terminal for a line; undefined without a terminal. */
  ask(question: string): Promise<string | undefined>;
}

/**
 * Runs a program as this process and ends it with the program's exit code; with 1 when stdout could not be written, and
 * with 1 and a stack on stderr for an internal error.
 *
 * @param argv the arguments after the program's path
 */
export function runAsProcess(
  make: (environment: ProcessEnvironment) => ProgramDefinition,
  argv: readonly string[] = process.argv.slice(2),
): void {
  const fault = nodeFault(process.versions.node);
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    process.exit(1);
  }
  const stop = new AbortController();
  const { platform } = process;
  for (const name of stopSignals(platform)) process.once(name, () => stop.abort());
  // Without listeners a full disk, or a closed pipe, would end the process in the middle of its work.
  let lost: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error) => {
    lost ??= error;
  });
  process.stderr.on('error', () => {});
  const program = make({ clock: systemClock(), random: Math.random, platform, signal: stop.signal, ask });
  runProgram(program, {
    argv,
    env: process.env,
    // Both write synchronously to files and pipes on Linux, so no output is lost at the exit.
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
  }).then(
    // The error of a failed write arrives one tick later.
    (code) => setImmediate(() => end(code)),
    (error) => {
      process.stderr.write(`${program.name}: ${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );

  function end(code: number): void {
    if (lost !== undefined && lost.code !== 'EPIPE') process.stderr.write(`${program.name}: stdout: ${lost.message}\n`);
    process.exit(lost === undefined ? code : code || 1);
  }
}

/** @param version of the Node that runs this: `24.21.0` */
export function nodeFault(version: string): string | undefined {
  const isOlder = version.localeCompare(neededNode, 'en', { numeric: true }) < 0;
  return isOlder ? `mooring needs Node ${neededNode} or later, and this is Node ${version}` : undefined;
}

/** A program on Windows gets no SIGTERM, and none at all when the system shuts down. */
function stopSignals(platform: NodeJS.Platform): readonly NodeJS.Signals[] {
  return platform === 'win32' ? ['SIGINT', 'SIGBREAK', 'SIGHUP'] : ['SIGTERM', 'SIGINT'];
}

async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
