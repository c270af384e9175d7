import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { runProgram } from '../../../common/process/program.ts';
import { controllerProgram } from '../program.ts';

async function refusalOf(...flags: readonly string[]): Promise<string> {
  const { signal } = new AbortController();
  const program = controllerProgram({ clock: systemClock(), random: Math.random, signal, ask: async () => undefined });
  let said = '';
  const stderr = (text: string) => {
    said += text;
  };
  const argv = ['plan', '--cloud-provider=gce', ...flags];
  assert.equal(await runProgram(program, { argv, env: {}, stdout: () => {}, stderr }), 2, said);
  return said;
}

it('a plan listens only where it is told the leader, and only on this machine', async () => {
  assert.match(await refusalOf('--listen=60s'), /--listen: "1m", expected --reports-url beside it/);
  const elsewhere = await refusalOf('--listen=60s', '--reports-url=https://10.0.0.1/reports');
  assert.match(elsewhere, /--reports-url: "https:\/\/10\.0\.0\.1\/reports", expected https:\/\/127\.0\.0\.1:PORT/);
});
