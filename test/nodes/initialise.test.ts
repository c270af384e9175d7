import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations, conditions, labels, taints } from '../../common/well-known.ts';
import type { KubeCall } from '../../controller/kube/api.ts';
import { providerID, type Replica, type World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

const statusPatch = (name: string) => `patch /api/v1/nodes/${name}/status`;
const mainPatch = (name: string) => `patch /api/v1/nodes/${name}`;

describe('the initialisation of a Node', () => {
  const begin = worldStage();
  let world: World;
  let replica: Replica;

  beforeEach(() => {
    ({ world, replica } = begin());
  });

  const tainted = (name: string) => world.cluster.hasTaint(name, taints.uninitialized);
  const reason = (name: string) => world.cluster.condition(name, conditions.cloudInitialized)?.reason;

  /** Something happens once, right before the first call that matches. */
  function before(matches: (call: KubeCall) => boolean, happens: () => void): void {
    let done = false;
    replica.kube.intercept = (call) => {
      if (done || !matches(call)) return;
      done = true;
      happens();
    };
  }
  const isStatus = (call: KubeCall) => call.verb === 'patch' && call.path.endsWith('/status');
  const isMain = (call: KubeCall) => call.verb === 'patch' && !call.path.endsWith('/status');

  it('takes exactly two patches: the status first, then the taint with everything else', async () => {
    const vm = world.join('a', { external: true, zone: 'sim-1b', type: 'sim.large' });
    world.cluster.mergePatch('a', {
      spec: {
        taints: [
          ...(world.cluster.mustNode('a').spec.taints ?? []),
          { key: 'example.com/own', effect: 'NoExecute', value: 'x' },
        ],
      },
    });
    await replica.start();
    await world.clock.advance(1000);

    assert.deepEqual(replica.kube.writes(), [statusPatch('a'), mainPatch('a')]);
    const [first, second] = replica.kube.calls.filter(({ verb }) => verb === 'patch');
    assert.deepEqual(Object.keys(first?.body as object), ['metadata', 'status']);
    const main = second?.body as { spec: object; metadata: { resourceVersion: string } };
    assert.deepEqual(Object.keys(main.spec).sort(), ['providerID', 'taints']);

    const node = world.cluster.mustNode('a');
    assert.equal(node.spec.providerID, providerID(vm));
    assert.deepEqual(
      node.spec.taints?.map(({ key }) => key),
      ['node.kubernetes.io/not-ready', 'example.com/own'],
    );
    assert.equal(node.metadata.labels?.[labels.zone], 'sim-1b');
    assert.equal(node.metadata.labels?.[labels.zoneBeta], 'sim-1b');
    assert.equal(node.metadata.labels?.[labels.region], 'sim-1');
    assert.equal(node.metadata.labels?.[labels.regionBeta], 'sim-1');
    assert.equal(node.metadata.labels?.[labels.instanceType], 'sim.large');
    assert.equal(node.metadata.labels?.[labels.instanceTypeBeta], 'sim.large');
    assert.equal(node.metadata.annotations?.[annotations.instance], `${world.scope} ${vm.incarnation}`);
    const addresses = node.status.addresses?.map(({ type, address }) => `${type} ${address}`) ?? [];
    assert.ok(addresses.includes(`InternalIP ${vm.interfaces[0]?.internal[0]}`));
    assert.ok(addresses.includes(`ExternalIP ${vm.interfaces[0]?.external[0]}`));
    assert.equal(world.cluster.condition('a', conditions.cloudInitialized)?.status, 'True');
    assert.equal(world.cluster.condition('a', 'Ready')?.status, 'True');
    assert.deepEqual(
      replica.events.map((event) => event.reason),
      ['Synced'],
    );
    assert.equal(await replica.gauge('node_controller_cloud_provider_taint_removal_delay_seconds_count'), 1);
    assert.equal(await replica.gauge('node_controller_initial_node_sync_delay_seconds_count'), 1);
  });

  it('costs no write and no cloud call afterwards, whatever the heartbeats', async () => {
    world.join('a');
    await replica.start();
    await world.clock.advance(1000);
    replica.kube.forgetCalls();
    const calls = world.cloudCalls();
    for (let beat = 0; beat < 5; beat += 1) {
      world.cluster.heartbeat('a');
      await world.clock.advance(10_000);
    }
    assert.deepEqual(replica.kube.calls, []);
    assert.equal(world.cloudCalls(), calls);
  });

  it('reads a Node again that changed before the first patch, and loses no foreign taint', async () => {
    world.join('a');
    before(isStatus, () =>
      world.cluster.mergePatch('a', {
        spec: {
          taints: [
            { key: taints.uninitialized, effect: 'NoSchedule', value: 'true' },
            { key: 'example.com/new', effect: 'NoSchedule' },
          ],
        },
      }),
    );
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(replica.kube.writes(), [statusPatch('a'), statusPatch('a'), mainPatch('a')]);
    assert.equal(tainted('a'), false);
    assert.equal(world.cluster.hasTaint('a', 'example.com/new'), true);
  });

  it('writes the status once though the kubelet sends a heartbeat between both patches', async () => {
    world.join('a');
    before(isMain, () => world.cluster.heartbeat('a'));
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(replica.kube.writes(), [statusPatch('a'), mainPatch('a'), mainPatch('a')]);
    assert.equal(tainted('a'), false);
  });

  it('starts over for a Node that was re-created between both patches', async () => {
    const old = world.join('a');
    before(isMain, () => {
      world.cluster.remove('a');
      world.cloud.model.forget(old.id);
      const vm = world.cloud.model.create({ name: 'a' });
      world.cluster.register('a', { systemUuid: vm.smbiosUuid ?? '' });
    });
    await replica.start();
    await world.clock.advance(5000);
    const vm = world.cloud.model.named('demo', 'sim-1', 'a')[0]!;
    assert.equal(world.cluster.mustNode('a').spec.providerID, providerID(vm));
    assert.equal(
      world.cluster.mustNode('a').metadata.annotations?.[annotations.instance],
      `${world.scope} ${vm.incarnation}`,
    );
    assert.equal(tainted('a'), false);
  });

  it('stops when a person pauses the Node between both patches', async () => {
    world.join('a');
    before(isStatus, () =>
      world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } }),
    );
    await replica.start();
    await world.clock.advance(20_000);
    assert.equal(tainted('a'), true);
    assert.equal(world.cluster.mustNode('a').spec.providerID, undefined);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(1000);
    assert.equal(tainted('a'), false);
  });

  it('stops when the kubelet names another instance between both patches', async () => {
    world.join('a');
    const other = world.cloud.model.create({ name: 'other' });
    before(isStatus, () => world.cluster.mergePatch('a', { spec: { providerID: providerID(other) } }));
    await replica.start();
    await world.clock.advance(1000);
    const written = replica.kube.calls.filter(isMain).length;
    assert.equal(written, 0);
    assert.equal(tainted('a'), true);
  });

  it('keeps the taint while the API server forbids the write, says why, and goes on afterwards', async () => {
    world.join('a');
    const allow = world.core.faults.add({
      match: { verb: 'patch', resource: 'nodes', name: 'a', userAgent: 'mooring' },
      effect: { kind: 'answer', status: 403 },
    });
    await replica.start();
    await world.clock.advance(30_000);
    assert.equal(tainted('a'), true);
    assert.equal(reason('a'), 'WriteRefused');
    assert.equal(await replica.gauge('mooring_nodes_uninitialized', '{reason="WriteRefused"}'), 1);
    assert.equal(replica.events.filter((event) => event.reason === 'CloudInitializedChanged').length, 1);
    allow();
    await world.clock.advance(60_000);
    assert.equal(tainted('a'), false);
    assert.equal(reason('a'), 'Initialized');
    assert.equal(await replica.gauge('mooring_nodes_uninitialized', '{reason="WriteRefused"}'), 0);
  });

  it('says IdentityConflict when the API server rejects the write as contradictory (422)', async () => {
    world.join('a');
    world.core.faults.add({
      match: { verb: 'patch', resource: 'nodes', name: 'a', userAgent: 'mooring' },
      effect: {
        kind: 'answer',
        status: 422,
        body:
          '{"kind":"Status","status":"Failure","reason":"Invalid","message":"spec.providerID: Forbidden: ' +
          'immutable","code":422}',
      },
    });
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(tainted('a'), true);
    assert.equal(reason('a'), 'IdentityConflict');
    replica.kube.forgetCalls();
    await world.clock.advance(20_000);
    assert.deepEqual(replica.kube.writes(), [], 'its own condition does not set it off again');
  });

  it('leaves out labels of the cloud that Kubernetes would refuse, and names them in the condition', async () => {
    world.join('a', {
      tags: { 'label:example.com/ok': 'fine', 'label:example.com/bad': 'not fine' },
      type: 'm1 large (8 GB)',
    });
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(tainted('a'), false);
    const written = world.cluster.mustNode('a').metadata.labels;
    assert.equal(written?.['example.com/ok'], 'fine');
    assert.equal(written?.['example.com/bad'], undefined);
    assert.equal(written?.[labels.instanceType], undefined);
    assert.match(world.cluster.condition('a', conditions.cloudInitialized)?.message ?? '', /not fine/);
    assert.match(world.cluster.condition('a', conditions.cloudInitialized)?.message ?? '', /m1 large \(8 GB\)/);
  });

  it('accepts the status patch of a lost answer at the next try', async () => {
    world.join('a');
    world.core.faults.add({
      match: { verb: 'patch', resource: 'nodes/status', userAgent: 'mooring' },
      effect: { kind: 'lose-answer' },
      times: 1,
    });
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(tainted('a'), false);
    assert.equal(replica.kube.writes().filter((write) => write === statusPatch('a')).length, 1);
  });

  for (const cache of ['shows the write before the next try', 'lags behind the write'] as const) {
    it(`counts a Node whose main patch was written without an answer, where the cache ${cache}`, async () => {
      world.join('a');
      world.core.faults.add({
        match: { verb: 'patch', resource: 'nodes', userAgent: 'mooring' },
        effect: { kind: 'lose-answer' },
        times: 1,
      });
      await replica.start();
      if (cache === 'lags behind the write') replica.kube.hold();
      await world.clock.advance(5000);
      replica.kube.release();
      await world.clock.advance(5000);
      assert.equal(tainted('a'), false);
      assert.equal(replica.kube.writes().filter((write) => write === mainPatch('a')).length, 1);
      assert.deepEqual(
        replica.events.map(({ reason }) => reason),
        ['Synced'],
      );
      assert.equal(await replica.gauge('node_controller_cloud_provider_taint_removal_delay_seconds_count'), 1);
    });
  }

  it('decides nothing twice while its cache lags behind its own writes', async () => {
    world.join('a');
    await replica.start();
    replica.kube.hold();
    await world.clock.advance(500);
    assert.equal(tainted('a'), false);
    const calls = world.cloudCalls();
    replica.task.status('a');
    replica.report('a', { bootId: 'b' });
    await world.clock.advance(3000);
    assert.deepEqual(replica.kube.writes(), [statusPatch('a'), mainPatch('a')]);
    assert.equal(world.cloudCalls(), calls);
    replica.kube.release();
    await world.clock.advance(1000);
    assert.deepEqual(replica.kube.writes(), [statusPatch('a'), mainPatch('a')]);
  });

  it('holds no instance for a Node that went during its lookup', async () => {
    world.join('a');
    world.cloud.faults.add({ operation: 'instances.*', effect: { kind: 'latency', ms: 2000 } });
    await replica.start();
    world.cluster.register('ghost');
    await world.clock.advance(1000);
    world.cluster.remove('a');
    world.cluster.remove('ghost');
    await world.clock.advance(10_000);
    world.cloud.faults.clear();
    // The same VM registers under another name: its instance has no holder any more.
    const vm = world.cloud.model.named('demo', 'sim-1', 'a')[0]!;
    world.cluster.register('b', { providerID: providerID(vm), systemUuid: vm.smbiosUuid ?? '' });
    await world.clock.advance(5000);
    assert.equal(tainted('b'), false);
    assert.equal(await replica.gauge('mooring_nodes_uninitialized', '{reason="InstanceNotFound"}'), 0);
  });
});
