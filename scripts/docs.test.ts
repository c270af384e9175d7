import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { dashboardFiles } from './dashboards/dashboards.ts';
import { dashboardFolder, referenceFolder } from './docs.ts';
import { referencePages } from './reference-pages.ts';

for (const [name, text] of await referencePages()) {
  test(`docs/reference/${name} matches the code; \`npm run docs\` writes it`, async () => {
    const held = await readFile(join(referenceFolder, name), 'utf8').catch(() => '');
    assert.equal(held, text);
  });
}

for (const [name, text] of dashboardFiles()) {
  test(`deploy/chart/files/dashboards/${name} matches the code; \`npm run docs\` writes it`, async () => {
    const held = await readFile(join(dashboardFolder, name), 'utf8').catch(() => '');
    assert.equal(held, text);
  });
}
