import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DesiredMember } from '../clouds/load-balancers.ts';
import { noneRefused, refusedForMs, refuseMembers, splitMembers, stillRefused } from './refused-members.ts';

const member = (node: string): DesiredMember => ({
  node,
  providerID: `x:///${node}`,
  addresses: [`10.0.0.${node.slice(1)}`],
  zone: '',
  draining: false,
});
const members = [member('n1'), member('n2'), member('n3')];
const refuse = (...subjects: string[]) => refuseMembers(noneRefused, { subjects, members, why: 'why' }, 0);

test('a refused member is left out for five minutes', () => {
  const refused = refuse('x:///n2')!;
  assert.deepEqual(splitMembers(stillRefused(refused, 1000), members, 1000), {
    members: [member('n1'), member('n3')],
    refused: [{ node: 'n2', why: 'why' }],
    againInMs: refusedForMs - 1000,
  });
  assert.equal(stillRefused(refused, refusedForMs).size, 0);
  assert.deepEqual(splitMembers(noneRefused, members, 0), { members, refused: [], againInMs: undefined });
});

test('a member that is refused later is left out beside the first', () => {
  const both = refuseMembers(refuse('n2')!, { subjects: ['n3'], members, why: 'too' }, 1000)!;
  assert.deepEqual(splitMembers(both, members, 1000), {
    members: [member('n1')],
    refused: [
      { node: 'n2', why: 'why' },
      { node: 'n3', why: 'too' },
    ],
    againInMs: refusedForMs - 1000,
  });
});

test('a refused member is recognised by what was sent of it: id, name or address', () => {
  for (const subject of ['x:///n2', 'n2', '10.0.0.2'])
    assert.deepEqual(splitMembers(refuse(subject)!, members, 0).refused, [{ node: 'n2', why: 'why' }]);
});

test('an answer that names no member refuses none', () => {
  assert.equal(refuse('subnet-1'), undefined);
});

test('a refused member that is no longer desired is not mentioned', () => {
  const left = [member('n1')];
  assert.deepEqual(splitMembers(refuse('n2')!, left, 0), { members: left, refused: [], againInMs: undefined });
});
