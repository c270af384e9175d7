import { systemClock } from '../common/process/clock.ts';
import { runProgram } from '../common/process/program.ts';
import { controllerProgram, withCommand } from './program.ts';

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());

runProgram(controllerProgram({ clock: systemClock(), random: Math.random, stop: stop.signal }), {
  argv: withCommand(process.argv.slice(2)),
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
}).then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`mooring-controller: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
