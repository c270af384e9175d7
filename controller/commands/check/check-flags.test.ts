import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { runProgram } from '../../../common/process/program.ts';
import { controllerProgram } from '../program.ts';

const { signal } = new AbortController();
const program = controllerProgram({ clock: systemClock(), random: Math.random, signal, ask: async () => undefined });

for (const [flag, value, expected] of [
  ['--cluster-cidr', 'nonsense', 'one CIDR'],
  ['--cluster-cidr', '0.0.0.0/0', 'a mask of at least 1'],
  ['--controllers', 'nonsense', 'one of'],
  ['--webhooks', 'nonsense', 'one of'],
] as const) {
  it(`check refuses ${flag}=${value} as run does`, async () => {
    let said = '';
    const code = await runProgram(program, {
      argv: ['check', '--cloud-provider=simulated', '--kubeconfig=/nonexistent', `${flag}=${value}`],
      env: {},
      stdout: () => {},
      stderr: (text) => {
        said += text;
      },
    });
    assert.equal(code, 2);
    assert.ok(said.startsWith(`mooring-controller check: ${flag}: ${JSON.stringify(value)}, expected `), said);
    assert.ok(said.includes(expected), said);
  });
}
