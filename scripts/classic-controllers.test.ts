import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { parseLoops } from '../controller/app/options/loops.ts';
import { cloudModules } from '../controller/clouds/registry.ts';
import { classicControllers, classicMetrics } from './classic-controllers.ts';
import { classicLoops } from './classic-loops.ts';
import { referencePages } from './reference-pages.ts';

describe('the page about the classic controllers', async () => {
  const pages = await referencePages();

  test('names metrics that there are', () => {
    const metrics = pages.get('metrics.md')!;
    for (const { ours } of classicMetrics)
      for (const name of ours) assert.ok(metrics.includes(`| \`${name}\` |`), name);
  });

  test('names every cloud that has a controller half', () => {
    const named = classicControllers.map(({ cloud }) => cloud);
    assert.deepEqual(named, [...cloudModules.keys()].filter((cloud) => cloud !== 'simulated').sort());
  });

  test('says of each loop what there is a file for, and of each name what --controllers does with it', () => {
    for (const { loop, name, here, proof } of classicLoops) {
      assert.ok(existsSync(join(import.meta.dirname, '..', proof)), `${loop}: ${proof}`);
      if (name === undefined) continue;
      assert.equal('expected' in parseLoops([name]), here.startsWith('refused: '), name);
    }
  });
});
