import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The lines of the summary for one step of `.ci/run` that prints `output` and ends with `code`. */
async function summaryOf(output: string, code = 0): Promise<string[]> {
  const script = await readFile(join(import.meta.dirname, '../.ci/run'), 'utf8');
  const [step] = /^step\(\) \{.*?^\}$/ms.exec(script) ?? [];
  assert.ok(step);
  const command = `printf '%s\\n' '${output}'; exit ${code}`;
  const around = [
    'set -u; lane=2; work=$(mktemp -d)',
    ...[step, `step 'the page' 60 bash -c "$1" >/dev/null`],
    'cat "$work"/2.results; rm -r "$work"',
  ];
  const { stdout } = await run('bash', ['-c', around.join('\n'), 'bash', command]);
  return stdout
    .trim()
    .replaceAll(/\d+ s\)/g, 'N s)')
    .split('\n');
}

describe('a step of .ci/run', () => {
  test('is ok when its command is', async () => {
    assert.deepEqual(await summaryOf('3 passed, 0 failed'), ['ok      the page (N s)']);
  });

  test('is skipped and not ok when it tried nothing', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no browser\n0 passed, 0 failed'), ['SKIPPED the page: no browser']);
  });

  test('is ok and names each part that was left out', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no a/b\nSKIPPED: no c\n3 passed, 0 failed'), [
      ...['SKIPPED the page: no a/b', 'SKIPPED the page: no c', 'ok      the page (N s)'],
    ]);
  });

  test('fails with its command', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no a\n0 passed, 0 failed', 1), ['FAILED  the page (exit 1, N s)']);
  });
});
