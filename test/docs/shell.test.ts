import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { openShell } from './shell.ts';

test('a shell keeps variables, and answers the exit code and both streams of each command', async () => {
  const shell = openShell(tmpdir(), process.env);
  try {
    assert.deepEqual(await shell.run('WORD=hello', 10_000), { code: 0, output: '' });
    assert.deepEqual(await shell.run('echo $WORD; echo there >&2', 10_000), { code: 0, output: 'hello\nthere\n' });
    assert.equal((await shell.run('(exit 3)', 10_000)).code, 3);
    assert.equal((await shell.run('false # a comment', 10_000)).code, 1);
    assert.deepEqual(await shell.run('cat', 10_000), { code: 0, output: '' });
    await assert.rejects(shell.run('exit 4', 10_000), /the shell ended/);
  } finally {
    shell.close();
  }
});
