import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createPace } from './pace.ts';
import { waitFor } from './plan-wait.ts';

const work = 'amphora: create load balancer';

/** Looks at work that takes so long, as the plan says; answers after how long each look came. */
function looksAt(pace: ReturnType<typeof createPace>, takesMs: number): number[] {
  const looks: number[] = [];
  const expectedMs = pace.expectedMs(work);
  for (let pendingMs = 0, stillMs: number | undefined; ; stillMs = pendingMs) {
    pendingMs += waitFor({ status: 'PENDING_CREATE', pendingMs, expectedMs }).waitMs ?? 0;
    looks.push(pendingMs);
    if (pendingMs < takesMs) continue;
    pace.done(work, pendingMs, stillMs);
    return looks;
  }
}

describe('the pace of Octavia', () => {
  for (const takesMs of [700, 2000, 8000, 40_000]) {
    it(`work of ${takesMs} ms is looked at ever more rarely until it ends, and the next of its kind once or twice`, () => {
      const pace = createPace();
      assert.ok(looksAt(pace, takesMs).length <= 10);
      const next = Array.from({ length: 30 }, () => looksAt(pace, takesMs).length);
      assert.ok(Math.max(...next) <= 2, next.join());
      assert.ok(next.reduce((sum, count) => sum + count, 0) <= 45, next.join());
    });
  }

  it('whatever it takes, and took before, the end is seen soon after it came, and looks stay few', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 300_000 }), fc.integer({ min: 100, max: 300_000 }), (before, takesMs) => {
        const pace = createPace();
        for (let round = 0; round < 10; round += 1) looksAt(pace, before);
        for (let round = 0; round < 30; round += 1) looksAt(pace, takesMs);
        const looks = looksAt(pace, takesMs);
        assert.ok((looks.at(-1) ?? 0) <= takesMs * 1.25 + 2000, `${looks.at(-1)} ms for ${takesMs} ms`);
        assert.ok(looks.length <= 12, `${looks.length} looks`);
      }),
    );
  });

  it('a change of a piece that took long once holds up the next ones for seconds at the most', () => {
    const pace = createPace();
    const change = 'amphora: update members';
    for (let round = 0; round < 10; round += 1) pace.done(change, 2000, 1000);
    pace.done(change, 300_000, 250_000);
    assert.ok((pace.expectedMs(change) ?? 0) <= 5000);
    const other = 'amphora: create load balancer';
    for (let round = 0; round < 10; round += 1) pace.done(other, 4000, 3000);
    pace.done(other, 300_000, 250_000);
    assert.ok((pace.expectedMs(other) ?? 0) <= 7000);
  });

  it('a look that came long after it could says nothing of how long the work took', () => {
    const pace = createPace();
    for (const stillMs of [undefined, 3000]) {
      pace.done(work, 5 * 3_600_000, stillMs);
      assert.equal(pace.expectedMs(work), undefined);
    }
    pace.done(work, 4000, 3000);
    pace.done(work, 5 * 3_600_000, undefined);
    assert.equal(pace.expectedMs(work), 4000);
  });

  it('knows nothing of other work', () => {
    const pace = createPace();
    pace.done(work, 20_000, 16_000);
    assert.deepEqual([pace.expectedMs(work), pace.expectedMs('amphora: update members')], [20_000, undefined]);
  });
});
