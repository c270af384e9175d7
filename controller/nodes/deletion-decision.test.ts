import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decideDeletion, type MissingInstance } from './deletion-decision.ts';
import { silenceOf } from './silence.ts';

const second = 1000;
const minute = 60 * second;

const provenGone: MissingInstance = {
  state: 'gone',
  askedMs: 10 * minute,
  firstMs: 9 * minute,
  firstWithCanaryMs: undefined,
  canary: 'none',
  hasSeenInstance: true,
  recorded: true,
  joining: false,
  nodeAgeMs: 10 * minute,
  silence: silenceOf(40),
  sinceLifeMs: 2 * minute,
  leaseUnchangedMs: minute,
  lifeSinceFirst: false,
  ready: false,
  replaced: false,
  expected: undefined,
  released: false,
};
const provenAbsent: MissingInstance = {
  ...provenGone,
  state: 'absent',
  canary: 'found',
  firstWithCanaryMs: 9 * minute,
};

const table: readonly [string, MissingInstance, string][] = [
  ['gone', provenGone, 'delete, free'],
  ['gone on the first answer, quiet already', { ...provenGone, firstMs: provenGone.askedMs }, 'delete, free'],
  ['gone while Ready lags behind', { ...provenGone, ready: true }, 'delete, free'],
  ['gone and young', { ...provenGone, nodeAgeMs: minute }, 'delete, free'],
  ['gone whatever the canary', { ...provenGone, canary: 'not-found' }, 'delete, free'],
  ['gone, but never found here', { ...provenGone, recorded: false }, 'NeverFound'],
  ['gone while it joined', { ...provenGone, recorded: false, joining: true }, 'delete, joining'],
  [
    'gone while it joined, as announced',
    { ...provenGone, recorded: false, joining: true, expected: 'announced' },
    'delete, joining',
  ],
  [
    'gone while it joined, and young',
    { ...provenGone, recorded: false, joining: true, nodeAgeMs: 5 * minute - 1 },
    'TooYoung',
  ],
  ['gone, but alive since', { ...provenGone, lifeSinceFirst: true }, 'SignOfLife'],
  ['gone, but alive 39 s ago', { ...provenGone, sinceLifeMs: 39 * second }, 'Confirming'],
  ['gone, and silent for as long as its lease lasts', { ...provenGone, sinceLifeMs: 40 * second }, 'delete, free'],
  [
    'gone, but alive 99 s ago, lease of 100 s',
    { ...provenGone, silence: silenceOf(100), sinceLifeMs: 99_000 },
    'Confirming',
  ],
  [
    'gone, but alive 599 s ago, lease of 600 s',
    { ...provenGone, silence: silenceOf(600), sinceLifeMs: 599_000 },
    'Confirming',
  ],
  ['gone, lease seen unchanged for 11 s only', { ...provenGone, leaseUnchangedMs: 11 * second }, 'Confirming'],
  [
    'gone, lease of 100 s seen unchanged for 29 s only',
    { ...provenGone, silence: silenceOf(100), leaseUnchangedMs: 29 * second },
    'Confirming',
  ],
  ['gone, alive, its agent on another VM', { ...provenGone, lifeSinceFirst: true, replaced: true }, 'InstanceReplaced'],
  ['gone, silent, its agent was on another VM', { ...provenGone, replaced: true }, 'delete, free'],
  ['absent twice with a canary', provenAbsent, 'delete, deletion'],
  ['absent, and marked by another controller', { ...provenAbsent, expected: 'marked' }, 'delete, free'],
  ['absent, as announced', { ...provenAbsent, expected: 'announced' }, 'delete, announced'],
  ['absent, as announced, and released', { ...provenAbsent, expected: 'announced', released: true }, 'delete, free'],
  [
    'absent, second answer 14 s later',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs - 14 * second },
    'Confirming',
  ],
  [
    'absent, second answer 15 s later',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs - 15 * second },
    'delete, deletion',
  ],
  ['absent, canary not found', { ...provenAbsent, canary: 'not-found' }, 'CanaryNotFound'],
  ['absent, no canary, 4 min', { ...provenAbsent, canary: 'none', firstMs: 6 * minute + 1 }, 'Confirming'],
  [
    'absent, no canary, nothing shown yet',
    { ...provenAbsent, canary: 'none', hasSeenInstance: false, firstMs: 0 },
    'CanaryNotFound',
  ],
  [
    'absent, no canary, nothing shown yet, released, 4 min',
    { ...provenAbsent, canary: 'none', hasSeenInstance: false, released: true, firstMs: 6 * minute },
    'Confirming',
  ],
  [
    'absent, canary not found, released, 5 min',
    { ...provenAbsent, canary: 'not-found', released: true, firstMs: 5 * minute },
    'delete, free',
  ],
  [
    'absent, canary not found, released, but alive',
    { ...provenAbsent, canary: 'not-found', released: true, lifeSinceFirst: true },
    'SignOfLife',
  ],
  ['absent, no canary, 5 min', { ...provenAbsent, canary: 'none', firstMs: 5 * minute }, 'delete, deletion'],
  [
    'absent, only now a canary, first answer a minute old',
    { ...provenAbsent, firstWithCanaryMs: provenAbsent.askedMs },
    'Confirming',
  ],
  ['absent and Ready', { ...provenAbsent, ready: true }, 'SignOfLife'],
  ['absent and young', { ...provenAbsent, nodeAgeMs: 5 * minute - 1 }, 'TooYoung'],
  ['absent, but never found here', { ...provenAbsent, recorded: false }, 'NeverFound'],
  ['absent while it joined', { ...provenAbsent, recorded: false, joining: true }, 'NeverFound'],
];

function show(at: MissingInstance): string {
  const verdict = decideDeletion(at);
  return verdict.act === 'wait' ? verdict.reason : `delete, ${verdict.budget ?? 'free'}`;
}

const anyCase: fc.Arbitrary<MissingInstance> = fc
  .record({
    state: fc.constantFrom('gone' as const, 'absent' as const),
    firstAgoMs: fc.integer({ min: 0, max: 12 * minute }),
    withCanaryAgoMs: fc.option(fc.integer({ min: 0, max: 12 * minute }), { nil: undefined }),
    canary: fc.constantFrom('found' as const, 'not-found' as const, 'none' as const),
    hasSeenInstance: fc.boolean(),
    recorded: fc.boolean(),
    joining: fc.boolean(),
    silence: fc.constantFrom(8, 40, 100, 600).map(silenceOf),
    nodeAgeMs: fc.oneof(fc.integer({ min: 0, max: 6 * minute }), fc.constant(24 * 60 * minute)),
    sinceLifeMs: fc.oneof(fc.integer({ min: 0, max: 11 * minute }), fc.constant(Number.POSITIVE_INFINITY)),
    leaseUnchangedMs: fc.oneof(fc.integer({ min: 0, max: 4 * minute }), fc.constant(Number.POSITIVE_INFINITY)),
    lifeSinceFirst: fc.boolean(),
    ready: fc.boolean(),
    replaced: fc.boolean(),
    expected: fc.constantFrom(undefined, 'marked' as const, 'announced' as const),
    released: fc.boolean(),
  })
  .map(({ firstAgoMs, withCanaryAgoMs, ...rest }) => ({
    ...rest,
    askedMs: 100 * minute,
    firstMs: 100 * minute - firstAgoMs,
    firstWithCanaryMs: withCanaryAgoMs === undefined ? undefined : 100 * minute - Math.min(withCanaryAgoMs, firstAgoMs),
  }));

/** Promise 1, clause by clause; the budget and the live reads are tested elsewhere. */
function promiseAllows(at: MissingInstance): boolean {
  const foundInThisScope = at.recorded || (at.state === 'gone' && at.joining);
  const twiceWithCanary =
    at.canary === 'found' && at.firstWithCanaryMs !== undefined && at.askedMs - at.firstWithCanaryMs >= 15_000;
  // "where there is no canary": the answer of now may have one.
  const fiveMinutesApart = at.askedMs - at.firstMs >= 300_000;
  const everythingAbsent = at.canary === 'not-found' || (at.canary === 'none' && !at.hasSeenInstance);
  const isTrusted = at.state === 'gone' || !everythingAbsent || at.released;
  const answer = at.state === 'gone' || twiceWithCanary || fiveMinutesApart;
  const noLife = !at.lifeSinceFirst && at.sinceLifeMs >= at.silence.lifeMs && (at.state === 'gone' || !at.ready);
  const oldEnough = (at.state === 'gone' && at.recorded) || at.nodeAgeMs >= 300_000;
  return foundInThisScope && isTrusted && answer && noLife && oldEnough;
}

describe('whether a Node may be deleted', () => {
  for (const [name, at, expected] of table)
    it(`decides ${expected} for a Node: ${name}`, () => assert.equal(show(at), expected));

  it('never deletes a Node unless every condition of the promise holds', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        if (decideDeletion(at).act === 'delete') assert.ok(promiseAllows(at));
      }),
      { numRuns: 5000, seed: 1 },
    );
  });

  it('always deletes a Node when the conditions hold and the lease was unchanged by our own clock', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        if (promiseAllows(at) && at.leaseUnchangedMs >= at.silence.leaseMs)
          assert.equal(decideDeletion(at).act, 'delete');
      }),
      { numRuns: 5000, seed: 2 },
    );
  });

  it('spends a budget only for an unmarked absence, and the larger one where the cloud announced it', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        const verdict = decideDeletion(at);
        if (verdict.act !== 'delete') return;
        const free = (at.state === 'gone' && at.recorded) || at.released || at.expected === 'marked';
        const ofAbsence = at.expected === 'announced' ? 'announced' : 'deletion';
        assert.equal(verdict.budget, free ? undefined : at.recorded ? ofAbsence : 'joining');
      }),
      { numRuns: 3000, seed: 3 },
    );
  });

  it('returns a finite time of at least a second for the next check', () => {
    fc.assert(
      fc.property(anyCase, (at) => {
        const verdict = decideDeletion(at);
        if (verdict.act === 'wait')
          assert.ok(verdict.checkInMs >= 1000 && verdict.checkInMs <= 600_000, String(verdict.checkInMs));
      }),
      { numRuns: 3000, seed: 4 },
    );
  });
});
