import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../json.ts';
import { code, meta, namesIn, revisionOf, testApi } from '../testing/test-api.ts';

const nodes = '/api/v1/nodes';
const path = `${nodes}/n1`;

function withNode(metadata: object = {}) {
  const api = testApi();
  const { body } = api.call('POST', nodes, { metadata: { name: 'n1', ...metadata } });
  return { ...api, node: body, watched: api.watch(nodes, { resourceVersion: String(revisionOf(body)) }) };
}

test('DELETE of a Node answers with a Status that names it', () => {
  const { call, node, watched } = withNode();
  const { status, body } = call('DELETE', path);
  assert.equal(status, 200);
  assert.deepEqual([body['kind'], body['status']], ['Status', 'Success']);
  assert.deepEqual(body['details'], { name: 'n1', kind: 'nodes', uid: meta(node)['uid'] });
  const [event] = watched.events;
  assert.equal(event?.type, 'DELETED');
  assert.ok(revisionOf(event?.object ?? {}) > revisionOf(node));
  assert.equal(call('DELETE', path).status, 404);
});

test('a finalizer holds the object, and a second DELETE changes nothing', () => {
  const { call, watched } = withNode({ finalizers: ['a.example/x'] });
  const { body } = call('DELETE', path);
  assert.equal(meta(body)['deletionTimestamp'], '2026-01-01T00:00:00Z');
  assert.equal(meta(body)['deletionGracePeriodSeconds'], 0);
  assert.equal(revisionOf(call('DELETE', path).body), revisionOf(body));
  assert.deepEqual(
    watched.events.map((event) => event.type),
    ['MODIFIED'],
  );
});

test('no finalizer can be added to an object that is being deleted, labels can', () => {
  const { call, patch } = withNode({ finalizers: ['a.example/x'] });
  call('DELETE', path);
  const refused = patch('merge', path, { metadata: { finalizers: ['a.example/x', 'c.example/z'] } });
  assert.equal(refused.status, 422);
  assert.match(code(refused)[2], /found new finalizers \[\]string\{"c.example\/z"\}/);
  const labelled = patch('merge', path, { metadata: { labels: { a: '1' }, deletionTimestamp: null } });
  assert.equal(labelled.status, 200);
  assert.notEqual(meta(labelled.body)['deletionTimestamp'], undefined);
});

for (const kind of ['merge', 'PUT'] as const) {
  test(`the last finalizer removed by ${kind} ends the object with one DELETED event of its last state`, () => {
    const { call, patch, watched } = withNode({ finalizers: ['a.example/x'] });
    const { body: marked } = call('DELETE', path);
    const answer =
      kind === 'merge'
        ? patch('merge', path, { metadata: { finalizers: null } })
        : call('PUT', path, { ...marked, metadata: { ...meta(marked), finalizers: [] } });
    assert.equal(answer.status, 200);
    assert.equal(revisionOf(answer.body), revisionOf(marked));
    assert.equal(meta(answer.body)['finalizers'], undefined);
    assert.equal(call('GET', path).status, 404);
    assert.deepEqual(
      watched.events.map((event) => event.type),
      ['MODIFIED', 'DELETED'],
    );
    const last = watched.events[1]?.object ?? {};
    assert.deepEqual(meta(last)['finalizers'], ['a.example/x']);
    assert.ok(revisionOf(last) > revisionOf(marked));
  });
}

test('an unqualified finalizer is refused', () => {
  const { patch } = withNode();
  assert.equal(patch('merge', path, { metadata: { finalizers: ['nope'] } }).status, 422);
});

test('preconditions protect an object that was created again', () => {
  const { call, node } = withNode();
  const uid = call('DELETE', path, { preconditions: { uid: 'x' } });
  assert.equal(uid.status, 409);
  assert.match(
    code(uid)[2],
    /^Operation cannot be fulfilled on Node "n1": the UID in the precondition \(x\) does not match/,
  );
  assert.equal(at(uid.body, 'details', 'kind'), 'Node');
  const version = call('DELETE', path, { preconditions: { resourceVersion: '1' } });
  assert.match(code(version)[2], /the ResourceVersion in the precondition \(1\) does not match/);
  const preconditions = { uid: meta(node)['uid'], resourceVersion: meta(node)['resourceVersion'] };
  assert.equal(call('DELETE', path, { preconditions }).status, 200);
});

test('a foreground deletion waits for a collector, an unknown policy is refused', () => {
  const { call } = withNode();
  assert.equal(call('DELETE', path, { propagationPolicy: 'Nope' }).status, 422);
  const { body } = call('DELETE', path, { propagationPolicy: 'Foreground' });
  assert.deepEqual(meta(body)['finalizers'], ['foregroundDeletion']);
});

test('a collection is deleted by selector, one event each', () => {
  const { call, watched } = withNode({ labels: { a: '1' } });
  call('POST', nodes, { metadata: { name: 'n2', labels: { a: '1' } } });
  call('POST', nodes, { metadata: { name: 'n3' } });
  const { body } = call('DELETE', nodes, undefined, { query: { labelSelector: 'a=1' } });
  assert.deepEqual(namesIn(body), ['n1', 'n2']);
  assert.equal(watched.events.filter((event) => event.type === 'DELETED').length, 2);
  assert.deepEqual(namesIn(call('GET', nodes).body), ['n3']);
});

test('a running pod gets its grace, a forced one goes at once', () => {
  const { call } = testApi();
  const pods = '/api/v1/namespaces/default/pods';
  call('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const spec = { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] };
  call('POST', pods, { metadata: { name: 'p' }, spec });
  const { body } = call('DELETE', `${pods}/p`);
  assert.equal(meta(body)['deletionTimestamp'], '2026-01-01T00:00:30Z');
  assert.equal(call('DELETE', `${pods}/p`, { gracePeriodSeconds: 0 }).status, 200);
  assert.equal(call('GET', `${pods}/p`).status, 404);
});
