import { systemClock } from '../common/process/clock.ts';
import { runProgram } from '../common/process/program.ts';
import { agentProgram } from './program.ts';

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());

const program = agentProgram({ clock: systemClock(), random: Math.random, signal: stop.signal });

runProgram(program, {
  argv: process.argv.slice(2),
  env: process.env,
  // Both write synchronously to files and pipes on Linux, so nothing is lost when the process ends at once.
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
}).then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`mooring-agent: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
