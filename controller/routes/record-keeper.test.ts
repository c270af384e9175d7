import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ObservedRoute } from '../clouds/routes.ts';
import { createRecordKeeper } from './record-keeper.ts';
import type { RouteRecord } from './route-records.ts';
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
  return noted.map(({ destination, instance }) => `${destination} ${instance}`);
}

describe('records are written of', () => {
  const unmarked = (destination: string, to: string) => route(destination, to, { ours: undefined });

  it('routes to be created, unless tags tell whose they are', () => {
    assert.deepEqual(recordedOf(false, []), [`${a4} sim://n1`, `${b4} sim://n2`]);
    assert.deepEqual(recordedOf(true, []), []);
  });

  for (const tagged of [false, true])
    it(`unmarked routes to the Node that has the range, and no other${tagged ? ', on a cloud with tags' : ''}`, () => {
      const routes = [unmarked(a4, 'n1'), unmarked(b4, 'n9'), unmarked('10.9.0.0/24', 'n1')];
      assert.deepEqual(recordedOf(tagged, routes), [`${a4} sim://n1`]);
    });

  it('an unmarked route beside one of ours', () => {
    const routes = [route(a4, 'n1'), unmarked(a4, 'n1'), route(b4, 'n2')];
    assert.deepEqual(recordedOf(true, routes), [`${a4} sim://n1`]);
  });
});
