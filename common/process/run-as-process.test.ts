import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { neededNode, nodeFault } from './run-as-process.ts';

const module = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);

/** A program with one command, whose body is given, as a process of its own. */
function start(body: string, stdout: 'pipe' | number, stderr: 'pipe' | number = 'pipe') {
  const text = `
    import { runAsProcess } from ${module('./run-as-process.ts')};
    import { defineCommand } from ${module('./program.ts')};
    runAsProcess(({ clock }) => ({
      name: 'tool', version: '1', summary: '',
      commands: { go: defineCommand({ summary: '', flags: {}, examples: [], async run({ io }) { ${body} } }) },
    }), ['go']);`;
  const args = ['--input-type=module-typescript', '-e', text];
  return spawn(process.execPath, args, { stdio: ['ignore', stdout, stderr] });
}

async function ended(child: ReturnType<typeof start>): Promise<{ code: number | null; said: string }> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, said };
}

/** Every write to it fails with ENOSPC. */
async function onFullDisk<T>(work: (descriptor: number) => Promise<T>): Promise<T> {
  const descriptor = openSync('/dev/full', 'w');
  try {
    return await work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

test('an older Node is named, with the one that package.json asks for', () => {
  for (const version of ['18.20.0', '20.20.2', '24.2.0', '24.14.9'])
    assert.equal(nodeFault(version), `mooring needs Node ${neededNode} or later, and this is Node ${version}`);
  for (const version of ['24.15.0', '24.21.0', '25.0.0', '26.1.0-pre', '100.0.0'])
    assert.equal(nodeFault(version), undefined);
  const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  assert.equal(engines.node, `>=${neededNode}`);
});

test('an answer that could not be written is no success', async () => {
  const { code, said } = await onFullDisk((disk) => ended(start("io.stdout('answer\\n'); return 0;", disk)));
  assert.equal(code, 1);
  assert.match(said, /^tool: stdout: ENOSPC[^\n]*\n$/);
});

test('the worse exit code stays', async () => {
  const { code } = await onFullDisk((disk) => ended(start("io.stdout('answer\\n'); return 2;", disk)));
  assert.equal(code, 2);
});

test('a program continues while its lines cannot be written', async () => {
  const body = (stream: string) => `
    for (let line = 0; line < 3; line += 1) {
      io.${stream}('line\\n');
      await new Promise((resolve) => clock.setTimer(1, resolve));
    }
    return 3;`;
  const out = await onFullDisk((disk) => ended(start(body('stdout'), disk)));
  assert.deepEqual([out.code, out.said.split('\n').length], [3, 2], out.said);
  assert.equal((await onFullDisk((disk) => ended(start(body('stderr'), 'pipe', disk)))).code, 3);
});

test('a closed pipe causes no message', async () => {
  const child = start(
    "await new Promise((resolve) => clock.setTimer(300, resolve)); io.stdout('late\\n'); return 0;",
    'pipe',
  );
  child.stdout?.destroy();
  assert.deepEqual(await ended(child), { code: 1, said: '' });
});
