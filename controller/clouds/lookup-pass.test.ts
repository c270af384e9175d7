import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CloudError } from '../../common/cloud-error.ts';
import type { Instance } from '../../common/instance.ts';
import { type InstanceRef, type Lookup, maxAbsenceProofs, refKey } from './cloud.ts';
import { type InstanceReader, type Listed, lookupPass, type Named } from './lookup-pass.ts';
import { chunks, inParallel } from './parallel.ts';

const instance = (id: string): Instance => ({ cloud: 'c', id, providerID: `c:///${id}`, addresses: [] });
const found = (id: string, request: 'list' | 'id') =>
  ({ state: 'found', power: 'running', request, instance: instance(id) }) as const;
const failure = new CloudError({ kind: 'Timeout', cloud: 'c', operation: 'x', message: 'late' });

interface World {
  readonly existing: ReadonlySet<string>;
  readonly listFails?: boolean;
  readonly getFails?: boolean;
  /** Ids the answers say nothing about. */
  readonly silent?: ReadonlySet<string>;
}

function readerOf(world: World): { reader: InstanceReader; listed: string[][]; got: string[] } {
  const listed: string[][] = [];
  const got: string[] = [];
  const reader: InstanceReader = {
    async list(ids) {
      listed.push([...ids]);
      if (world.listFails) throw failure;
      const said = ids.filter((id) => !world.silent?.has(id));
      return new Map(
        said.map((id): [string, Listed] => [id, world.existing.has(id) ? found(id, 'list') : { state: 'missing' }]),
      );
    },
    async get(ids) {
      got.push(...ids);
      if (world.getFails) throw failure;
      return new Map(
        ids.map((id): [string, Lookup] => [id, world.existing.has(id) ? found(id, 'id') : { state: 'absent' }]),
      );
    },
    async byName(names) {
      return new Map(names.map((name): [string, Named] => [name, found(name, 'list')]));
    },
  };
  return { reader, listed, got };
}

const byId = (id: string): InstanceRef => ({ by: 'providerID', providerID: `c:///${id}` });
function run(
  reader: InstanceReader,
  refs: readonly InstanceRef[],
  more: { listAbove?: number; canaries?: InstanceRef[]; signal?: AbortSignal } = {},
) {
  return lookupPass({
    cloud: 'c',
    refs,
    reader,
    listAbove: 0,
    targetOf: (ref) => {
      if (ref.by === 'name')
        return ref.name.startsWith('i-') ? { ask: 'id', id: ref.name, by: 'name' } : { ask: 'name', name: ref.name };
      const id = /^c:\/\/[^/]*\/(.+)$/.exec(ref.providerID)?.[1];
      return id === undefined ? { ask: 'nothing', problem: 'foreign' } : { ask: 'id', id, by: 'providerID' };
    },
    ...more,
  });
}
const stateOf = (lookups: ReadonlyMap<string, Lookup>, ref: InstanceRef) => {
  const lookup = lookups.get(refKey(ref));
  return lookup?.state === 'unknown' ? lookup.error.kind : lookup?.state;
};

describe('lookupPass', () => {
  it('asks once for an id that two refs mean, and answers both', async () => {
    const { reader, listed } = readerOf({ existing: new Set(['i-1']) });
    const other: InstanceRef = { by: 'providerID', providerID: 'c://zone/i-1' };
    const lookups = await run(reader, [byId('i-1'), other, byId('i-1')]);
    assert.deepEqual([...lookups.keys()], ['c:///i-1', 'c://zone/i-1']);
    assert.deepEqual(listed, [['i-1']]);
  });

  it('an id known by a name alone is never proved absent, nor asked for by id', async () => {
    const { reader, got } = readerOf({ existing: new Set() });
    const named: InstanceRef = { by: 'name', name: 'i-9' };
    assert.equal(stateOf(await run(reader, [named]), named), 'NotFound');
    assert.deepEqual(got, []);
    assert.equal(stateOf(await run(reader, [named], { listAbove: 5 }), named), 'NotFound');
  });

  it('a reader that says nothing of an id leaves it unknown', async () => {
    const { reader, got } = readerOf({ existing: new Set(), silent: new Set(['i-1']) });
    assert.equal(stateOf(await run(reader, [byId('i-1')]), byId('i-1')), 'Unavailable');
    assert.deepEqual(got, []);
  });

  it('makes no call without refs, nor after the signal', async () => {
    const { reader, listed } = readerOf({ existing: new Set() });
    assert.equal((await run(reader, [])).size, 0);
    const lookups = await run(reader, [byId('i-1')], { signal: AbortSignal.abort() });
    assert.equal(stateOf(lookups, byId('i-1')), 'Unavailable');
    assert.deepEqual(listed, []);
  });

  it('a canary that is a ref too keeps what the list found when its own request says nothing', async () => {
    const { reader } = readerOf({ existing: new Set(['i-1']) });
    const flaky: InstanceReader = {
      ...reader,
      get: async (ids) => (ids.includes('i-1') ? Promise.reject(failure) : reader.get(ids)),
    };
    const lookups = await run(flaky, [byId('i-1'), byId('i-2')], { canaries: [byId('i-1'), byId('i-3')] });
    const canary = lookups.get('c:///i-1');
    assert.ok(canary?.state === 'found' && canary.request === 'list');
    assert.equal(stateOf(lookups, byId('i-3')), 'Timeout');
  });

  it('a canary by name is Invalid', async () => {
    const { reader } = readerOf({ existing: new Set() });
    const canary: InstanceRef = { by: 'name', name: 'n' };
    assert.equal(stateOf(await run(reader, [byId('i-1')], { canaries: [canary] }), canary), 'Invalid');
  });

  it('answers every ref after any failure, and absent only by id, never for an existing instance', async () => {
    const ids = fc.integer({ min: 0, max: 60 }).map((n) => `i-${n}`);
    const world = fc.record({
      existing: fc.array(ids).map((list) => new Set(list)),
      silent: fc.array(ids, { maxLength: 3 }).map((list) => new Set(list)),
      listFails: fc.boolean(),
      getFails: fc.boolean(),
    });
    const refs = fc.array(
      fc.oneof(
        ids.map(byId),
        ids.map((name): InstanceRef => ({ by: 'name', name })),
        fc.constant<InstanceRef>({ by: 'name', name: 'n' }),
        fc.constant<InstanceRef>({ by: 'providerID', providerID: 'foreign' }),
      ),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(world, refs, fc.integer({ min: 0, max: 40 }), async (state, asked, listAbove) => {
        const { reader, got } = readerOf(state);
        const lookups = await run(reader, asked, { listAbove });
        assert.deepEqual(new Set(lookups.keys()), new Set(asked.map(refKey)));
        assert.ok(new Set(got).size <= maxAbsenceProofs);
        for (const ref of asked) {
          if (stateOf(lookups, ref) !== 'absent') continue;
          assert.ok(ref.by === 'providerID');
          const id = ref.providerID.slice('c:///'.length);
          assert.ok(got.includes(id) && !state.existing.has(id) && !state.getFails);
        }
      }),
    );
  });
});

describe('inParallel', () => {
  it('runs no more at once than asked for and keeps the order', async () => {
    let running = 0;
    let most = 0;
    const results = await inParallel(3, [5, 4, 3, 2, 1], async (n) => {
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < n; turn += 1) await Promise.resolve();
      running -= 1;
      return n * 10;
    });
    assert.deepEqual(results, [50, 40, 30, 20, 10]);
    assert.equal(most, 3);
  });
});

describe('chunks', () => {
  it('cuts into runs of at most so many', () => {
    assert.deepEqual(chunks([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
    assert.deepEqual(chunks([], 2), []);
  });
});
