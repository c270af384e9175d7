import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DesiredMember } from '../clouds/load-balancers.ts';
import { createRefusedMembers, refusedForMs } from './refused-members.ts';

const member = (node: string): DesiredMember => ({
  node,
  providerID: `x:///${node}`,
  addresses: [`10.0.0.${node.slice(1)}`],
  zone: '',
  draining: false,
});
const members = [member('n1'), member('n2'), member('n3')];

test('a refused member is left out of this Service alone, for five minutes', () => {
  let now = 0;
  const refused = createRefusedMembers(() => now);
  assert.equal(refused.note('a', ['x:///n2'], members, 'why'), true);
  assert.deepEqual(refused.split('b', members), { members, refused: [], againInMs: undefined });
  now = 1000;
  assert.deepEqual(refused.split('a', members), {
    members: [member('n1'), member('n3')],
    refused: [{ node: 'n2', why: 'why' }],
    againInMs: refusedForMs - 1000,
  });
  now = refusedForMs;
  assert.deepEqual(refused.split('a', members), { members, refused: [], againInMs: undefined });
});

test('members are known by what they were sent with: id, name or address', () => {
  for (const subject of ['x:///n2', 'n2', '10.0.0.2']) {
    const refused = createRefusedMembers(() => 0);
    assert.equal(refused.note('a', [subject], members, 'why'), true);
    assert.deepEqual(refused.split('a', members).refused, [{ node: 'n2', why: 'why' }]);
  }
});

test('subjects that are no members are no answer', () => {
  const refused = createRefusedMembers(() => 0);
  assert.equal(refused.note('a', ['subnet-1'], members, 'why'), false);
  assert.equal(refused.split('a', members).members, members);
});

test('one that is no member any more is not told of', () => {
  const refused = createRefusedMembers(() => 0);
  refused.note('a', ['n2'], members, 'why');
  const left = [member('n1')];
  assert.deepEqual(refused.split('a', left), { members: left, refused: [], againInMs: undefined });
});
