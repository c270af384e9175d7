import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { annotations } from '../../common/well-known.ts';
import { memoryLeadership, memoryLease } from '../kube/testing/memory-leadership.ts';
import { createBudgetKeeper } from './budget-keeper.ts';
import {
  type Budget,
  type BudgetKind,
  type Ledger,
  parseBudget,
  parseLedger,
  printLedger,
  room,
  spend,
} from './deletion-budget.ts';

const tenth: Budget = { limit: { share: 0.1 }, windowMs: 600_000 };

describe('a budget', () => {
  for (const [text, expected] of [
    ['10%/10m', tenth],
    ['5/1h', { limit: { count: 5 }, windowMs: 3_600_000 }],
    ['0.5%/90s', { limit: { share: 0.005 }, windowMs: 90_000 }],
    ['100%/1m30s', { limit: { share: 1 }, windowMs: 90_000 }],
  ] as const) {
    it(`reads ${text}`, () => assert.deepEqual(parseBudget(text), expected));
  }

  for (const text of ['', '10%', '/10m', '10/0s', '101%/10m', '1.5/10m', '-1/10m', '10%/ten', '10 %/10m']) {
    it(`refuses ${JSON.stringify(text)} and says what it expects`, () => {
      const result = parseBudget(text);
      assert.ok('expected' in result && result.expected.includes('10%/10m'));
    });
  }

  it('allows at least one, however small the share or the cluster', () => {
    assert.equal(room(tenth, 'deletion', 3, [], 0), 1);
    assert.equal(room({ limit: { count: 0 }, windowMs: 1000 }, 'deletion', 100, [], 0), 1);
  });

  it('counts each kind apart', () => {
    const ledger = spend(tenth, 'deletion', 10, [], 0);
    assert.equal(room(tenth, 'deletion', 100, ledger, 1000), 0);
    assert.equal(room(tenth, 'announced', 100, ledger, 1000), 10);
  });

  it('counts entries in the future, after the clock jumped back', () => {
    const ledger = spend(tenth, 'deletion', 10, [], 3_600_000);
    assert.equal(room(tenth, 'deletion', 100, ledger, 0), 0);
  });

  it('survives a foreign value in the annotation', () => {
    assert.deepEqual(parseLedger('d10x1,rubbish,,a20x2,x1x1,d-1x1,d1x'), [
      { letter: 'd', atSeconds: 10, count: 1 },
      { letter: 'a', atSeconds: 20, count: 2 },
    ]);
    assert.deepEqual(parseLedger(undefined), []);
  });

  const kinds = fc.constantFrom<BudgetKind>('deletion', 'announced', 'out-of-service', 'route', 'member', 'orphan');
  const spendings = fc.array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 400_000 }),
      kind: kinds,
      wanted: fc.integer({ min: 1, max: 30 }),
      restart: fc.boolean(),
    }),
    { maxLength: 60 },
  );

  it('keeps to the limit in any window, restarts or not', () => {
    fc.assert(
      fc.property(spendings, fc.integer({ min: 1, max: 200 }), (steps, owned) => {
        let now = 1_700_000_000_123;
        let ledger: Ledger = [];
        const spent: { kind: BudgetKind; at: number; count: number }[] = [];
        const limit = Math.max(1, Math.floor(owned * 0.1));
        for (const { afterMs, kind, wanted, restart } of steps) {
          now += afterMs;
          if (restart) ledger = parseLedger(printLedger(ledger));
          const count = Math.min(wanted, room(tenth, kind, owned, ledger, now));
          if (count === 0) continue;
          ledger = spend(tenth, kind, count, ledger, now);
          spent.push({ kind, at: now, count });
        }
        for (const { kind, at } of spent) {
          const within = spent.filter((each) => each.kind === kind && each.at >= at && each.at < at + tenth.windowMs);
          assert.ok(within.reduce((sum, { count }) => sum + count, 0) <= limit);
        }
      }),
      { numRuns: 500, seed: 5 },
    );
  });

  it('prints what it parses', () => {
    const entries = fc.array(
      fc.record({
        letter: fc.constantFrom('d', 'a', 'o'),
        atSeconds: fc.nat(4_000_000_000),
        count: fc.integer({ min: 1, max: 999 }),
      }),
    );
    fc.assert(
      fc.property(entries, (ledger) =>
        assert.deepEqual(
          parseLedger(printLedger(ledger)),
          ledger.map((entry) => ({ ...entry })),
        ),
      ),
      { seed: 6 },
    );
  });

  it('drops expired entries, so that the annotation stays small', () => {
    let ledger: Ledger = [];
    for (let now = 0; now < 86_400_000; now += 60_000) ledger = spend(tenth, 'deletion', 1, ledger, now);
    assert.ok(ledger.length <= 12, String(ledger.length));
  });

  it('uses the window of each kind', () => {
    const short = { limit: { count: 5 }, windowMs: 60_000 };
    let ledger = spend(tenth, 'deletion', 10, [], 0);
    for (let now = 0; now < 500_000; now += 30_000) ledger = spend(short, 'member', 1, ledger, now);
    assert.equal(room(tenth, 'deletion', 100, ledger, 500_000), 0);
    assert.equal(room(short, 'member', 100, ledger, 500_000), 3);
  });
});

describe('the keeper of the budget', () => {
  function keeper(own: Parameters<typeof createBudgetKeeper>[3] = {}) {
    const lease = memoryLease();
    const clock = fakeClock();
    return { clock, lease, budget: createBudgetKeeper(tenth, memoryLeadership(lease), clock, own) };
  }

  it('grants the same room only once to concurrent requests', async () => {
    const { budget } = keeper();
    const granted = await Promise.all([1, 2, 3, 4].map(() => budget.take('deletion', 4, 100)));
    assert.equal(
      granted.reduce((sum, each) => sum + each, 0),
      10,
    );
  });

  it('uses the separate budget of a kind where there is one', async () => {
    const { budget } = keeper({ member: { limit: { count: 3 }, windowMs: 60_000 } });
    assert.deepEqual([await budget.take('member', 9, 100), await budget.take('deletion', 20, 100)], [3, 10]);
  });

  it('grants again one window after a leader whose clock was ahead by a month', async () => {
    const { budget, lease, clock } = keeper();
    const ahead = Math.ceil(clock.now() / 1000) + 30 * 86_400;
    lease.annotations = { [annotations.deletionLedger]: `d${ahead}x10,m${ahead}x1` };
    assert.equal(await budget.take('deletion', 1, 100), 0);
    await clock.advance(tenth.windowMs + 1000);
    assert.equal(await budget.take('deletion', 10, 100), 10);
    assert.equal(await budget.take('member', 10, 100), 10, 'of the other kinds, too');
  });

  it('leaves the entries of a leader whose clock is less than a window ahead: ours may be the one behind', async () => {
    const { budget, lease, clock } = keeper();
    const ledger = `d${Math.ceil(clock.now() / 1000) + 540}x10`;
    lease.annotations = { [annotations.deletionLedger]: ledger };
    assert.equal(await budget.take('deletion', 1, 100), 0);
    assert.equal(await budget.take('member', 1, 100), 1);
    assert.ok(lease.annotations[annotations.deletionLedger]?.includes(ledger));
    assert.ok(budget.roomInMs('deletion') <= tenth.windowMs + 1000, 'asks again in time');
  });

  it('writes nothing when there is no room', async () => {
    const { budget, lease } = keeper();
    await budget.take('deletion', 10, 100);
    assert.equal(await budget.take('deletion', 1, 100), 0);
    assert.equal(lease.writes, 1);
  });
});
