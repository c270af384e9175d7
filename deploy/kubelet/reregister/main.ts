import { systemClock } from '../../../common/process/clock.ts';
import { runProgram } from '../../../common/process/program.ts';
import { reregisterProgram } from './program.ts';

const stop = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort(new Error('asked to stop')));

const program = reregisterProgram({
  clock: systemClock(),
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
  signal: stop.signal,
});

runProgram(program, {
  argv: process.argv.slice(2),
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
}).then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`mooring-reregister: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
