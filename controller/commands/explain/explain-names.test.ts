import assert from 'node:assert/strict';
import { it } from 'node:test';
import { systemClock } from '../../../common/process/clock.ts';
import { runProgram } from '../../../common/process/program.ts';
import { controllerProgram } from '../program.ts';

const { signal } = new AbortController();
const program = controllerProgram({ clock: systemClock(), random: Math.random, signal, ask: async () => undefined });

for (const [operands, message] of [
  [['pod', 'x'], 'KIND: "pod", expected node or service'],
  [['', 'x'], 'KIND: "", expected node or service'],
  [['node', ''], 'NAME: "", expected the name of a Node'],
  [['node', 'default/a'], 'NAME: "default/a", expected the name of a Node'],
  [['node'], 'NAME: missing, expected the name of a Node; the command status shows all by state and reason'],
  [['pod/x'], 'KIND: "pod", expected node or service'],
  [['node/x', 'web'], 'NAME: "web", expected KIND/NAME, as the first one'],
  [['svc/', '-n', 'shop'], 'NAME: "", expected NAME or NAMESPACE/NAME of a Service'],
  [['svc', 'default/web', '-n', 'shop'], '--namespace: "shop", but NAME is "default/web"'],
  [['service', 'a/b/c'], 'NAME: "a/b/c", expected NAME or NAMESPACE/NAME of a Service'],
  [['service', '/b'], 'NAME: "/b", expected NAME or NAMESPACE/NAME of a Service'],
] as const) {
  it(`explain ${operands.map((each) => JSON.stringify(each)).join(' ')} names the fault without a call`, async () => {
    let said = '';
    const code = await runProgram(program, {
      argv: ['explain', ...operands, '--kubeconfig=/nonexistent'],
      env: {},
      stdout: () => {},
      stderr: (text) => {
        said += text;
      },
    });
    assert.deepEqual([code, said], [2, `mooring-controller explain: ${message}\n`]);
  });
}
