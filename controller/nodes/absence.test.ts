import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { judgeMissing, type MissingCase } from './absence.ts';

const second = 1000;
const minute = 60 * second;

const provenGone: MissingCase = {
  state: 'gone',
  askedMs: 10 * minute,
  firstMs: 9 * minute,
  firstWithCanaryMs: undefined,
  canary: 'none',
  recorded: true,
  nodeAgeMs: 10 * minute,
  sinceLifeMs: 2 * minute,
  leaseUnchangedMs: minute,
  lifeSinceFirst: false,
  ready: false,
  explained: false,
};
const provenAbsent: MissingCase = { ...provenGone, state: 'absent', canary: 'found', firstWithCanaryMs: 9 * minute };

const table: readonly [string, MissingCase, string][] = [
  ['gone', provenGone, 'delete, free'],
  ['gone on the first answer, quiet already', { ...provenGone, firstMs: provenGone.askedMs }, 'delete, free'],
  ['gone while Ready lags behind', { ...provenGone, ready: true }, 'delete, free'],
  ['gone and young', { ...provenGone, nodeAgeMs: minute }, 'delete, free'],
  ['gone whatever the canary', { ...provenGone, canary: 'not-found' }, 'delete, free'],
  ['gone, but never found here', { ...provenGone, recorded: false }, 'NeverFound'],
  ['gone, but alive since', { ...provenGone, lifeSinceFirst: true }, 'SignOfLife'],
  ['gone, but alive 19 s ago', { ...provenGone, sinceLifeMs: 19 * second }, 'Confirming'],
  ['gone, lease seen unchanged for 11 s only', { ...provenGone, leaseUnchangedMs: 11 * second }, 'Confirming'],
  ['absent twice with a canary', provenAbsent, 'delete, budgeted'],
  ['absent and foretold', { ...provenAbsent, explained: true }, 'delete, free'],
  [
    'absent, second answer 14 s later',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs - 14 * second },
    'Confirming',
  ],
  [
    'absent, second answer 15 s later',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs - 15 * second },
    'delete, budgeted',
  ],
  ['absent, canary not found', { ...provenAbsent, canary: 'not-found' }, 'CanaryNotFound'],
  ['absent, no canary, 4 min', { ...provenAbsent, canary: 'none', firstMs: 6 * minute + 1 }, 'Confirming'],
  ['absent, no canary, 5 min', { ...provenAbsent, canary: 'none', firstMs: 5 * minute }, 'delete, budgeted'],
  [
    'absent, only now a canary, first answer a minute old',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs },
    'Confirming',
  ],
  ['absent and Ready', { ...provenAbsent, ready: true }, 'SignOfLife'],
  ['absent and young', { ...provenAbsent, nodeAgeMs: 5 * minute - 1 }, 'TooYoung'],
  ['absent, but never found here', { ...provenAbsent, recorded: false }, 'NeverFound'],
];

function show(at: MissingCase): string {
  const verdict = judgeMissing(at);
  return verdict.act === 'wait' ? verdict.reason : `delete, ${verdict.budgeted ? 'budgeted' : 'free'}`;
}

const anyCase: fc.Arbitrary<MissingCase> = fc
  .record({
    state: fc.constantFrom('gone' as const, 'absent' as const),
    firstAgoMs: fc.integer({ min: 0, max: 12 * minute }),
    withCanaryAgoMs: fc.option(fc.integer({ min: 0, max: 12 * minute }), { nil: undefined }),
    canary: fc.constantFrom('found' as const, 'not-found' as const, 'none' as const),
    recorded: fc.boolean(),
    nodeAgeMs: fc.oneof(fc.integer({ min: 0, max: 6 * minute }), fc.constant(24 * 60 * minute)),
    sinceLifeMs: fc.oneof(fc.integer({ min: 0, max: minute }), fc.constant(Number.POSITIVE_INFINITY)),
    leaseUnchangedMs: fc.oneof(fc.integer({ min: 0, max: minute }), fc.constant(Number.POSITIVE_INFINITY)),
    lifeSinceFirst: fc.boolean(),
    ready: fc.boolean(),
    explained: fc.boolean(),
  })
  .map(({ firstAgoMs, withCanaryAgoMs, ...rest }) => ({
    ...rest,
    askedMs: 100 * minute,
    firstMs: 100 * minute - firstAgoMs,
    firstWithCanaryMs: withCanaryAgoMs === undefined ? undefined : 100 * minute - Math.min(withCanaryAgoMs, firstAgoMs),
  }));

/** Promise 1, clause by clause, as it is written; the budget and the live reads are others' part. */
function promiseAllows(at: MissingCase): boolean {
  const foundInThisScope = at.recorded;
  const twiceWithCanary =
    at.canary === 'found' && at.firstWithCanaryMs !== undefined && at.askedMs - at.firstWithCanaryMs >= 15_000;
  // "where there is no canary": the answer of now may have one, as long as none was missing.
  const fiveMinutesApart = at.canary !== 'not-found' && at.askedMs - at.firstMs >= 300_000;
  const answer = at.state === 'gone' || twiceWithCanary || fiveMinutesApart;
  const noLife = !at.lifeSinceFirst && at.sinceLifeMs >= 20_000 && (at.state === 'gone' || !at.ready);
  const oldEnough = at.state === 'gone' || at.nodeAgeMs >= 300_000;
  return foundInThisScope && answer && noLife && oldEnough;
}

describe('whether a Node may be deleted', () => {
  for (const [name, at, expected] of table) it(`${name}: ${expected}`, () => assert.equal(show(at), expected));

  it('never unless every clause of the promise holds', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        if (judgeMissing(at).act === 'delete') assert.ok(promiseAllows(at));
      }),
      { numRuns: 5000, seed: 1 },
    );
  });

  it('always when they hold and our own clock has seen the lease rest', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        if (promiseAllows(at) && at.leaseUnchangedMs >= 12_000) assert.equal(judgeMissing(at).act, 'delete');
      }),
      { numRuns: 5000, seed: 2 },
    );
  });

  it('spends budget exactly for unexplained absence', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        const verdict = judgeMissing(at);
        if (verdict.act === 'delete') assert.equal(verdict.budgeted, at.state === 'absent' && !at.explained);
      }),
      { numRuns: 3000, seed: 3 },
    );
  });

  it('a wait says when to look again, in finite time of at least a second', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        const verdict = judgeMissing(at);
        if (verdict.act === 'wait')
          assert.ok(verdict.checkInMs >= 1000 && verdict.checkInMs <= 300_000, String(verdict.checkInMs));
      }),
      { numRuns: 3000, seed: 4 },
    );
  });
});
