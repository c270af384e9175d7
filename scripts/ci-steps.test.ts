import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Functions of `.ci/run` by name. */
async function functionsOf(...names: readonly string[]): Promise<string[]> {
  const found = (await ciRun()).match(new RegExp(`^(${names.join('|')})\\(\\) \\{.*?^\\}$`, 'gms')) ?? [];
  assert.equal(found.length, names.length);
  return found;
}
const ciRun = () => readFile(join(import.meta.dirname, '../.ci/run'), 'utf8');
const withoutTimes = (text: string) => text.replaceAll(/\d+ s, \d+ s of processor\)/g, 'N s)');

/** The lines of the summary for one step that prints `output` and ends with `code`. */
async function summaryOf(output: string, code = 0): Promise<string[]> {
  const command = `printf '%s\\n' '${output}'; exit ${code}`;
  const around = [
    'set -u; lane=2; work=$(mktemp -d)',
    ...(await functionsOf('processor_seconds', 'say', 'step')),
    `step 'the page' 60 bash -c "$1" >/dev/null`,
    'cat "$work"/2.results; rm -r "$work"',
  ];
  const { stdout } = await run('bash', ['-c', around.join('\n'), 'bash', command]);
  return withoutTimes(stdout.trim()).split('\n');
}

/** What a run with these lines in its queue says at its end, sorted, and with which code it ends. */
async function runOf(...items: readonly string[]): Promise<{ summary: string[]; code: number }> {
  const script = await ciRun();
  const around = [
    'set -u; work=$(mktemp -d); lane=0; others=(); queue=()',
    ...(await functionsOf('processor_seconds', 'say', 'step', 'skip', 'count', 'later', 'next')),
    ...items,
    script.slice(script.indexOf('# Most steps wait')),
  ];
  const { stdout, code } = await run('bash', ['-c', around.join('\n')]).then(
    ({ stdout }) => ({ stdout, code: 0 }),
    ({ stdout, code }) => ({ stdout: String(stdout), code: Number(code) }),
  );
  const [, end = ''] = stdout.split('=== summary\n');
  return { summary: withoutTimes(end.trim()).split('\n'), code };
}

describe('a step of .ci/run', () => {
  test('reports ok for a step whose command passes', async () => {
    assert.deepEqual(await summaryOf('3 passed, 0 failed'), ['ok      the page (N s)']);
  });

  test('reports a step that tried nothing as skipped, and not as ok', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no browser\n0 passed, 0 failed'), ['SKIPPED the page: no browser']);
  });

  test('reports ok, and names each part that was left out', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no a/b\nSKIPPED: no c\n3 passed, 0 failed'), [
      'SKIPPED the page: no a/b',
      'SKIPPED the page: no c',
      'ok      the page (N s)',
    ]);
  });

  test('fails with its command', async () => {
    assert.deepEqual(await summaryOf('SKIPPED: no a\n0 passed, 0 failed', 1), ['FAILED  the page (exit 1, N s)']);
  });
});

describe('a run of .ci/run', () => {
  test('passes when all steps pass, also with quotes and spaces in their arguments', async () => {
    const { summary, code } = await runOf(
      `later step "a 'b' c" 60 bash -c '[ "$1" = "two \\"words\\"" ]' bash 'two "words"'`,
      `later skip d 'no e'`,
      'for each in 1 2 3 4 5 6; do later step "step $each" 60 true; done',
    );
    assert.deepEqual(summary.slice(0, -2).sort(), [
      'SKIPPED d: no e',
      "ok      a 'b' c (N s)",
      ...[1, 2, 3, 4, 5, 6].map((each) => `ok      step ${each} (N s)`),
    ]);
    assert.deepEqual(summary.slice(-2), ['1 skipped, as named above', '7 passed, 0 failed']);
    assert.equal(code, 0);
  });

  test('fails with a step that fails, and shows its failures at the end', async () => {
    const broken = 'echo "not ok - a test"; echo "at a line"; exit 1';
    const { summary, code } = await runOf('later step good 60 true', `later step bad 60 bash -c '${broken}'`);
    assert.ok(summary.includes('FAILED  bad (exit 1, N s)'), summary.join('\n'));
    assert.deepEqual(summary.slice(2, 5), ['--- bad failed:', 'not ok - a test', 'at a line']);
    assert.equal(summary.at(-1), '1 passed, 1 failed');
    assert.equal(code, 1);
  });

  test('fails when a lane ends before its step has', async () => {
    const { summary, code } = await runOf(`dies() { echo "$nowhere"; }`, 'later dies', 'later step good 60 true');
    assert.ok(summary.includes('FAILED  a lane ended before the queue was empty'), summary.join('\n'));
    assert.equal(summary.at(-1), '1 passed, 1 failed');
    assert.equal(code, 1);
  });
});
