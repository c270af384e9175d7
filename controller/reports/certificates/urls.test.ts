import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { KubeError } from '../../kube/api.ts';
import { type FakeObjects, fakeObjects } from '../testing/fake-objects.ts';
import { createReplicaDirectory, type ReplicaDirectory } from './urls.ts';

const leasePath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/mooring-controllers';

describe('the directory of replicas', () => {
  let clock: FakeClock;
  let kube: FakeObjects;

  beforeEach(() => {
    clock = fakeClock();
    kube = fakeObjects();
  });

  function replica(identity: string, url = `https://${identity}.example:10270`): ReplicaDirectory {
    return createReplicaDirectory({
      api: kube.api,
      fencedApi: kube.api,
      clock,
      identity,
      url,
      namespace: 'kube-system',
    });
  }

  const annotations = () => kube.objects.get(leasePath)?.metadata.annotations ?? {};

  /** Lets minutes pass in which these announce themselves. */
  async function minutes(count: number, ...living: ReplicaDirectory[]): Promise<void> {
    for (let minute = 0; minute < count; minute += 1) {
      await clock.advance(60_000);
      for (const one of living) await one.announce();
    }
  }

  it('gives the leader the announced URLs in a fixed order, including its own', async () => {
    const [b, a] = [replica('b'), replica('a')];
    await b.announce();
    await a.announce();
    const both = ['https://a.example:10270', 'https://b.example:10270'];
    assert.deepEqual(await a.collect(), both);
    assert.deepEqual(await b.collect(), both);
  });

  it('knows its own URL before anything was announced', async () => {
    assert.deepEqual(await replica('a').collect(), ['https://a.example:10270']);
  });

  it('announces once a minute, however often it is asked', async () => {
    const a = replica('a');
    for (let n = 0; n < 10; n += 1) await a.announce();
    assert.equal(kube.calls.length, 2);
    await minutes(1, a);
    assert.equal(kube.calls.length, 3);
  });

  it('creates the Lease once when two come first', async () => {
    await Promise.all([replica('a').announce(), replica('b').announce()]);
    assert.equal(Object.keys(annotations()).length, 2);
  });

  it('drops a replica three minutes after its last announcement, and removes that', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await a.announce();
    await b.announce();
    assert.equal((await a.collect()).length, 2);
    await minutes(2, a);
    assert.equal((await a.collect()).length, 2);
    await minutes(1, a);
    assert.deepEqual(await a.collect(), ['https://a.example:10270']);
    assert.deepEqual(Object.keys(annotations()), ['replica.mooring.dev/a']);
  });

  it('counts a replica whose clock is hours behind as alive once its announcement changes', async () => {
    const slowClock = { ...clock, now: () => clock.now() - 3 * 3_600_000 };
    const slow = createReplicaDirectory({
      namespace: 'kube-system',
      api: kube.api,
      fencedApi: kube.api,
      clock: slowClock,
      identity: 'b',
      url: 'https://b.example:10270',
    });
    const a = replica('a');
    await slow.announce();
    assert.equal((await a.collect()).length, 1);
    for (let minute = 0; minute < 10; minute += 1) {
      await minutes(1, a, slow);
      assert.equal((await a.collect()).length, 2);
    }
  });

  it('publishes no old announcement that it observes for the first time, and removes it later', async () => {
    await replica('old').announce();
    await clock.advance(11 * 60_000);
    const a = replica('a');
    assert.deepEqual(await a.collect(), ['https://a.example:10270']);
    assert.equal(Object.keys(annotations()).length, 1);
    await clock.advance(180_000);
    await a.collect();
    assert.equal(Object.keys(annotations()).length, 0);
  });

  it('publishes one URL once when a replica was restarted', async () => {
    await replica('a-1', 'https://a.example:10270').announce();
    const second = replica('a-2', 'https://a.example:10270');
    await second.announce();
    assert.deepEqual(await second.collect(), ['https://a.example:10270']);
  });

  it('ignores announcements that are no https URL', async () => {
    const a = replica('a');
    await a.announce();
    const now = new Date(clock.now()).toISOString();
    const bad = [`http://x:1 ${now}`, `https://x:1\nhttps://y ${now}`, `nonsense`, '', `https://x:1 yesterday`];
    const body = {
      metadata: { annotations: Object.fromEntries(bad.map((value, n) => [`replica.mooring.dev/${n}`, value])) },
    };
    await kube.api.call({ verb: 'patch', patch: 'merge', path: leasePath, body });
    assert.deepEqual(await a.collect(), ['https://a.example:10270']);
  });

  it('withdraws its announcement', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await a.announce();
    await b.announce();
    await b.withdraw();
    assert.deepEqual(await a.collect(), ['https://a.example:10270']);
    await replica('never').withdraw();
  });

  it('keeps an announcement that is renewed while it is being removed', async () => {
    const [a, b] = [replica('a'), replica('b')];
    await a.announce();
    await b.announce();
    await a.collect();
    await clock.advance(180_000);
    let renewed = false;
    kube.intercept = async ({ body }) => {
      const removal = (body as { metadata?: { resourceVersion?: string } } | undefined)?.metadata?.resourceVersion;
      if (removal === undefined || renewed) return;
      renewed = true;
      await b.announce();
    };
    await a.collect();
    assert.ok(renewed && Object.keys(annotations()).includes('replica.mooring.dev/b'));
    assert.equal((await a.collect()).length, 2);
  });

  it('makes a valid annotation of any identity', async () => {
    await replica(`node_1/ä${'x'.repeat(100)}`, 'https://x.example:1').announce();
    assert.match(Object.keys(annotations())[0] ?? '', /^replica\.mooring\.dev\/[0-9a-f]{40}$/);
  });

  it('fails with the error of the API server and announces again next time', async () => {
    const a = replica('a');
    kube.intercept = () => {
      throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no' });
    };
    await assert.rejects(a.announce(), { status: 403 });
    kube.intercept = () => {};
    await a.announce();
    assert.equal(Object.keys(annotations()).length, 1);
  });
});
