import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineFlags } from './flags.ts';
import { defineCommand, type ProgramDefinition, runProgram } from './program.ts';

function program(seen: unknown[]): ProgramDefinition {
  return {
    name: 'tool',
    version: '1.2.3',
    summary: 'Does things.',
    commands: {
      explain: defineCommand({
        summary: 'Explains one thing.',
        operands: ['kind', 'name'],
        flags: defineFlags({ wide: { kind: 'bool', help: 'More.' }, old: { kind: 'int', ignored: 'gone', help: '' } }),
        examples: ['mooring-controller explain node a', 'kubelet --id="$(tool explain node a)"'],
        async run({ values, operands }) {
          seen.push(values.wide, ...operands);
          return 1;
        },
      }),
    },
  };
}

async function run(argv: readonly string[]) {
  const seen: unknown[] = [];
  let stdout = '';
  let stderr = '';
  const io = { argv, env: {}, stdout: (text: string) => (stdout += text), stderr: (text: string) => (stderr += text) };
  const code = await runProgram(program(seen), io);
  return { code, stdout, stderr, seen };
}

test('hands flags and operands to the command and answers its exit code', async () => {
  const { code, seen, stderr } = await run(['explain', 'node', '--wide', 'a', '--old=1']);
  assert.equal(code, 1);
  assert.deepEqual(seen, [true, 'node', 'a']);
  assert.equal(stderr, 'tool explain: warning: --old has no effect: gone\n');
});

test('exits 2 with a message on stderr for a bad flag, command or argument count', async () => {
  for (const [argv, message] of [
    [['explain', '--wibe'], /^tool explain: unknown option '--wibe'/],
    [['explain', 'node'], /^tool explain: "node", expected KIND NAME/],
    [['explian'], /^tool: command "explian", expected one of explain.* \(Did you mean explain\?\)\n$/],
    [['help', 'explian'], /^tool: command "explian", expected one of explain/],
    [[], /Usage: tool COMMAND/],
  ] as const) {
    const { code, stdout, stderr, seen } = await run(argv);
    assert.equal(code, 2);
    assert.match(stderr, message);
    assert.equal(stdout, '');
    assert.deepEqual(seen, []);
  }
});

test('help and version go to stdout and exit 0', async () => {
  for (const [argv, text] of [
    [['--help'], /explain {2}Explains one thing\./],
    [['explain', '--help'], /Usage: tool explain \[flags\] KIND NAME/],
    [['help', 'explain'], /Usage: tool explain \[flags\] KIND NAME/],
    [['explain', '--help'], /^ {2}tool explain node a\n {2}kubelet --id="\$\(tool explain node a\)"$/m],
    [['explain', '-h'], /--wide/],
    [['--version'], /^tool 1\.2\.3\n$/],
  ] as const) {
    const { code, stdout, stderr } = await run(argv);
    assert.equal(code, 0);
    assert.match(stdout, text);
    assert.equal(stderr, '');
  }
});
