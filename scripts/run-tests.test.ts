import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';

const root = join(import.meta.dirname, '..');
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

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mooring-run-tests-'));
});
after(() => rm(folder, { recursive: true }));

async function runNode(given: readonly string[]) {
  // Under `node --test` it would have the child report in another format.
  const { NODE_TEST_CONTEXT: _own, ...env } = process.env;
  const tests = spawn(process.execPath, given, { cwd: root, env });
  const code = new Promise((resolve) => tests.once('close', resolve));
  const [output, errors] = await Promise.all([text(tests.stdout), text(tests.stderr)]);
  return { output, errors, code: await code };
}

describe('run-tests.ts', () => {
  async function run(name: string, content: string) {
    const file = join(folder, name);
    if (content !== '') await writeFile(file, content);
    return runNode([...args, file]);
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

describe('run-tests-side-by-side.ts', () => {
  async function run(name: string, contents: readonly string[]) {
    for (const [at, content] of contents.entries()) await writeFile(join(folder, `${name}-${at}.test.ts`), content);
    return runNode(['scripts/run-tests-side-by-side.ts', join(folder, `${name}-*.test.ts`)]);
  }
  const passing = "import { it } from 'node:test'; it('passes', () => {});";

  it('adds up what its processes count', async () => {
    const skipping = "import { it } from 'node:test'; it.skip('waits', () => {});";
    const failing = "import { it } from 'node:test'; it('fails', () => { throw new Error('wrong'); });";
    const { output, code } = await run('mixed', [passing, skipping, failing, order]);
    assert.match(output, /not ok - fails/);
    assert.match(output, /\n3 passed, 1 failed, 1 skipped\n$/);
    assert.equal(code, 1);
  });

  it('counts a process that ends before its tests do as a failure', async () => {
    const ending = "import { it } from 'node:test'; it('ends', () => process.exit(0));";
    const { output, code } = await run('ending', [passing, ending]);
    assert.match(output, /not ok - the tests of .*ending-1\.test\.ts ended with 0\n1 passed, 1 failed\n$/);
    assert.equal(code, 1);
  });
});
