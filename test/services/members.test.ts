import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { labels, taints } from '../../common/well-known.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

/** The members of a Service as the cloud has them: `a b~`, where `~` drains. */
function membersOf(world: World, service: string): string {
  const pool = world.loadBalancerOf(service)?.pools[0];
  assert.ok(pool, `${service} has a pool`);
  const { model } = world.cloud;
  return pool.members
    .map(({ instanceId, weight }) => `${model.get(instanceId)?.name ?? instanceId}${weight === 0 ? '~' : ''}`)
    .sort()
    .join(' ');
}

const mark = { spec: { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] } };
const exclude = { metadata: { labels: { [labels.excludeFromLoadBalancers]: '' } } };

describe('members that come and go', () => {
  let world: World;
  let replica: Replica;

  beforeEach(async () => {
    world = createWorld();
    for (const name of ['a', 'b', 'c']) world.node(name);
    world.services.create('web');
    world.services.create('local', { spec: { externalTrafficPolicy: 'Local' } });
    replica = world.replica();
    await replica.start();
    await world.clock.advance(5000);
    assert.equal(membersOf(world, 'web'), 'a b c');
  });
  afterEach(() => world.close());

  async function restart(): Promise<void> {
    await replica.stop();
    replica = world.replica();
    await replica.start();
    await world.clock.advance(0);
  }

  /** Every state that the members of a Service pass through. */
  async function watch(service: string, ms: number): Promise<string[]> {
    const seen = [membersOf(world, service)];
    for (let passed = 0; passed < ms; passed += 100) {
      await world.clock.advance(100);
      const now = membersOf(world, service);
      if (now !== seen.at(-1)) seen.push(now);
    }
    return seen;
  }

  it('makes one call for each load balancer when a hundred Nodes join at once', async () => {
    const before = world.mutationCount();
    for (let count = 0; count < 100; count += 1) world.node(`n${count}`);
    await world.clock.advance(10_000);
    assert.equal(membersOf(world, 'web').split(' ').length, 103);
    assert.equal(world.mutationCount() - before, 2);
  });

  it('drains a marked member for its time and removes it, also when its Node ends meanwhile', async () => {
    const before = world.mutationCount();
    world.cluster.mergePatch('c', mark);
    assert.deepEqual(await watch('web', 25_000), ['a b c', 'a b c~']);
    world.cluster.remove('c');
    assert.deepEqual(await watch('web', 60_000), ['a b c~', 'a b']);
    assert.equal(membersOf(world, 'local'), 'a b');
    assert.equal(world.mutationCount() - before, 4);
    await restart();
    assert.deepEqual(await watch('web', 60_000), ['a b']);
    assert.equal(world.mutationCount() - before, 4);
  });

  it('adds a member again when the exclusion label goes, drained or not', async () => {
    world.cluster.mergePatch('c', exclude);
    assert.deepEqual(await watch('web', 5000), ['a b c', 'a b c~']);
    world.cluster.mergePatch('c', { metadata: { labels: { [labels.excludeFromLoadBalancers]: 'false' } } });
    assert.deepEqual(await watch('web', 5000), ['a b c~', 'a b c']);
  });

  it("drains and removes members that the Service's node labels leave out, and adds them with the label", async () => {
    const selector = 'service.beta.kubernetes.io/simulated-load-balancer-node-selector';
    const pool = (name: string, value: string | null) =>
      world.cluster.mergePatch(name, { metadata: { labels: { 'example.com/pool': value } } });
    for (const name of ['a', 'b']) pool(name, 'edge');
    await world.clock.advance(1000);
    world.services.annotate('web', { [selector]: 'example.com/pool=edge' });
    assert.deepEqual(await watch('web', 60_000), ['a b c', 'a b c~', 'a b']);
    assert.equal(membersOf(world, 'local'), 'a b c');
    pool('b', 'core');
    pool('c', 'edge');
    assert.deepEqual(await watch('web', 60_000), ['a b', 'a b~ c', 'a c']);
    const before = world.mutationCount();
    await restart();
    assert.deepEqual(await watch('web', 60_000), ['a c']);
    assert.equal(world.mutationCount(), before);
    world.services.annotate('web', { [selector]: 'pool=a=b' });
    assert.deepEqual(await watch('web', 60_000), ['a c']);
    assert.equal(world.services.condition('web')?.reason, 'Unsupported');
    world.services.annotate('web', { [selector]: null });
    assert.deepEqual(await watch('web', 5000), ['a c', 'a b c']);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
  });

  it('drains members on under the next leader without adding them in between', async () => {
    world.cluster.mergePatch('c', mark);
    await world.clock.advance(10_000);
    assert.equal(membersOf(world, 'web'), 'a b c~');
    await restart();
    assert.deepEqual(await watch('web', 29_000), ['a b c~']);
    assert.deepEqual(await watch('web', 5000), ['a b c~', 'a b']);
  });

  it('adds new members of a Service with Local before those that go drain', async () => {
    for (const name of ['a', 'b', 'c']) world.cluster.mergePatch(name, mark);
    for (const name of ['x', 'y']) world.node(name);
    const seen = await watch('local', 60_000);
    assert.deepEqual(seen, ['a b c', 'a b c x y', 'a~ b~ c~ x y', 'x y']);
  });

  it('waits for a health check of new members of a Service with Local before old ones go', async () => {
    const { loadBalancers } = world.cloud.network;
    const tell = (names: readonly string[], healthy: boolean) => {
      const pool = world.loadBalancerOf('local')?.pools[0];
      for (const { id, name } of world.cloud.model.all())
        if (names.includes(name)) loadBalancers.health.set(pool?.id ?? '', id, healthy);
    };
    tell(['a', 'b', 'c'], true);
    const reads = world.readCount();
    await world.clock.advance(60_000);
    assert.equal(world.readCount(), reads);
    for (const name of ['a', 'b', 'c']) world.cluster.mergePatch(name, mark);
    world.node('x');
    tell(['x'], false);
    assert.deepEqual(await watch('local', 40_000), ['a b c', 'a b c x']);
    tell(['x'], true);
    assert.deepEqual(await watch('local', 10_000), ['a b c x', 'a~ b~ c~ x']);
    // Two Services, a look every five seconds, two calls a look.
    assert.ok(world.readCount() - reads <= 40, `${world.readCount() - reads} reads`);
    const after = world.readCount();
    await world.clock.advance(60_000);
    assert.equal(membersOf(world, 'local'), 'x');
    assert.equal(world.readCount(), after);
  });

  it('keeps the last members until others come', async () => {
    for (const name of ['a', 'b', 'c']) world.cluster.mergePatch(name, mark);
    assert.deepEqual(await watch('web', 60_000), ['a b c']);
    world.node('x');
    assert.deepEqual(await watch('web', 60_000), ['a b c', 'a b c x', 'a~ b~ c~ x', 'x']);
  });

  it('removes a member at once whose VM is off', async () => {
    world.cluster.mergePatch('c', { spec: { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }] } });
    assert.deepEqual(await watch('web', 5000), ['a b c', 'a b']);
  });

  it('removes a member in the end whose Node went without a leader', async () => {
    await replica.stop();
    world.cluster.remove('c');
    replica = world.replica();
    await replica.start();
    assert.deepEqual(await watch('web', 25_000), ['a b c']);
    assert.deepEqual(await watch('web', 60_000), ['a b c', 'a b c~', 'a b']);
  });

  it('keeps members while their Nodes are registered again', async () => {
    const before = world.mutationCount();
    const nodes = ['a', 'b', 'c'].map((name) => world.cluster.mustNode(name));
    for (const { metadata } of nodes) world.cluster.remove(metadata.name);
    await world.clock.advance(5000);
    for (const { metadata, spec, status } of nodes) {
      const { addresses = [] } = status;
      world.cluster.register(metadata.name, { providerID: spec.providerID ?? '', addresses });
    }
    assert.deepEqual(await watch('web', 120_000), ['a b c']);
    for (const { metadata } of nodes) world.cluster.mergePatch(metadata.name, { spec: { taints: null } });
    assert.deepEqual(await watch('web', 10_000), ['a b c']);
    assert.equal(world.mutationCount(), before);
  });

  it('keeps members whatever the readiness and cordons of their Nodes', async () => {
    const before = world.mutationCount();
    world.cluster.setReady('a', 'Unknown');
    world.cluster.mergePatch('b', { spec: { unschedulable: true } });
    await world.clock.advance(60_000);
    assert.equal(world.mutationCount(), before);
  });
});

describe('a cloud that accepts fewer members than there are Nodes', () => {
  it('says in the condition of a Service with Local, and of no other, that the cloud takes fewer members', async () => {
    const world = createWorld({ through: (loadBalancers) => ({ ...loadBalancers, maxMembers: 2 }) });
    for (const name of ['a', 'b', 'c']) world.node(name);
    world.services.create('web');
    world.services.create('local', { spec: { externalTrafficPolicy: 'Local' } });
    await world.replica().start();
    await world.clock.advance(5000);
    assert.equal(membersOf(world, 'local').split(' ').length, 2);
    const { reason, message = '' } = world.services.condition('local') ?? {};
    assert.equal(reason, 'Ensured');
    assert.match(message, /does not accept all Nodes as members/);
    assert.doesNotMatch(world.services.condition('web')?.message ?? '', /does not accept/);
    await world.close();
  });
});
