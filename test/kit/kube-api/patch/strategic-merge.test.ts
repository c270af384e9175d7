import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../json.ts';
import { nodeSchema } from '../schema/node-schema.ts';
import { applyStrategicMerge } from './strategic-merge.ts';

const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' };
const disk = { type: 'DiskPressure', status: 'False' };
const four = { type: 'InternalIP', address: '10.0.0.1' };
const six = { type: 'InternalIP', address: 'fd00::1' };
const host = { type: 'Hostname', address: 'n1' };

function status(part: JsonObject): JsonObject {
  return { status: part };
}

const cases: { name: string; value: JsonObject; patch: JsonObject; want: JsonObject }[] = [
  {
    name: 'merges conditions by type, keeping fields that are not named',
    value: status({ conditions: [disk, ready] }),
    patch: status({ conditions: [{ type: 'Ready', status: 'False' }] }),
    want: status({ conditions: [disk, { ...ready, status: 'False' }] }),
  },
  {
    name: 'puts a new condition in front of the old ones',
    value: status({ conditions: [disk, ready] }),
    patch: status({ conditions: [{ type: 'CloudInitialized', status: 'True' }] }),
    want: status({ conditions: [{ type: 'CloudInitialized', status: 'True' }, disk, ready] }),
  },
  {
    name: 'reorders by $setElementOrder',
    value: status({ conditions: [disk, ready] }),
    patch: status({ '$setElementOrder/conditions': [{ type: 'Ready' }, { type: 'DiskPressure' }] }),
    want: status({ conditions: [ready, disk] }),
  },
  {
    name: 'removes one item by $patch delete',
    value: status({ conditions: [disk, ready] }),
    patch: status({ conditions: [{ type: 'Ready', $patch: 'delete' }] }),
    want: status({ conditions: [disk] }),
  },
  {
    name: 'collapses two addresses of one type into the last where a list is stored',
    value: status({ addresses: [host] }),
    patch: status({ addresses: [four, six] }),
    want: status({ addresses: [six, host] }),
  },
  {
    name: 'replaces the first of two stored addresses of one type',
    value: status({ addresses: [four, six] }),
    patch: status({ addresses: [{ type: 'InternalIP', address: '10.0.0.9' }] }),
    want: status({ addresses: [{ type: 'InternalIP', address: '10.0.0.9' }, six] }),
  },
  {
    name: 'keeps both addresses of one type when the list begins with $patch replace',
    value: status({ addresses: [host, four] }),
    patch: status({ addresses: [{ $patch: 'replace' }, four, six] }),
    want: status({ addresses: [four, six] }),
  },
  {
    name: 'takes a list whole where none is stored',
    value: status({}),
    patch: status({ addresses: [four, six] }),
    want: status({ addresses: [four, six] }),
  },
  {
    name: 'replaces taints whole',
    value: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
    patch: { spec: { taints: [{ key: 'b', effect: 'NoExecute' }] } },
    want: { spec: { taints: [{ key: 'b', effect: 'NoExecute' }] } },
  },
  {
    name: 'empties taints by null',
    value: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], providerID: 'a://b' } },
    patch: { spec: { taints: null } },
    want: { spec: { providerID: 'a://b' } },
  },
  {
    name: 'unites finalizers, the new one in front',
    value: { metadata: { finalizers: ['a/a', 'b/b'] } },
    patch: { metadata: { finalizers: ['c/c', 'a/a'] } },
    want: { metadata: { finalizers: ['c/c', 'a/a', 'b/b'] } },
  },
  {
    name: 'takes scalars off a set by $deleteFromPrimitiveList',
    value: { metadata: { finalizers: ['a/a', 'b/b'] } },
    patch: { metadata: { '$deleteFromPrimitiveList/finalizers': ['a/a'], '$setElementOrder/finalizers': ['b/b'] } },
    want: { metadata: { finalizers: ['b/b'] } },
  },
  {
    name: 'replaces an object by $patch replace',
    value: { metadata: { labels: { a: '1', b: '2' } } },
    patch: { metadata: { labels: { $patch: 'replace', c: '3' } } },
    want: { metadata: { labels: { c: '3' } } },
  },
  {
    name: 'deletes a key by null, also where the parent is new',
    value: { metadata: { labels: { a: '1', b: '2' } } },
    patch: { metadata: { labels: { a: null }, annotations: { x: null, y: '1' } } },
    want: { metadata: { labels: { b: '2' }, annotations: { y: '1' } } },
  },
  {
    name: 'keeps only the named keys by $retainKeys',
    value: { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } },
    patch: { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } },
    want: { spec: { strategy: { type: 'Recreate' } } },
  },
];

for (const { name, value, patch, want } of cases) {
  test(`strategic merge ${name}`, () => {
    const before = structuredClone(value);
    assert.deepEqual(applyStrategicMerge(value, patch, nodeSchema), want);
    assert.deepEqual(value, before, 'the given object was changed');
  });
}

test('strategic merge shares what it does not touch', () => {
  const value = status({ conditions: [disk, ready], images: [{ names: ['a'] }] });
  const result = applyStrategicMerge(value, status({ phase: 'x' }), nodeSchema);
  const images = (object: JsonObject) => (object['status'] as JsonObject)['images'];
  assert.equal(images(result), images(value));
});

test('strategic merge refuses an item without its merge key where a list is stored', () => {
  const value = status({ conditions: [ready] });
  assert.throws(
    () => applyStrategicMerge(value, status({ conditions: [{ status: 'True' }] }), nodeSchema),
    /merge key: type/,
  );
});
