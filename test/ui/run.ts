import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from './harness/chromium.ts';

/**
 * `node test/ui/run.ts [SUITE ...]`: the page of `mooring-controller ui` in headless Chromium, which it takes out of
 * Debian's package unless the machine has one. Keeps pictures in `SCREENSHOTS`, dist/screenshots unless it says
 * otherwise. Says what was skipped. Ends in "N passed, N failed".
 */
// So that a run that is ended takes what it started with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const root = join(import.meta.dirname, '../..');
const browser = await chromium();
if ('skipped' in browser) {
  console.error(`SKIPPED: the page was NOT seen by a browser: ${browser.skipped}`);
  console.log('0 passed, 0 failed');
} else {
  const screenshots = process.env['SCREENSHOTS'] || join(root, 'dist/screenshots');
  const env = {
    ...process.env,
    CHROMIUM_PROGRAM: browser.program,
    CHROMIUM_LIBRARIES: browser.libraries,
    SCREENSHOTS: screenshots,
  };
  const only = process.argv.slice(2);
  const suites = (await readdir(import.meta.dirname))
    .filter((file) => file.endsWith('.suite.ts') && (only.length === 0 || only.includes(file.replace('.suite.ts', ''))))
    .map((file) => join(import.meta.dirname, file));
  const args = ['--test-reporter=./scripts/test-reporter.mjs', 'scripts/run-tests.ts', ...suites];
  const tests = spawn(process.execPath, args, { stdio: 'inherit', cwd: root, env });
  const code = await new Promise((resolve) => tests.once('exit', resolve));
  console.log(`pictures: ${screenshots}`);
  process.exitCode = code === 0 ? 0 : 1;
}
