import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations, labels } from '../../common/well-known.ts';
import { KubeError } from '../../controller/kube/api.ts';
import { type IpamStage, ipamStage } from './harness/ipam-stage.ts';

describe('pod ranges of instances', () => {
  const begin = ipamStage({ allocator: 'CloudAllocator' });

  /** A VM with these ranges, and its initialised Node. */
  function join({ world }: IpamStage, name: string, ranges: string | undefined, podCIDRs: readonly string[] = []) {
    const tags = ranges === undefined ? {} : { 'pod-ranges': ranges };
    const vm = world.cloud.model.create({ name, id: `i-${name}`, tags });
    world.cluster.register(name, { tainted: false, providerID: `simulated://sim-1/${vm.id}` });
    if (podCIDRs.length > 0) world.cluster.mergePatch(name, { spec: { podCIDR: podCIDRs[0], podCIDRs } });
    return vm;
  }

  it('gives Nodes the pod ranges of their instances, in one write each and one lookup for all', async () => {
    const stage = begin('10.4.0.0/14,fd20::/32');
    const { world, replica, all } = stage;
    for (const at of [1, 2, 3]) join(stage, `n${at}`, `fd20::${at}:0/112,192.168.0.0/24,10.4.${at}.0/24`);
    const before = world.cloudCalls();
    await replica.start();
    await world.clock.advance(2000);
    assert.deepEqual(
      all(),
      [1, 2, 3].map((at) => `n${at} 10.4.${at}.0/24 fd20::${at}:0/112`),
    );
    assert.equal(world.cloudCalls() - before, 1);
    assert.equal(replica.base.kube.writes().length, 3);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 0);
  });

  it('never replace those that a Node has, and are not read for it', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, all } = stage;
    join(stage, 'a', '10.4.1.0/24', ['10.4.9.0/24']);
    join(stage, 'b', undefined, ['192.168.7.0/24']);
    const before = world.cloudCalls();
    await replica.start();
    await world.clock.advance(3_600_000);
    assert.deepEqual(all(), ['a 10.4.9.0/24', 'b 192.168.7.0/24']);
    assert.deepEqual(replica.base.kube.writes(), []);
    assert.equal(world.cloudCalls(), before);
  });

  it('tells a missing pod range by one event, and gives it to the Node once its instance has it', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, ranges } = stage;
    const { id } = join(stage, 'a', '');
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(ranges('a'), []);
    assert.deepEqual(replica.reasons(), ['CIDRNotAvailable a']);
    assert.match(replica.base.events[0]!.message, /Node a gets no pod range: its instance has no pod range/);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 1);
    world.cloud.model.setTags(id, { 'pod-ranges': '10.4.1.0/24' });
    await world.clock.advance(61_000);
    assert.deepEqual(ranges('a'), ['10.4.1.0/24']);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 0);
  });

  it('writes no pod range before the Node is initialised: its providerID is its word until then', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, ranges } = stage;
    world.cloud.model.create({ name: 'a', id: 'i-a', tags: { 'pod-ranges': '10.4.1.0/24' } });
    world.cluster.register('a', { providerID: 'simulated://sim-1/i-a' });
    await replica.start();
    await world.clock.advance(120_000);
    assert.deepEqual(ranges('a'), []);
    world.cluster.mergePatch('a', { spec: { taints: [] } });
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.4.1.0/24']);
  });

  it('gives a Node no range that another Node has, until that Node is gone', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, ranges } = stage;
    join(stage, 'old', undefined, ['10.4.1.0/25']);
    join(stage, 'new', '10.4.1.0/24');
    await replica.start();
    await world.clock.advance(300_000);
    assert.deepEqual(ranges('new'), []);
    assert.deepEqual(
      replica.base.events.map(({ message }) => message),
      ['Node new gets no pod range: its instance has 10.4.1.0/24, but Node old has 10.4.1.0/25'],
    );
    world.cluster.remove('old');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('new'), ['10.4.1.0/24']);
  });

  it('writes no pod range to foreign and paused Nodes', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, all, ranges } = stage;
    world.cluster.register('foreign', { tainted: false, providerID: 'aws:///eu-1a/i-1' });
    join(stage, 'a', '10.4.1.0/24');
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    join(stage, 'b', '10.4.2.0/24');
    replica.base.paused = true;
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(all(), ['a ', 'b ', 'foreign ']);
    replica.base.paused = false;
    await world.clock.advance(10_000);
    assert.deepEqual(all(), ['a ', 'b 10.4.2.0/24', 'foreign ']);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.4.1.0/24']);
    assert.deepEqual(replica.reasons(), []);
  });

  it('reads pod ranges again while the cloud does not answer, and no event blames the instance', async () => {
    const stage = begin('10.4.0.0/14');
    const { world, replica, ranges } = stage;
    join(stage, 'a', '10.4.1.0/24');
    world.cloud.faults.add({ operation: '*', effect: { kind: 'error', status: 503 } });
    await replica.start();
    await world.clock.advance(300_000);
    assert.deepEqual(ranges('a'), []);
    assert.deepEqual(replica.reasons(), []);
    world.cloud.faults.clear();
    await world.clock.advance(130_000);
    assert.deepEqual(ranges('a'), ['10.4.1.0/24']);
  });

  it('writes a pod range after a lost answer, a refusal and a conflict', async () => {
    for (const status of [504, 403, 409]) {
      const stage = begin('10.4.0.0/14');
      const { world, replica, ranges } = stage;
      join(stage, 'a', '10.4.1.0/24');
      let faults = 1;
      replica.fault = async (call, send) => {
        if (call.verb !== 'patch' || faults === 0) return send();
        faults -= 1;
        if (status === 504) await send();
        throw new KubeError({ status, reason: status === 409 ? 'Conflict' : 'Injected', message: 'injected' });
      };
      await replica.start();
      await world.clock.advance(60_000);
      assert.deepEqual(ranges('a'), ['10.4.1.0/24']);
      assert.equal(faults, 0);
      await stage.close();
    }
  });
});

describe('pod ranges of instances where proof of the VM is required', () => {
  const begin = ipamStage({ allocator: 'CloudAllocator', world: { clouds: [{ requireAttestation: true }] } });

  it('gives a pod range to the Node with proof, not to one that only registered without the taint', async () => {
    const { world, replica, all } = begin('10.4.0.0/14');
    const vm = world.cloud.model.create({ name: 'a', tags: { 'pod-ranges': '10.4.1.0/24' } });
    const providerID = `simulated://sim-1/${vm.id}`;
    world.cluster.register('rogue', { tainted: false, providerID });
    world.cluster.register('a', { tainted: false, providerID });
    await replica.start();
    await world.clock.advance(5000);
    assert.deepEqual(all(), ['a ', 'rogue ']);
    assert.match(replica.base.events[0]!.message, /no signed document of its VM/);
    world.cluster.mergePatch('a', { metadata: { labels: { [labels.attested]: 'fresh' } } });
    await world.clock.advance(5000);
    assert.deepEqual(all(), ['a 10.4.1.0/24', 'rogue ']);
  });
});
