import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { version } from './version.ts';

test('matches the version of the package', async () => {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
  assert.equal(version, JSON.parse(text).version);
});
