import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createStore, type Store, type Stored } from './store.ts';

function version(key: string, revision: number): Stored {
  return {
    key,
    namespace: '',
    name: key,
    revision,
    value: { metadata: { resourceVersion: String(revision) } },
    json: '',
  };
}

function put(store: Store, key: string): Stored {
  return store.put(store.collection('x'), (revision) => version(key, revision));
}

function remove(store: Store, key: string): Stored {
  return store.remove(store.collection('x'), key, (revision) => version(key, revision));
}

test('the list at any past revision has the objects of then', () => {
  const step = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd', 'e/f', 'e-f'), remove: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const store = createStore(1_000);
      const collection = store.collection('x');
      const seen = new Map<number, string[]>();
      for (const { key, remove: gone } of steps) {
        if (gone && collection.items.has(key)) remove(store, key);
        else if (!gone) put(store, key);
        seen.set(store.revision, [...collection.items.values()].map((one) => `${one.key}@${one.revision}`).sort());
      }
      for (const [revision, want] of seen) {
        const found = store.at(collection, revision)?.map((one) => `${one.key}@${one.revision}`);
        assert.deepEqual([...(found ?? [])].sort(), want);
      }
      const keys = store.at(collection, store.revision)?.map((one) => one.key) ?? [];
      assert.deepEqual(keys, [...keys].sort());
    }),
  );
});

test('history is bounded and then refuses an expired revision', () => {
  const store = createStore(10);
  const collection = store.collection('x');
  const first = put(store, 'a').revision;
  for (let i = 0; i < 30; i += 1) put(store, 'a');
  assert.ok(collection.history.length < 20);
  assert.equal(store.since(collection, first), undefined);
  assert.equal(store.at(collection, first), undefined);
  const oldest = collection.history[0]?.revision ?? 0;
  assert.equal(store.since(collection, oldest)?.length, collection.history.length - 1);
});

test('compaction forgets every collection, not the objects', () => {
  const store = createStore();
  const { revision } = put(store, 'a');
  put(store, 'b');
  store.compact();
  const collection = store.collection('x');
  assert.equal(store.since(collection, revision), undefined);
  assert.deepEqual(store.since(collection, store.revision), []);
  assert.equal(store.at(collection, store.revision)?.length, 2);
});

test('watchers hear writes in order, also those made while being told', () => {
  const store = createStore();
  const heard: string[] = [];
  store.watch(store.collection('x'), (change) => {
    if (change.object.key === 'a') put(store, 'b');
  });
  store.watch(store.collection('x'), (change) => heard.push(`${change.type} ${change.object.key}`));
  put(store, 'a');
  remove(store, 'b');
  assert.deepEqual(heard, ['ADDED a', 'ADDED b', 'DELETED b']);
});

test('a watcher that left hears nothing more', () => {
  const store = createStore();
  let heard = 0;
  const leave = store.watch(store.collection('x'), () => {
    heard += 1;
  });
  put(store, 'a');
  leave();
  put(store, 'a');
  assert.equal(heard, 1);
});
