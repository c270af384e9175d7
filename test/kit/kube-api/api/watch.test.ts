import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectOf } from '../json.ts';
import { meta, revisionOf, testApi, type WatchRecord } from '../testing/test-api.ts';

const nodes = '/api/v1/nodes';

function api() {
  const base = testApi();
  const create = (name: string, labels: object = {}) => base.call('POST', nodes, { metadata: { name, labels } }).body;
  const label = (name: string, labels: object) =>
    base.patch('merge', `${nodes}/${name}`, { metadata: { labels } }).body;
  return { ...base, create, label, now: () => String(base.core.store.revision) };
}

function seen(record: WatchRecord): string[] {
  return record.events.map((event) => `${event.type} ${String(meta(event.object)['name'] ?? '')}`);
}

test('a watch from a revision replays what came after it, each object as it was', () => {
  const { create, label, watch } = api();
  const first = create('a');
  label('a', { x: '1' });
  label('a', { x: '2' });
  const watched = watch(nodes, { resourceVersion: String(revisionOf(first)) });
  assert.deepEqual(
    watched.events.map((event) => objectOf(meta(event.object)['labels'])['x']),
    ['1', '2'],
  );
  create('b');
  assert.deepEqual(seen(watched), ['MODIFIED a', 'MODIFIED a', 'ADDED b']);
  assert.equal(watched.events[0]?.object['kind'], 'Node');
});

for (const resourceVersion of ['', '0']) {
  test(`a watch from revision '${resourceVersion}' begins with what exists, by name`, () => {
    const { create, watch, label } = api();
    create('b');
    const a = create('a');
    const watched = watch(nodes, { resourceVersion });
    assert.deepEqual(seen(watched), ['ADDED a', 'ADDED b']);
    assert.equal(revisionOf(watched.events[0]?.object ?? {}), revisionOf(a));
    label('a', { x: '1' });
    assert.deepEqual(seen(watched).at(-1), 'MODIFIED a');
  });
}

test('a watch ends cleanly after its timeout', async () => {
  const { watch, clock } = api();
  const watched = watch(nodes, { timeoutSeconds: '5' });
  await clock.advance(4_999);
  assert.equal(watched.ended, undefined);
  await clock.advance(1);
  assert.equal(watched.ended, 'orderly');
  assert.equal(clock.pending, 0);
});

test('an expired revision is reported inside the stream, which ends', () => {
  const { create, watch, core } = api();
  const first = create('a');
  create('b');
  core.compact();
  const watched = watch(nodes, { resourceVersion: String(revisionOf(first)) });
  const [event] = watched.events;
  assert.equal(event?.type, 'ERROR');
  assert.deepEqual([event?.object['code'], event?.object['reason']], [410, 'Expired']);
  assert.match(String(event?.object['message']), /^too old resource version: \d+ \(\d+\)$/);
  assert.equal(watched.ended, 'orderly');
});

test('a revision that is no number is an internal error, one from the future waits', () => {
  const { call, watch, create } = api();
  assert.equal(call('GET', nodes, undefined, { query: { watch: '1', resourceVersion: 'abc' } }).status, 500);
  const watched = watch(nodes, { resourceVersion: '999' });
  create('a');
  assert.equal(watched.ended, undefined);
});

test('DELETED shows the last state at the revision of the deletion', () => {
  const { create, watch, call, now } = api();
  const made = create('a', { x: '1' });
  const watched = watch(nodes, { resourceVersion: now() });
  call('DELETE', `${nodes}/a`);
  const [event] = watched.events;
  assert.equal(event?.type, 'DELETED');
  assert.deepEqual(meta(event?.object ?? {})['labels'], { x: '1' });
  assert.ok(revisionOf(event?.object ?? {}) > revisionOf(made));
});

test('an object that starts or stops to match a selector is added or deleted', () => {
  const { create, label, watch, now } = api();
  create('a', { x: '1' });
  const watched = watch(nodes, { resourceVersion: now(), labelSelector: 'x=2' });
  label('a', { x: '2' });
  const left = label('a', { x: '3' });
  label('a', { x: '4' });
  assert.deepEqual(seen(watched), ['ADDED a', 'DELETED a']);
  const gone = watched.events[1]?.object ?? {};
  assert.deepEqual(meta(gone)['labels'], { x: '2' });
  assert.equal(revisionOf(gone), revisionOf(left));
});

test('an idle watch gets a bookmark each minute, moved by writes to other resources', async () => {
  const { watch, clock, call, core } = api();
  const watched = watch(nodes, { allowWatchBookmarks: 'true', resourceVersion: String(core.store.revision) });
  await clock.advance(59_000);
  assert.equal(watched.events.length, 0);
  call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'c' } });
  await clock.advance(1_000);
  const [event] = watched.events;
  assert.equal(event?.type, 'BOOKMARK');
  assert.equal(revisionOf(event?.object ?? {}), core.store.revision);
  assert.deepEqual(Object.keys(event?.object ?? {}).sort(), ['apiVersion', 'kind', 'metadata', 'spec', 'status']);
  await clock.advance(60_000);
  assert.equal(watched.events.length, 2);
  watched.close();
  assert.equal(clock.pending, 0);
});

test('sendInitialEvents ends the initial events with an annotated bookmark', () => {
  const { create, watch } = api();
  create('a');
  const query = { sendInitialEvents: 'true', allowWatchBookmarks: 'true', resourceVersionMatch: 'NotOlderThan' };
  const watched = watch(nodes, query);
  create('b');
  assert.deepEqual(seen(watched), ['ADDED a', 'BOOKMARK ', 'ADDED b']);
  assert.deepEqual(meta(watched.events[1]?.object ?? {})['annotations'], { 'k8s.io/initial-events-end': 'true' });
});

test('sendInitialEvents needs NotOlderThan, and false sends none', () => {
  const { create, watch, call } = api();
  create('a');
  const refused = call('GET', nodes, undefined, { query: { watch: '1', sendInitialEvents: 'true' } });
  assert.equal(refused.status, 422);
  assert.deepEqual(watch(nodes, { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' }).events, []);
});

test('a Table watch heads its first row alone', () => {
  const { create, watch } = api();
  create('a');
  create('b');
  const watched = watch(nodes, {}, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' });
  assert.ok(Array.isArray(watched.events[0]?.object['columnDefinitions']));
  assert.equal(watched.events[1]?.object['columnDefinitions'], null);
});

test('one name is watched by a field selector or by its own path', () => {
  const { create, watch } = api();
  const one = watch(nodes, { fieldSelector: 'metadata.name=b' });
  const other = watch(`${nodes}/b`);
  create('a');
  create('b');
  assert.deepEqual([seen(one), seen(other)], [['ADDED b'], ['ADDED b']]);
});

test('the server can cut watches, or end them', () => {
  const { watch, core } = api();
  const [a, b] = [watch(nodes), watch('/api/v1/services')];
  assert.equal(core.openWatches, 2);
  assert.equal(core.endWatches({ resource: 'nodes' }), 1);
  assert.deepEqual([a.ended, b.ended], ['cut', undefined]);
  assert.equal(core.endWatches({}, false), 1);
  assert.equal(b.ended, 'orderly');
  assert.equal(core.openWatches, 0);
});
