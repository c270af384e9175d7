import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../common/process/clock.ts';
import { runProgram } from '../../common/process/program.ts';
import { controllerProgram } from './program.ts';

const { signal } = new AbortController();
const program = controllerProgram({ clock: systemClock(), random: Math.random, signal, ask: async () => undefined });

for (const [command, flag, also] of [
  ['teardown', '--cluster-cidr=10.0.0.0/8', 'run, plan, check'],
  ['teardown', '--service-cluster-ip-range=10.0.0.0/8', 'run, plan'],
  ['teardown', '--node-cidr-mask-size=24', 'run, plan'],
  ['teardown', '--allocate-node-cidrs', 'run, plan'],
  ['teardown', '--retained-load-balancers-limit=1', 'run, plan'],
  ['teardown', '--node-labels-from-tags=a/=b.com/', 'run, plan, check'],
  ['teardown', '--node-selector=a=b', 'run, plan, check'],
] as const)
  it(`${command} refuses ${flag}, which would change nothing`, async () => {
    let said = '';
    const code = await runProgram(program, {
      argv: [command, '--cloud-provider=simulated', '--kubeconfig=/nonexistent', flag],
      env: {},
      stdout: () => {},
      stderr: (text) => {
        said += text;
      },
    });
    const name = flag.replace(/=.*/, '');
    assert.equal(code, 2);
    assert.equal(said, `mooring-controller ${command}: unknown option '${name}', which is a flag of ${also}\n`);
  });
