import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createFoundIndex } from './found-index.ts';
import { createInventory } from './inventory.ts';
import { createJournals } from './journal.ts';
import { createLocks } from './locks.ts';
import { createOperations } from './operations.ts';
import type { Found, Kind, Reader } from './resource.ts';

const owner = { cluster: 'c1', service: 'u1' };
const kind = (name: string, more: Partial<Kind> = {}): [string, Kind] => [
  name,
  { kind: name, retryCreate: 'atOnce', compare: () => ({ same: true }), ...more },
];
const lb = (id: string, more: Partial<Found> = {}): Found => ({
  kind: 'lb',
  id,
  owner,
  key: id,
  status: 'ready',
  body: 'old',
  ...more,
});

/** @param details true, or the ages of two kinds of details */
function setUp(details: boolean | readonly [number, number] = false) {
  const [age, otherAge] = typeof details === 'boolean' ? [100_000] : details;
  const clock = fakeClock();
  const state = { list: [] as Found[], read: [] as string[], fails: false, isFresh: false };
  const detail = (kind: string, maxAgeMs: number, shown: string) => ({
    kind: 'lb',
    parts: [kind],
    maxAgeMs,
    async read({ id }: Found) {
      state.read.push(`${id}${shown}`);
      return [{ kind, id: `${kind} of ${id}`, within: id, status: 'ready' as const, body: '' }];
    },
  });
  const reader: { -readonly [K in keyof Reader]: Reader[K] } = {
    kinds: ['lb'],
    async all() {
      if (state.fails) throw new Error('no');
      return state.list;
    },
    of: async () => ({ found: state.list, isFresh: state.isFresh }),
    ...(details && { detail: [detail('part', age!, ''), ...(otherAge ? [detail('more', otherAge, ' more')] : [])] }),
  };
  const kinds = new Map([
    kind('lb', { settleMs: 1000 }),
    kind('part', { within: 'lb' }),
    kind('more', { within: 'lb' }),
  ]);
  const index = createFoundIndex(kinds);
  const inventory = createInventory([reader], { kinds, cluster: 'c1', clock, found: index });
  return { clock, state, inventory, index, reader };
}
const query = (ids: readonly string[]) => ({
  owner,
  ids: ids.map((id) => ({ kind: 'lb', id })),
  slots: [],
  search: false,
  removing: false,
});

describe('the inventory', () => {
  it('believes a read of what was changed since the answer to its create, and not that it is gone', async () => {
    const { state, inventory } = setUp();
    inventory.note([lb('a')]);
    state.list = [lb('a', { body: 'new' })];
    await inventory.read(query(['a']));
    assert.equal(inventory.get('lb a')?.body, 'old', 'the list may be older than the answer');
    inventory.noteChanged(lb('a'));
    await inventory.read(query(['a']));
    assert.equal(inventory.get('lb a')?.body, 'new');
    inventory.note([lb('b')]);
    inventory.noteChanged(lb('b'));
    await inventory.read(query(['a', 'b']));
    assert.equal(inventory.get('lb b')?.body, 'old', 'the list may not show it yet');
  });

  it('keeps what an audit could not see, and reads its owner before anything is decided', async () => {
    const { state, inventory, reader } = setUp();
    const other = { ...owner, service: 'u2' };
    state.list = [lb('a'), lb('hidden', { owner: other }), lb('hidden too', { owner: other })];
    await inventory.audit();
    reader.isUnknown = ({ id }) => id.startsWith('hidden');
    state.list = [];
    await inventory.audit();
    assert.equal(inventory.get('lb a'), undefined);
    assert.equal(inventory.get('lb hidden')?.id, 'hidden');
    assert.deepEqual([inventory.isStale(owner, new Set()), inventory.isStale(other, new Set())], [false, true]);
    await inventory.read({ ...query(['hidden']), owner: other });
    assert.equal(inventory.get('lb hidden'), undefined, 'a read of that id proves it');
    assert.equal(inventory.isStale(other, new Set()), false);
    reader.isUnknown = () => false;
    await inventory.audit();
    assert.equal(inventory.get('lb hidden too'), undefined);
  });

  it('reads no details that the answer to a call has shown, until they are old', async () => {
    const { clock, state, inventory } = setUp(true);
    state.list = [lb('a')];
    inventory.note([lb('a'), { kind: 'part', id: 'part of a', within: 'a', status: 'ready', body: 'answered' }]);
    await inventory.audit();
    assert.deepEqual(state.read, []);
    await clock.advance(100_000);
    await inventory.audit();
    assert.deepEqual(state.read, ['a']);
  });

  it('reads details when those of the last read are old, however often answers have shown parts of them', async () => {
    const { clock, state, inventory } = setUp(true);
    state.list = [lb('a')];
    await inventory.audit();
    for (let times = 0; times < 3; times += 1) {
      await clock.advance(40_000);
      inventory.note([{ kind: 'part', id: 'part of a', within: 'a', status: 'ready', body: 'answered' }]);
    }
    state.read.splice(0);
    await inventory.audit();
    assert.deepEqual(state.read, ['a']);
  });

  it('details are read again when their version has changed or with age, spread evenly', async () => {
    const { clock, state, inventory, index } = setUp(true);
    const ids = Array.from({ length: 20 }, (_, at) => `lb-${at}`);
    state.list = [lb('v', { version: '1' }), ...ids.map((id) => lb(id))];
    await inventory.audit();
    assert.equal(state.read.splice(0).length, 21);
    await inventory.audit();
    assert.deepEqual(state.read, []);
    assert.equal(
      index.all.filter((one) => one.kind === 'part').length,
      21,
      'details that were not read again are still shown',
    );
    state.list = [lb('v', { version: '2' }), ...ids.map((id) => lb(id))];
    await inventory.audit();
    assert.deepEqual(state.read.splice(0), ['v']);
    await clock.advance(75_000);
    await inventory.audit();
    const some = state.read.splice(0).length;
    assert.ok(some > 2 && some < 18, `${some} of 20 at once`);
    await clock.advance(100_000);
    await inventory.audit();
    assert.ok(state.read.length >= 18);
    state.list = [];
    await inventory.audit();
    assert.deepEqual(index.all, []);
  });

  it('reads old details again although versions show some changes, and each kind by its own age', async () => {
    const { clock, state, inventory, index } = setUp([100_000, 1_000_000]);
    state.list = [lb('a', { version: '1' })];
    await inventory.audit();
    assert.deepEqual(state.read.splice(0), ['a', 'a more']);
    await clock.advance(100_000);
    await inventory.audit();
    assert.deepEqual(state.read.splice(0), ['a']);
    assert.deepEqual(index.all.map(({ kind: of }) => of).sort(), ['lb', 'more', 'part']);
    state.list = [lb('a', { version: '2' })];
    await inventory.audit();
    assert.deepEqual(state.read.splice(0), ['a', 'a more']);
  });

  it('reads details of adoptable resources, and of no other foreign ones', async () => {
    const { state, inventory } = setUp(true);
    const { owner: _, ...foreign } = lb('a');
    state.list = [foreign, { ...foreign, id: 'b', adoptable: true }];
    await inventory.audit();
    assert.deepEqual(state.read.splice(0), ['b']);
    await inventory.read(query([]));
    assert.deepEqual(state.read.splice(0), ['b']);
  });

  it('prefers an answer to a list that began before it, or that may not show it yet', async () => {
    const { clock, state, inventory, index } = setUp();
    state.list = [lb('a'), lb('b')];
    await inventory.audit();
    inventory.note([lb('a', { body: 'new' }), lb('c')]);
    inventory.noteGone(lb('b'));
    await clock.advance(500);
    await inventory.audit();
    const current = () => index.all.map(({ id, body }) => `${id} ${body}`).sort();
    assert.deepEqual(current(), ['a new', 'c old']);
    await clock.advance(600);
    await inventory.audit();
    assert.deepEqual(current(), ['a old', 'b old'], 'the list is right in the end');
  });

  it('prefers a read without lag to any earlier answer', async () => {
    const { state, inventory, index } = setUp();
    inventory.note([lb('a', { body: 'new' }), lb('b')]);
    state.list = [lb('a', { body: 'newer' })];
    await inventory.read(query(['a', 'b']));
    assert.deepEqual(
      index.all.map(({ body }) => body),
      ['new', 'old'],
    );
    state.isFresh = true;
    await inventory.read(query(['a', 'b']));
    assert.deepEqual(
      index.all.map(({ body }) => body),
      ['newer'],
    );
  });

  it('hides the parts of a deleted container, also once it forgets the container', async () => {
    const { clock, state, inventory, index } = setUp();
    inventory.note([lb('a'), { kind: 'part', id: 'p', within: 'a', owner, key: 'p', status: 'ready', body: '' }]);
    inventory.noteGone(lb('a'));
    await clock.advance(2000);
    state.list = [];
    await inventory.read(query([]));
    assert.deepEqual(index.all, []);
  });

  it('an owner stays stale until a read that began later has succeeded', async () => {
    const { state, inventory } = setUp();
    const began = inventory.audit();
    inventory.invalidate(owner);
    await began;
    assert.equal(inventory.isStale(owner, new Set()), true);
    state.fails = true;
    await assert.rejects(inventory.audit());
    assert.equal(inventory.isStale(owner, new Set()), true);
    await inventory.read(query([]));
    assert.equal(inventory.isStale(owner, new Set()), false);
  });

  it('counts a resource as gone when a read by its id lacks it, and no other resource', async () => {
    const { state, inventory, index } = setUp();
    state.list = [lb('a'), lb('b')];
    await inventory.audit();
    state.list = [];
    await inventory.read(query(['a']));
    assert.deepEqual(
      index.all.map(({ id }) => id),
      ['b'],
    );
  });

  it('reads other owners again when a read lacks their resources', async () => {
    const { state, inventory } = setUp();
    const other = { cluster: 'c1', service: 'u2' };
    const third = { cluster: 'c1', service: 'u3' };
    const host: Found = { kind: 'lb', id: 'h', status: 'ready', body: 'foreign' };
    const all = [lb('a'), lb('b', { owner: other }), host];
    const doubts = () =>
      [owner, other, third].map((one) => inventory.isDoubtful(one, () => (one === third ? ['lb h'] : [])));
    state.list = all;
    await inventory.audit();
    state.list = [];
    await inventory.read(query(['a', 'b', 'h']));
    assert.deepEqual(doubts(), [false, true, true]);
    state.list = all;
    await inventory.read({ ...query(['b']), owner: other });
    assert.deepEqual(doubts(), [false, false, true]);
    await inventory.audit();
    assert.deepEqual(doubts(), [false, false, false]);
  });
});

describe('a removal', () => {
  it('removes the parts with their container at once, and a lagging list does not bring them back', async () => {
    const { clock, state, inventory, index } = setUp();
    const part: Found = { kind: 'part', id: 'p', within: 'a', status: 'ready', body: '' };
    state.list = [lb('a'), part];
    await inventory.audit();
    inventory.noteGone(lb('a'));
    assert.deepEqual(index.all, []);
    await clock.advance(500);
    await inventory.audit();
    assert.deepEqual(index.all, []);
  });

  it('keeps the state of our answer until the operation has ended', async () => {
    const { clock, state, inventory, index } = setUp();
    state.list = [lb('a')];
    await inventory.audit();
    inventory.note([lb('a', { body: 'new', status: 'pending' })]);
    inventory.hold('lb a', 'op');
    await clock.advance(5000);
    await inventory.audit();
    const shown = () => index.all.map(({ status, operation, body }) => [status, operation, body]);
    assert.deepEqual(shown(), [['pending', 'op', 'new']]);
    inventory.release('lb a', true);
    assert.deepEqual(shown(), [['ready', undefined, 'new']]);
    await clock.advance(5000);
    await inventory.audit();
    assert.deepEqual(shown(), [['ready', undefined, 'old']]);
  });

  it('takes the state from the next read after an operation has failed', async () => {
    const { state, inventory, index } = setUp();
    state.list = [lb('a', { status: 'failed' })];
    inventory.note([lb('a', { body: 'new', status: 'pending' })]);
    inventory.hold('lb a', 'op');
    inventory.release('lb a', false);
    await inventory.audit();
    assert.deepEqual(
      index.all.map(({ status, body }) => [status, body]),
      [['failed', 'old']],
    );
  });
});

describe('a journal', () => {
  const save = async () => undefined;

  it('counts the settle time from the start of the search', () => {
    let nowMs = 0;
    const journal = createJournals(save, () => nowMs).of(owner);
    journal.intend(['lb/k']);
    assert.equal(journal.unseenMs('lb/k', 4000, 0), 0, 'sent by none yet');
    nowMs = 1000;
    journal.unknown('lb/k');
    nowMs = 9000;
    assert.ok(journal.unseenMs('lb/k', 4000, 4999) > 0);
    assert.equal(journal.unseenMs('lb/k', 4000, 5000), 0);
  });

  it('distrusts searches after a restart where an earlier process may have sent something', () => {
    const stored = { claimed: true, ids: {}, tried: ['lb/k'] };
    const journal = createJournals(save, () => 100).replace(owner, stored);
    assert.ok(journal.unseenMs('lb/k', 4000, 100) > 0);
    assert.ok(journal.inheritedMs(4000, 100) > 0);
    assert.equal(journal.isFirstClaim, false);
  });
});

describe('operations', () => {
  it('polls operations together, ends each with its own error, and survives a failed poll', async () => {
    const clock = fakeClock();
    const polls: (readonly string[])[] = [];
    const operations = createOperations({
      clock,
      async poll(ids) {
        polls.push(ids);
        const { CloudError } = await import('../../common/cloud-error.ts');
        const about = { cloud: 'fake', operation: 'poll', message: 'no' };
        if (polls.length === 1) throw new CloudError({ ...about, kind: 'Unavailable' });
        return new Map(ids.map((id) => [id, id === 'bad' ? new CloudError({ ...about, kind: 'Invalid' }) : 'done']));
      },
    });
    const all = Promise.allSettled([operations.end('good'), operations.end('bad'), operations.end('good')]);
    await clock.advance(2000);
    assert.deepEqual(
      (await all).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(polls, [
      ['good', 'bad'],
      ['good', 'bad'],
    ]);
    assert.equal(clock.pending, 0);
  });
});

describe('operations of one kind', () => {
  it('polls an operation first after the time that the last one of its kind took', async () => {
    const clock = fakeClock();
    let endsAtMs = 0;
    const pollsMs: number[] = [];
    const operations = createOperations({
      clock,
      async poll(ids) {
        pollsMs.push(clock.monotonic());
        return new Map(ids.map((id) => [id, clock.monotonic() >= endsAtMs ? 'done' : 'running']));
      },
    });
    const run = async (id: string) => {
      const startedMs = clock.monotonic();
      endsAtMs = startedMs + 40_000;
      pollsMs.length = 0;
      const ended = operations.end(id, { estimateKey: 'create', ms: 20_000 });
      assert.ok(operations.isWaitedFor(id));
      await clock.advance(60_000);
      await ended;
      assert.ok(!operations.isWaitedFor(id));
      return pollsMs.map((atMs) => atMs - startedMs);
    };
    const first = await run('a');
    assert.equal(first[0], 20_000);
    assert.ok(first.length <= 8 && first.at(-1)! < 46_000, first.join());
    assert.equal((await run('b')).length, 1);
  });
});

describe('locks', () => {
  it('grants a lock to one holder after the other', async () => {
    const locks = createLocks();
    const order: string[] = [];
    const first = await locks.acquire('a');
    const second = locks.acquire('a').then((release) => {
      order.push('second');
      release();
    });
    (await locks.acquire('b'))();
    order.push('first lets go');
    first();
    await second;
    (await locks.acquire('a'))();
    assert.deepEqual(order, ['first lets go', 'second']);
  });
});
