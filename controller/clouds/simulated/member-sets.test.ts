import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemberSets } from './member-sets.ts';

const sets = () => createMemberSets((providerID) => providerID.split('/').at(-1));
const memberOf = (name: string) => ({
  node: name,
  providerID: `simulated://sim-1/${name}`,
  addresses: [],
  zone: '',
  draining: false,
});

test('a set that was asked for while everything was read is known when the answer to its change comes', () => {
  const known = sets();
  const before = known.of([memberOf('i-1')]);
  const changed = [memberOf('i-1'), memberOf('i-2')];
  const { digest, members } = known.of(changed);
  known.keep(new Set([before.digest]));
  assert.equal(known.known(digest), members);
});

test('a set that was sent again is known when the answer comes', () => {
  const known = sets();
  const members = [memberOf('i-1')];
  const { digest } = known.of(members);
  known.keep(new Set());
  known.of(members);
  known.keep(new Set());
  assert.ok(known.known(digest));
});

test('a set that is neither listed nor asked for any more is forgotten', () => {
  const known = sets();
  const { digest } = known.of([memberOf('i-1')]);
  known.keep(new Set());
  known.keep(new Set());
  assert.equal(known.known(digest), undefined);
});
