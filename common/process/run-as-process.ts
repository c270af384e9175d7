import { createInterface } from 'node:readline/promises';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { type ProgramDefinition, runProgram } from './program.ts';
import type { Random } from './random.ts';

/** What the process gives its program: the only place where globals are read. */
export interface ProcessWorld {
  readonly clock: Clock;
  readonly random: Random;
  /** Aborts on SIGTERM and SIGINT. */
  readonly signal: AbortSignal;
  /** Asks the person at the terminal for a line; undefined when nobody is there. */
  ask(question: string): Promise<string | undefined>;
}

/**
 * Runs a program as this process and ends it with the program's exit code; 1 when something for stdout could not be written, and 1 and a stack on stderr for a fault of ours.
 *
 * @param argv what stands after the program's path
 */
export function runAsProcess(
  make: (world: ProcessWorld) => ProgramDefinition,
  argv: readonly string[] = process.argv.slice(2),
): void {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
  // Without listeners a full disk, or a reader that went away, would end the process in the middle of its work.
  let lost: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error) => {
    lost ??= error;
  });
  process.stderr.on('error', () => {});
  const program = make({ clock: systemClock(), random: Math.random, signal: stop.signal, ask });
  runProgram(program, {
    argv,
    env: process.env,
    // Both write synchronously to files and pipes on Linux, so nothing is lost when the process ends at once.
    stdout: (text) => process.stdout.write(text),
    stderr: (text) => process.stderr.write(text),
  }).then(
    // A write that failed is told one tick later.
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

async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}
