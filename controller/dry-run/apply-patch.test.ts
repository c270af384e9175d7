import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mergePatch, strategicPatch } from './apply-patch.ts';

describe('a merge patch', () => {
  it('merges objects, removes what is null and replaces lists', () => {
    const object = { metadata: { labels: { a: '1', b: '2' } }, spec: { taints: [{ key: 'x' }] } };
    const patch = { metadata: { labels: { a: null, c: '3' } }, spec: { taints: [] } };
    assert.deepEqual(mergePatch(object, patch), { metadata: { labels: { b: '2', c: '3' } }, spec: { taints: [] } });
  });
});

describe('a strategic merge patch', () => {
  const conditions = [
    { type: 'Ready', status: 'True' },
    { type: 'Old', status: 'True' },
  ];

  it('merges conditions by type, adds new ones and deletes those that it names', () => {
    const patch = {
      conditions: [{ type: 'Ready', status: 'False' }, { type: 'Old', $patch: 'delete' }, { type: 'New' }],
    };
    assert.deepEqual(strategicPatch({ conditions }, patch), {
      conditions: [{ type: 'Ready', status: 'False' }, { type: 'New' }],
    });
  });

  it('replaces addresses where it says so', () => {
    const addresses = [
      { $patch: 'replace' },
      { type: 'InternalIP', address: '1' },
      { type: 'InternalIP', address: '2' },
    ];
    assert.deepEqual(strategicPatch({ addresses: [{ type: 'InternalIP', address: '0' }] }, { addresses }), {
      addresses: addresses.slice(1),
    });
  });

  it('adds finalizers and removes single ones', () => {
    const added = strategicPatch({ finalizers: ['a'] }, { finalizers: ['b'] });
    assert.deepEqual(added, { finalizers: ['a', 'b'] });
    assert.deepEqual(strategicPatch(added, { '$deleteFromPrimitiveList/finalizers': ['a'] }), { finalizers: ['b'] });
    assert.deepEqual(strategicPatch({ finalizers: ['b'] }, { '$deleteFromPrimitiveList/finalizers': ['b'] }), {});
  });
});
