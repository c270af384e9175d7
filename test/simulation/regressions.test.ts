import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { runSeed } from './run-seed.ts';

interface Regression {
  readonly seed: number;
  readonly why: string;
}

const regressions = JSON.parse(
  readFileSync(new URL('./regression-seeds.json', import.meta.url), 'utf8'),
) as Regression[];

async function trace(seed: number): Promise<string> {
  const lines: string[] = [];
  await runSeed(seed, (line) => lines.push(line));
  return lines.join('\n');
}

describe('seeds that once broke a promise', () => {
  for (const { seed, why } of regressions) {
    it(`seed ${seed} breaks no promise any more: ${why}`, async () => {
      assert.equal((await runSeed(seed)).broken, undefined);
    });
  }
});

describe('the simulation', () => {
  it('keeps every promise under any fault, and converges when faults stop', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const { broken } = await runSeed(seed);
      assert.equal(broken, undefined, `seed ${seed}: ${broken?.message}`);
    }
  });

  it('gives one trace for one seed, byte for byte, and another one for another', async () => {
    const first = await trace(7);
    assert.equal(first, await trace(7));
    assert.notEqual(first, await trace(8));
    assert.ok(first.split('\n').length > 200, 'something happened');
  });
});
