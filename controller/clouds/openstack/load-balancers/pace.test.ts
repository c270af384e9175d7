import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createPace } from './pace.ts';
import { waitFor } from './plan-wait.ts';

/** Looks at work that takes so long, as the plan says; answers after how long each look came. */
function looksAt(pace: ReturnType<typeof createPace>, takesMs: number): number[] {
  const looks: number[] = [];
  const expectedMs = pace.expectedMs('create');
  for (let pendingMs = 0, stillAtMs = 0; ; stillAtMs = pendingMs) {
    pendingMs += waitFor({ status: 'PENDING_CREATE', pendingMs, expectedMs }).waitMs ?? 0;
    looks.push(pendingMs);
    if (pendingMs < takesMs) continue;
    pace.done('create', stillAtMs);
    return looks;
  }
}

describe('the pace of Octavia', () => {
  it('the first wait is looked after often, the next of its kind only when it may be over', () => {
    const pace = createPace();
    assert.ok(looksAt(pace, 40_000).length > 10);
    for (let round = 0; round < 5; round += 1) assert.ok(looksAt(pace, 40_000).length <= 3);
  });

  it('whatever it takes, the end is seen soon after it came, and looks stay few', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 300_000 }), fc.integer({ min: 100, max: 300_000 }), (before, takesMs) => {
        const pace = createPace();
        for (let round = 0; round < 10; round += 1) looksAt(pace, before);
        for (let round = 0; round < 20; round += 1) looksAt(pace, takesMs);
        const looks = looksAt(pace, takesMs);
        assert.ok((looks.at(-1) ?? 0) <= takesMs * 1.3 + 2100, `${looks.at(-1)} ms for ${takesMs} ms`);
        assert.ok(looks.length <= 15, `${looks.length} looks`);
      }),
    );
  });

  it('knows nothing of other work', () => {
    const pace = createPace();
    pace.done('create', 20_000);
    assert.deepEqual([pace.expectedMs('create'), pace.expectedMs('update')], [20_000, 0]);
  });
});
