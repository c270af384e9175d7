import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObservedRoute } from '../clouds/routes.ts';
import { createRecordKeeper } from './record-keeper.ts';
import { addressTarget, type RouteRecord, type RouteRecords } from './route-records.ts';
import { a4, b4, n1, n2, plan, route } from './testing/example-plan.ts';

/** What is recorded of these routes where `n1` has the range a4, and `n2` has b4. */
function recordedOf(tagged: boolean, routes: readonly ObservedRoute[]): string[] {
  const noted: RouteRecord[] = [];
  const records = {
    load: async () => {},
    has: () => false,
    all: () => [],
    change: async (_: string, { note = [] }: { readonly note?: readonly RouteRecord[] }) => void noted.push(...note),
  };
  const keeper = createRecordKeeper(records, { scope: 's', tagged }, (providerID) => providerID, String);
  const table = { routes, quota: undefined };
  void keeper.keep({ table, readAtMs: 0 }, plan({ nodes: [n1, n2], routes }));
  return noted.map(({ destination, target }) => `${destination} ${target}`);
}

describe('records are written of', () => {
  const unmarked = (destination: string, to: string) => route(destination, to, { ours: undefined });

  it('routes to be created, unless tags tell whose they are', () => {
    assert.deepEqual(recordedOf(false, []), [`${a4} sim://n1`, `${b4} sim://n2`]);
    assert.deepEqual(recordedOf(true, []), []);
  });

  for (const tagged of [false, true])
    it(`records unmarked routes to the Node of the range alone${tagged ? ', on a cloud with tags' : ''}`, () => {
      const routes = [unmarked(a4, 'n1'), unmarked(b4, 'n9'), unmarked('10.9.0.0/24', 'n1')];
      assert.deepEqual(recordedOf(tagged, routes), [`${a4} sim://n1`]);
    });

  it('records an unmarked route beside one of ours', () => {
    const routes = [route(a4, 'n1'), unmarked(a4, 'n1'), route(b4, 'n2')];
    assert.deepEqual(recordedOf(true, routes), [`${a4} sim://n1`]);
  });
});

describe('the record of an address', () => {
  const toN1: RouteRecord = { destination: a4, target: 'sim://n1' };
  const viaAddress: RouteRecord = { destination: a4, target: addressTarget('10.0.0.1') };

  /** What is noted and dropped over these reads of the table. */
  async function after(recorded: readonly RouteRecord[], tables: readonly (readonly ObservedRoute[])[]) {
    const changed = { note: [] as string[], drop: [] as string[] };
    const has = (_: string, destination: string, target: string | undefined) =>
      recorded.some((one) => one.destination === destination && one.target === target);
    const records: RouteRecords = {
      load: async () => {},
      has,
      all: () => recorded,
      change: async (_, { note = [], drop = [] }) => {
        changed.note.push(...note.map(({ target }) => target));
        changed.drop.push(...drop.map(({ target }) => target));
      },
    };
    const keeper = createRecordKeeper(records, { scope: 's', tagged: false }, (providerID) => providerID, String);
    for (const [at, routes] of tables.entries()) {
      const nodes = routes.some(({ providerID }) => providerID === 'sim://n1') ? [n1] : [];
      await keeper.keep(
        { table: { routes, quota: undefined }, readAtMs: at },
        plan({ nodes, routes, recorded: has.bind(0, 's') }),
      );
    }
    return changed;
  }
  const standing = (to: string) => route(a4, to, { ours: undefined, via: '10.0.0.1' });

  it('adds the record of an address to that of the instance, which older versions wrote alone', async () => {
    assert.deepEqual(await after([toN1], [[standing('n1')]]), { note: [viaAddress.target], drop: [] });
  });

  it('keeps the record as long as the route stands, whichever instance has the address', async () => {
    const [reused, gone] = [[standing('n9')], [] as ObservedRoute[]];
    assert.deepEqual((await after([toN1, viaAddress], [reused, reused])).drop, [toN1.target]);
    assert.deepEqual((await after([viaAddress], [gone, gone])).drop, [viaAddress.target]);
  });
});
