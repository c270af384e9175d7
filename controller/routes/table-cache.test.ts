import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { settle } from '../../common/testing/fake-clock.ts';
import type { ObservedRoute, Routes, RouteTable } from '../clouds/routes.ts';
import { createTableCache } from './table-cache.ts';

function route(id: string): ObservedRoute {
  return { id, destination: '10.244.0.0/24', providerID: undefined, blackhole: false, ours: true };
}

/** A cloud whose answers the test controls. */
function cloud() {
  const answers: { give(table: RouteTable): void; fail(error: Error): void }[] = [];
  const routes: Routes = {
    tagged: true,
    observe: () => new Promise((resolve, reject) => answers.push({ give: resolve, fail: reject })),
    create: () => Promise.reject(new Error('not here')),
    remove: () => Promise.reject(new Error('not here')),
  };
  return { routes, answers };
}

const ids = (table: RouteTable | undefined) => table?.routes.map(({ id }) => id).sort();

describe('the cache of a route table', () => {
  it('holds no table before the first read', () => {
    const table = createTableCache(cloud().routes, () => 5);
    assert.equal(table.table, undefined);
    assert.equal(table.readAtMs, Number.NEGATIVE_INFINITY);
    table.added(route('a'));
    assert.equal(table.table, undefined);
  });

  it('applies our own changes to the routes and the quota', async () => {
    const { routes, answers } = cloud();
    const table = createTableCache(routes, () => 5);
    const read = table.read('c', undefined);
    answers[0]?.give({ routes: [route('a')], quota: { limit: 10, used: 4 } });
    await read;
    table.added(route('b'));
    table.added(route('b'));
    table.removed(route('a'));
    table.removed(route('a'));
    assert.deepEqual(ids(table.table), ['b']);
    assert.deepEqual(table.table?.quota, { limit: 10, used: 4 });
    assert.equal(table.has('b'), true);
    assert.equal(table.has('a'), false);
  });

  it('keeps our changes during a read, whether the answer shows them or not', async () => {
    for (const shown of [['a', 'b'], ['b']]) {
      const { routes, answers } = cloud();
      const table = createTableCache(routes, () => 5);
      const read = table.read('c', undefined);
      table.added(route('a'));
      table.removed(route('b'));
      answers[0]?.give({ routes: shown.map(route), quota: undefined });
      await read;
      assert.deepEqual(ids(table.table), ['a']);
    }
  });

  it('shares one read between concurrent callers', async () => {
    const { routes, answers } = cloud();
    const table = createTableCache(routes, () => 5);
    const reads = [table.read('c', undefined), table.read('c', undefined)];
    answers[0]?.give({ routes: [], quota: undefined });
    await Promise.all(reads);
    assert.equal(answers.length, 1);
  });

  it('keeps the table when a read fails', async () => {
    const { routes, answers } = cloud();
    const table = createTableCache(routes, () => 5);
    const read = table.read('c', undefined);
    answers[0]?.give({ routes: [route('a')], quota: undefined });
    await read;
    const again = table.read('c', undefined);
    answers[1]?.fail(new Error('down'));
    await assert.rejects(again);
    assert.deepEqual(ids(table.table), ['a']);
    assert.equal(table.readAtMs, 5);
  });

  it('counts its age from the start of a read, and is outdated once invalidated, also during a read', async () => {
    const { routes, answers } = cloud();
    let now = 1;
    const table = createTableCache(routes, () => now);
    const read = table.read('c', undefined);
    now = 9;
    answers[0]?.give({ routes: [], quota: undefined });
    await read;
    assert.equal(table.readAtMs, 1);
    const again = table.read('c', undefined);
    table.invalidate();
    answers[1]?.give({ routes: [route('a')], quota: undefined });
    await again;
    await settle(1);
    assert.deepEqual(ids(table.table), ['a']);
    assert.equal(table.readAtMs, Number.NEGATIVE_INFINITY);
  });
});
