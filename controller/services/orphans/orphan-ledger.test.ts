import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { afterRead, parseSightings, printSightings, sightingKey } from './orphan-ledger.ts';

const now = 1_700_000_000;
const none = parseSightings(undefined);

describe('the ledger of orphans', () => {
  it('keeps when each was first seen, through a restart', () => {
    const first = afterRead(none, 'here', ['a', 'b'], now);
    const restarted = parseSightings(printSightings(first));
    const later = afterRead(restarted, 'here', ['a', 'c'], now + 500);
    assert.equal(later.get(sightingKey('here', 'a')), now);
    assert.equal(later.get(sightingKey('here', 'b')), undefined);
    assert.equal(later.get(sightingKey('here', 'c')), now + 500);
  });

  it('starts again for a load balancer that was no orphan in between', () => {
    const first = afterRead(none, 'here', ['a'], now);
    const none_ = afterRead(first, 'here', [], now + 10);
    assert.equal(afterRead(none_, 'here', ['a'], now + 20).get(sightingKey('here', 'a')), now + 20);
  });

  it('keeps the entries of other scopes, except very old ones', () => {
    const first = afterRead(afterRead(none, 'there', ['x'], now), 'here', ['a'], now);
    assert.ok(afterRead(first, 'here', [], now + 10).has(sightingKey('there', 'x')));
    assert.equal(afterRead(first, 'here', [], now + 91 * 86_400).size, 0);
  });

  it('returns the same ledger while nothing changes, so that nothing is written', () => {
    const first = afterRead(none, 'here', ['a'], now);
    assert.equal(afterRead(first, 'here', ['a'], now + 1000), first);
    assert.equal(afterRead(none, 'here', [], now), none);
  });

  it('never outgrows an annotation', () => {
    const many = Array.from({ length: 5000 }, (_, at) => `uid-${at}`);
    const ledger = afterRead(none, 'here', many, now);
    assert.ok(printSightings(ledger).length < 20_000);
    assert.equal(parseSightings(printSightings(ledger)).size, ledger.size);
  });

  it('drops foreign text in the annotation', () => {
    const good = printSightings(afterRead(none, 'here', ['a'], now));
    assert.equal(parseSightings(`rubbish,,x@1,${good},@5,0123@`).size, 1);
    fc.assert(fc.property(fc.string(), (text) => parseSightings(text).size >= 0));
  });
});
