import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cloudModules } from '../controller/clouds/registry.ts';
import { classicControllers, classicMetrics } from './classic-controllers.ts';
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
});
