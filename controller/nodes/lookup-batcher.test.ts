import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { type Cloud, type InstanceRef, type Lookup, type LookupOptions, refKey } from '../clouds/cloud.ts';
import { exampleInstance } from '../model/testing/example-instance.ts';
import { createLookupBatcher, type LookupBatcher } from './lookup-batcher.ts';

const ref = (id: string | number): InstanceRef => ({ by: 'providerID', providerID: `c://${id}` });
const absent: Lookup = { state: 'absent' };

describe('lookups', () => {
  let clock: FakeClock;
  let passes: {
    readonly at: number;
    readonly refs: readonly InstanceRef[];
    readonly options: LookupOptions | undefined;
  }[];
  let latencyMs: number;
  let answer: (refs: readonly InstanceRef[]) => ReadonlyMap<string, Lookup>;
  let lookups: LookupBatcher;
  let cloud: Cloud;
  let credential: number;

  beforeEach(() => {
    clock = fakeClock();
    passes = [];
    credential = 0;
    latencyMs = 0;
    answer = (refs) => new Map(refs.map((each) => [refKey(each), absent]));
    cloud = {
      name: 'c',
      scope: 's',
      account: 'demo',
      accepts: () => true,
      get credential() {
        return credential;
      },
      instances: {
        batchSize: 10,
        async lookup(refs, options) {
          passes.push({ at: clock.monotonic(), refs, options });
          if (latencyMs > 0) await new Promise<void>((resolve) => clock.setTimer(latencyMs, resolve));
          return answer(refs);
        },
      },
      check: async () => [],
      close: () => {},
    };
    lookups = createLookupBatcher({ cloud, clock });
  });

  /** Asks, and remembers the answer once it is there. */
  function ask(id: string | number): { lookup: Lookup | undefined } {
    const asked: { lookup: Lookup | undefined } = { lookup: undefined };
    void lookups.lookup(ref(id)).then((lookup) => {
      asked.lookup = lookup;
    });
    return asked;
  }

  describe('of a credential that has shown something', () => {
    const gone: Lookup = { state: 'gone', terminalState: 'terminated' };
    const found: Lookup = { state: 'found', instance: exampleInstance(), power: 'running', request: 'id' };
    const asks = (one: InstanceRef, lookup: Lookup) => {
      answer = (refs) => new Map(refs.map((each) => [refKey(each), lookup]));
      return lookups.lookupAll([one]);
    };

    it('counts an instance as seen after one was found or terminated under its id', async () => {
      assert.equal(lookups.hasSeenInstance, false);
      await asks(ref(1), absent);
      await asks({ by: 'name', name: 'n' }, found);
      assert.equal(lookups.hasSeenInstance, false, 'a name is the same in every project');
      await asks(ref(1), gone);
      assert.equal(lookups.hasSeenInstance, true);
      await asks(ref(1), absent);
      assert.equal(lookups.hasSeenInstance, true);
    });

    it('counts no instance as seen after a new credential was loaded, until that one finds one', async () => {
      await asks(ref(1), found);
      credential = 1;
      assert.equal(lookups.hasSeenInstance, false);
      await asks(ref(1), found);
      assert.equal(lookups.hasSeenInstance, true);
    });

    it('ignores an answer to the previous credential', async () => {
      latencyMs = 100;
      const asked = asks(ref(1), found);
      credential = 1;
      await advanceDuring(clock, asked);
      assert.equal(lookups.hasSeenInstance, false);
    });
  });

  it('keeps of the tags those that become labels, and none without a rule', async () => {
    const tags = { 'k8s-label/team': 'data', cost: '7' };
    const instance = { cloud: 'c', id: '1', providerID: 'c://1', addresses: [], tags };
    answer = (refs) =>
      new Map(refs.map((each) => [refKey(each), { state: 'found', power: 'running', request: 'id', instance }]));
    const tagLabels = [{ tagPrefix: 'k8s-label/', labelPrefix: 'example.com/' }];
    const tagsOf = async (rules: typeof tagLabels) => {
      const [found] = (await createLookupBatcher({ cloud, clock, tagLabels: rules }).lookupAll([ref(1)])).values();
      return found?.state === 'found' && found.instance.tags;
    };
    assert.deepEqual(await tagsOf(tagLabels), { 'k8s-label/team': 'data' });
    assert.equal(await tagsOf([]), undefined);
  });

  it('answers a single lookup after a short wait', async () => {
    const one = ask(1);
    await clock.advance(19);
    assert.equal(passes.length, 0);
    await clock.advance(1);
    assert.deepEqual(one.lookup, absent);
  });

  it('collects consecutive lookups into one pass, at most for the window', async () => {
    for (let index = 0; index < 9; index += 1) {
      ask(index);
      await clock.advance(15);
    }
    assert.deepEqual(
      passes.map(({ at }) => at),
      [100],
    );
    assert.equal(passes[0]?.refs.length, 7);
  });

  it('requests equal refs once', async () => {
    const all = [ask(1), ask(1), ask(1)];
    await clock.advance(100);
    assert.deepEqual(
      passes.map(({ refs }) => refs.length),
      [1],
    );
    for (const { lookup } of all) assert.deepEqual(lookup, absent);
  });

  it('starts at once when a pass is full, and never carries more than a batch', async () => {
    for (let index = 0; index < 25; index += 1) ask(index);
    await clock.advance(0);
    assert.deepEqual(
      passes.map(({ refs }) => refs.length),
      [10, 10],
    );
    await clock.advance(1000);
    assert.deepEqual(
      passes.map(({ refs }) => refs.length),
      [10, 10, 5],
    );
  });

  it('runs one pass at a time; later lookups share the next one', async () => {
    latencyMs = 5000;
    ask(1);
    await clock.advance(100);
    for (let index = 2; index < 9; index += 1) {
      ask(index);
      await clock.advance(300);
    }
    assert.equal(passes.length, 1);
    await clock.advance(20_000);
    assert.deepEqual(
      passes.map(({ refs }) => refs.length),
      [1, 7],
    );
  });

  it('repeats a lookup that is requested again during its pass, whose answer may be too old', async () => {
    latencyMs = 1000;
    ask(1);
    await clock.advance(100);
    const again = ask(1);
    await clock.advance(950);
    assert.equal(again.lookup, undefined);
    await clock.advance(3000);
    assert.equal(passes.length, 2);
    assert.deepEqual(again.lookup, absent);
  });

  it('extends the window in a burst and shortens it afterwards', async () => {
    for (let index = 0; index < 200; index += 1) {
      ask(`burst-${index % 7}`);
      await clock.advance(10);
    }
    assert.ok(passes.length <= 5, `${passes.length} passes in two seconds`);
    await clock.advance(5000);
    passes = [];
    const asked = clock.monotonic();
    ask('later');
    await clock.advance(20);
    assert.deepEqual(
      passes.map(({ at }) => at - asked),
      [20],
    );
  });

  it('answers unknown with the kind of the error when the cloud throws, and recovers in the next pass', async () => {
    answer = () => {
      throw new CloudError({ kind: 'Throttled', cloud: 'c', operation: 'x', message: 'm', retryAfterMs: 7000 });
    };
    const one = ask(1);
    await clock.advance(100);
    assert.ok(
      one.lookup?.state === 'unknown' &&
        one.lookup.error.kind === 'Throttled' &&
        one.lookup.error.retryAfterMs === 7000,
    );
    answer = (refs) => new Map(refs.map((each) => [refKey(each), absent]));
    const two = ask(2);
    await clock.advance(1000);
    assert.deepEqual(two.lookup, absent);
  });

  it('answers unknown, never absent, for a ref that the cloud does not answer', async () => {
    answer = () => new Map();
    const one = ask(1);
    await clock.advance(100);
    assert.equal(one.lookup?.state, 'unknown');
    const all = await lookups.lookupAll([ref(1), ref(2)]);
    assert.deepEqual(
      [...all.values()].map(({ state }) => state),
      ['unknown', 'unknown'],
    );
  });

  it('asks a cloud that answers nothing only once, and answers unknown for the rest', async () => {
    const refs = Array.from({ length: 23 }, (_, index) => ref(index));
    const error = new CloudError({ kind: 'Timeout', cloud: 'c', operation: 'list', message: 'no answer' });
    answer = (asked) => new Map(asked.map((each) => [refKey(each), { state: 'unknown', error }]));
    const all = await lookups.lookupAll(refs);
    assert.deepEqual([passes.length, all.size], [1, 23]);
    for (const lookup of all.values()) assert.deepEqual(lookup, { state: 'unknown', error });
  });

  it('asks on when a cloud answers a part', async () => {
    const refs = Array.from({ length: 23 }, (_, index) => ref(index));
    const error = new CloudError({ kind: 'Unavailable', cloud: 'c', operation: 'list', message: 'no answer' });
    answer = (asked) => new Map(asked.map((each, at) => [refKey(each), at > 0 ? { state: 'unknown', error } : absent]));
    await lookups.lookupAll(refs);
    assert.equal(passes.length, 3);
  });

  it('runs a separate pass at once, in as few calls as possible, with the canaries in each', async () => {
    const refs = Array.from({ length: 23 }, (_, index) => ref(index));
    const all = await lookups.lookupAll(refs, { canaries: [ref('canary')] });
    assert.equal(all.size, 23);
    assert.deepEqual(
      passes.map(({ refs: each }) => each.length),
      [10, 10, 3],
    );
    for (const { options } of passes) assert.deepEqual(options?.canaries, [ref('canary')]);
  });
});
