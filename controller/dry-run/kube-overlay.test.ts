import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { silentLog } from '../../common/process/log.ts';
import { seededRandom } from '../../common/process/random.ts';
import { type FakeClock, fakeClock } from '../../common/testing/fake-clock.ts';
import { createKubeApiCore } from '../../test/kit/kube-api/kube-api-core.ts';
import { type Cluster, createCluster } from '../../test/nodes/harness/cluster.ts';
import { type InProcessKube, inProcessKube } from '../../test/nodes/harness/kube-in-process.ts';
import { type KubeCall, KubeError } from '../kube/api.ts';
import { createListWatch, type ListWatch } from '../kube/list-watch.ts';
import { createKubeOverlay, type KubeOverlay } from './kube-overlay.ts';

interface NodeObject {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

const path = '/api/v1/nodes/a';
const labelled = (labels: Readonly<Record<string, string>>, resourceVersion?: string): KubeCall => ({
  verb: 'patch',
  patch: 'merge',
  path,
  body: { metadata: { labels, ...(resourceVersion !== undefined && { resourceVersion }) } },
});
const conflict = (error: unknown) => error instanceof KubeError && error.status === 409;
const absent = (error: unknown) => error instanceof KubeError && error.status === 404;

describe('the overlay of the API', () => {
  let clock: FakeClock;
  let cluster: Cluster;
  let kube: InProcessKube;
  let written: KubeCall[];
  let api: KubeOverlay;
  const read = () => api.call<NodeObject>({ verb: 'get', path });

  beforeEach(() => {
    clock = fakeClock();
    const core = createKubeApiCore({ clock, random: seededRandom(1), historyLimit: 1000 });
    cluster = createCluster(core, clock);
    kube = inProcessKube(core, clock);
    written = [];
    api = createKubeOverlay(kube, (call) => written.push(call));
    cluster.register('a');
    cluster.register('b');
  });

  function cache(): ListWatch<NodeObject> {
    const trim = (raw: unknown) => raw as NodeObject;
    return createListWatch({
      api,
      path: '/api/v1/nodes',
      trim,
      clock,
      random: seededRandom(2),
      log: silentLog,
    });
  }

  it('shows a write to every read of this process, and sends it nowhere', async () => {
    const nodes = cache();
    nodes.start();
    await clock.advance(0);
    await api.call(labelled({ zone: 'x' }));
    await clock.advance(0);
    assert.equal((await read()).metadata.labels?.['zone'], 'x');
    const { items } = await api.call<{ items: readonly NodeObject[] }>({ verb: 'list', path: '/api/v1/nodes' });
    assert.deepEqual(
      items.map(({ metadata }) => metadata.labels?.['zone']),
      ['x', undefined],
    );
    assert.equal(nodes.get('a')?.metadata.labels?.['zone'], 'x');
    assert.deepEqual(kube.writes(), []);
    assert.equal(written.length, 1);
    await nodes.stop();
  });

  it('keeps a write on an object that others change later, and sees their changes', async () => {
    const nodes = cache();
    nodes.start();
    await clock.advance(0);
    await api.call(labelled({ zone: 'x' }));
    cluster.mergePatch('a', { metadata: { labels: { of: 'others' } } });
    await clock.advance(0);
    assert.deepEqual(nodes.get('a')?.metadata.labels, { ...(await read()).metadata.labels });
    assert.equal(nodes.get('a')?.metadata.labels?.['of'], 'others');
    assert.equal(nodes.get('a')?.metadata.labels?.['zone'], 'x');
    await nodes.stop();
  });

  it('counts no write that changes nothing', async () => {
    await api.call(labelled({ zone: 'x' }));
    await api.call(labelled({ zone: 'x' }));
    assert.equal(written.length, 1);
  });

  it('refuses a write that is based on an older version, of the server or of its own', async () => {
    const { resourceVersion } = (await read()).metadata;
    const after = await api.call<NodeObject>(labelled({ zone: 'x' }, resourceVersion));
    await assert.rejects(api.call(labelled({ zone: 'y' }, resourceVersion)), conflict);
    await api.call(labelled({ zone: 'y' }, after.metadata.resourceVersion));
    const own = (await read()).metadata.resourceVersion;
    cluster.mergePatch('a', { metadata: { labels: { of: 'others' } } });
    await assert.rejects(api.call(labelled({ zone: 'z' }, own)), conflict);
  });

  it('shows a deleted object no more, until one of its name is created again', async () => {
    const nodes = cache();
    nodes.start();
    await clock.advance(0);
    const preconditions = { uid: (await read()).metadata.uid };
    await api.call({ verb: 'delete', path, body: { preconditions } });
    await clock.advance(0);
    await assert.rejects(read(), absent);
    assert.equal(nodes.get('a'), undefined);
    cluster.mergePatch('a', { metadata: { labels: { of: 'others' } } });
    await clock.advance(0);
    assert.equal(nodes.get('a'), undefined);
    cluster.remove('a');
    cluster.register('a');
    await clock.advance(0);
    assert.ok(nodes.get('a'));
    assert.ok(await read());
    await nodes.stop();
  });

  it('loses no event of the server when a watch goes on after an edit of an old object', async () => {
    const nodes = cache();
    nodes.start();
    await clock.advance(0);
    cluster.register('c');
    await clock.advance(0);
    await api.call(labelled({ zone: 'x' }));
    await clock.advance(0);
    kube.forgetCalls();
    const before = nodes.get('c')?.metadata.resourceVersion;
    // The watch is silent for so long that it is opened again.
    await clock.advance(250_000);
    cluster.register('d');
    await clock.advance(0);
    assert.ok(nodes.get('d'));
    assert.equal(nodes.get('c')?.metadata.resourceVersion, before);
    await nodes.stop();
  });

  it('shows what a caller assumes, without a record', async () => {
    await api.assume(labelled({ zone: 'x' }));
    assert.equal((await read()).metadata.labels?.['zone'], 'x');
    assert.deepEqual(written, []);
  });
});
