import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listOf, objectOf, textOf } from '../json.ts';
import { code, meta, namesIn, revisionOf, testApi } from '../testing/test-api.ts';

const nodes = '/api/v1/nodes';

function withNodes(count: number) {
  const api = testApi();
  for (let i = 0; i < count; i += 1) {
    api.call('POST', nodes, { metadata: { name: `n${i}`, labels: { parity: String(i % 2) } } });
  }
  const list = (query: Record<string, string> = {}) => api.call('GET', nodes, undefined, { query });
  return { ...api, list };
}

test('a list shows the revision of the server, items in order and without a type', () => {
  const { call, list, core } = withNodes(3);
  call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } });
  const { body } = list();
  assert.equal(body['kind'], 'NodeList');
  assert.equal(revisionOf(body), core.store.revision);
  assert.deepEqual(namesIn(body), ['n0', 'n1', 'n2']);
  assert.deepEqual(Object.keys(objectOf(listOf(body['items'])[0])), ['metadata', 'spec', 'status']);
});

test('pages show one moment: what is created or changed in between is not in them', () => {
  const { call, patch, list } = withNodes(5);
  const first = list({ limit: '2' }).body;
  assert.deepEqual([namesIn(first), meta(first)['remainingItemCount']], [['n0', 'n1'], 3]);
  call('POST', nodes, { metadata: { name: 'n2a' } });
  call('DELETE', `${nodes}/n3`);
  patch('merge', `${nodes}/n4`, { metadata: { labels: { new: 'yes' } } });
  const second = list({ limit: '2', continue: textOf(meta(first)['continue']) }).body;
  assert.deepEqual([namesIn(second), revisionOf(second)], [['n2', 'n3'], revisionOf(first)]);
  const third = list({ limit: '2', continue: textOf(meta(second)['continue']) }).body;
  assert.deepEqual([namesIn(third), meta(third)['continue']], [['n4'], undefined]);
  assert.equal(objectOf(meta(objectOf(listOf(third['items'])[0]))['labels'])['new'], undefined);
});

test('a list with a selector does not count the remaining items', () => {
  const { body } = withNodes(5).list({ limit: '1', labelSelector: 'parity=0' });
  assert.equal(meta(body)['remainingItemCount'], undefined);
  assert.notEqual(meta(body)['continue'], undefined);
});

test('an expired page token says so and offers an inconsistent continuation', () => {
  const { call, list, core } = withNodes(4);
  const token = textOf(meta(list({ limit: '2' }).body)['continue']);
  call('POST', nodes, { metadata: { name: 'n9' } });
  core.compact();
  const gone = list({ limit: '2', continue: token });
  assert.deepEqual([gone.status, gone.body['reason']], [410, 'Expired']);
  assert.match(code(gone)[2], /^The provided continue parameter is too old to display a consistent list result/);
  const rest = list({ continue: textOf(meta(gone.body)['continue']) });
  assert.deepEqual(namesIn(rest.body), ['n2', 'n3', 'n9']);
});

test('invalid page tokens, or those with a revision, are bad requests', () => {
  const { list } = withNodes(2);
  assert.match(code(list({ continue: 'nope' }))[2], /^invalid continue token/);
  const token = textOf(meta(list({ limit: '1' }).body)['continue']);
  assert.match(code(list({ continue: token, resourceVersion: '5' }))[2], /not allowed when using continue/);
});

test('resourceVersion 0 ignores the limit, Exact shows that very moment', () => {
  const { call, list, core } = withNodes(3);
  assert.equal(namesIn(list({ resourceVersion: '0', limit: '1' }).body).length, 3);
  const then = String(core.store.revision);
  call('DELETE', `${nodes}/n0`);
  const exact = list({ resourceVersion: then, resourceVersionMatch: 'Exact' }).body;
  assert.deepEqual([namesIn(exact), meta(exact)['resourceVersion']], [['n0', 'n1', 'n2'], then]);
  assert.deepEqual(namesIn(list({ resourceVersion: then, resourceVersionMatch: 'NotOlderThan' }).body), ['n1', 'n2']);
  core.compact();
  assert.equal(list({ resourceVersion: then, resourceVersionMatch: 'Exact' }).status, 410);
});

test('a revision from the future is answered late, as a timeout', () => {
  const reply = withNodes(1).list({ resourceVersion: '999999' });
  assert.deepEqual([reply.status, reply.delayMs, reply.headers['retry-after']], [504, 3_000, '1']);
});

test('meaningless options are refused', () => {
  const { list } = withNodes(1);
  assert.equal(list({ resourceVersionMatch: 'Exact' }).status, 422);
  assert.equal(list({ resourceVersion: 'abc' }).status, 400);
  assert.equal(list({ labelSelector: 'a in (' }).status, 400);
  assert.equal(list({ limit: 'x' }).status, 400);
  assert.equal(list({ limit: '-1' }).status, 200);
  assert.match(code(list({ fieldSelector: 'spec.providerID=x' }))[2], /field label not supported: spec.providerID/);
});

test('pods are selected by node and phase', () => {
  const { call } = testApi();
  const pods = '/api/v1/namespaces/default/pods';
  call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  for (const [name, nodeName] of [
    ['a', 'n1'],
    ['b', 'n2'],
    ['c', 'n1'],
  ]) {
    call('POST', pods, { metadata: { name }, spec: { nodeName, containers: [{ name: 'c', image: 'i' }] } });
  }
  const selected = (fieldSelector: string) =>
    namesIn(call('GET', '/api/v1/pods', undefined, { query: { fieldSelector } }).body);
  assert.deepEqual(selected('spec.nodeName=n1'), ['a', 'c']);
  assert.deepEqual(selected('spec.nodeName!=n1'), ['b']);
  assert.deepEqual(selected('spec.nodeName=n1,status.phase!=Pending'), []);
});

test('a Table has cells and the metadata of each object', () => {
  const { call } = withNodes(1);
  const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
  const { body } = call('GET', nodes, undefined, { headers });
  assert.equal(body['kind'], 'Table');
  const row = objectOf(listOf(body['rows'])[0]);
  assert.deepEqual(listOf(row['cells']).slice(0, 4), ['n0', 'Unknown', '<none>', '0s']);
  assert.equal(objectOf(row['object'])['kind'], 'PartialObjectMetadata');
});
