import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts'];
const order = `
  import { after, before, beforeEach, describe, it } from 'node:test';
  describe('first', () => {
    before(async () => console.log('before first'));
    after(() => console.log('after first'));
    describe('inner', () => {
      beforeEach(() => console.log('before each of inner'));
      it('waits', async () => { await null; console.log('waits'); });
    });
  });
  describe('second', () => it('follows', () => console.log('second')));
`;
const stray = `
  import { it } from 'node:test';
  it('passes', async () => {
    setImmediate(() => { throw new Error('from a callback'); });
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
`;

describe('run-tests.ts', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mooring-run-tests-'));
  });
  after(() => rm(folder, { recursive: true }));

  async function run(name: string, content: string) {
    const file = join(folder, name);
    if (content !== '') await writeFile(file, content);
    const tests = spawn(process.execPath, [...args, file], { cwd: join(import.meta.dirname, '..') });
    const code = new Promise((resolve) => tests.once('close', resolve));
    const [output, errors] = await Promise.all([text(tests.stdout), text(tests.stderr)]);
    return { output, errors, code: await code };
  }

  it('keeps hooks to their suites and runs one test after another', async () => {
    const { output, code } = await run('order.test.ts', order);
    const lines = ['before first', 'before each of inner', 'waits', 'after first', 'second', '2 passed, 0 failed', ''];
    assert.deepEqual([output.split('\n'), code], [lines, 0]);
  });

  it('fails where an error is caught by nobody', async () => {
    const { output, code } = await run('stray.test.ts', stray);
    assert.match(output, /not ok - an error that nobody caught\n.*from a callback/);
    assert.match(output, /1 passed, 1 failed\n$/);
    assert.equal(code, 1);
  });

  it('fails where a file is not there', async () => {
    const { errors, code } = await run('absent.test.ts', '');
    assert.match(errors, /no file matches .*absent\.test\.ts/);
    assert.equal(code, 1);
  });
});
