import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../api-error.ts';
import type { Json } from '../json.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';

const node = { metadata: { labels: { a: '1', 'x/y': '2' } }, spec: { taints: [{ key: 'a' }, { key: 'b' }] } };

function patched(...steps: Json[]) {
  return applyJsonPatch(node, steps);
}

test('JSON patch adds, replaces and removes, with escaped slashes', () => {
  const result = patched(
    { op: 'remove', path: '/metadata/labels/x~1y' },
    { op: 'add', path: '/spec/taints/-', value: { key: 'c' } },
    { op: 'remove', path: '/spec/taints/0' },
    { op: 'test', path: '/metadata/labels/a', value: '1' },
  );
  assert.deepEqual(result, { metadata: { labels: { a: '1' } }, spec: { taints: [{ key: 'b' }, { key: 'c' }] } });
  assert.equal(node.spec.taints.length, 2);
});

test('JSON patch adds a missing map key by replace', () => {
  assert.deepEqual(patched({ op: 'replace', path: '/metadata/labels/z', value: '9' })['metadata'], {
    labels: { a: '1', 'x/y': '2', z: '9' },
  });
});

const bad: [string, Json][] = [
  ['a test that fails', { op: 'test', path: '/metadata/labels/a', value: '2' }],
  ['an unknown operation', { op: 'nope', path: '/metadata' }],
  ['a missing path to remove', { op: 'remove', path: '/metadata/labels/nope' }],
  ['an index behind the end', { op: 'remove', path: '/spec/taints/7' }],
  ['a parent that is not there', { op: 'add', path: '/status/x/y', value: 1 }],
  ['a step that is no object', 'nope'],
];
for (const [name, step] of bad) {
  test(`JSON patch answers 422 with one text for ${name}`, () => {
    assert.throws(
      () => patched(step),
      (error) => error instanceof ApiError && error.code === 422 && /rejected our request/.test(error.message),
    );
  });
}

test('JSON patch that is no list is a bad request', () => {
  assert.throws(
    () => applyJsonPatch(node, {}),
    (error) => error instanceof ApiError && error.code === 400,
  );
});

test('merge patch deletes by null, replaces lists whole and makes missing parents', () => {
  const result = applyMergePatch(node, {
    metadata: { labels: { a: null }, annotations: { b: null, c: '1' } },
    spec: { taints: [{ key: 'z' }] },
  });
  assert.deepEqual(result, {
    metadata: { labels: { 'x/y': '2' }, annotations: { c: '1' } },
    spec: { taints: [{ key: 'z' }] },
  });
});
