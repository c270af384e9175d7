import { type AsyncHook, createHook } from 'node:async_hooks';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { before } from 'node:test';
import { pathToFileURL } from 'node:url';

/**
 * `node --test-reporter=./scripts/test-reporter.mjs scripts/run-tests.ts FILE|GLOB...`: runs tests one after another in
 * this process, as `node --test --test-isolation=none` does, in about half of the time. node:test follows every promise
 * to know which test an error belongs to that nobody catches; promises are most of the work here. It needs that while
 * the files are loaded, to put each test into its suite, and is told to stop then. An error that nobody catches still
 * fails the run, without the name of its test.
 */
const files = process.argv.slice(2).flatMap((pattern) => {
  const found = globSync(pattern);
  if (found.length === 0) throw new Error(`no file matches ${pattern}`);
  return found.sort();
});
const hooks = enabledHooks();
const loaded = Promise.withResolvers<void>();
before(() => loaded.promise);
for (const file of files) await import(pathToFileURL(resolve(file)).href);
for (const hook of hooks) hook.disable();
loaded.resolve();

/** Hooks that are enabled from now on. node:test enables its own with the first test. */
function enabledHooks(): readonly AsyncHook[] {
  const enabled: AsyncHook[] = [];
  const prototype: AsyncHook = Object.getPrototypeOf(createHook({}));
  const { enable } = prototype;
  prototype.enable = function remember() {
    enabled.push(this);
    return enable.call(this);
  };
  return enabled;
}
