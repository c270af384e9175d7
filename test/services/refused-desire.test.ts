import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FakeHetzner } from '../clouds/hetzner/fake-project.ts';
import { createHetznerWorld, type HetznerWorld } from './harness/hetzner-world.ts';
import type { Replica, World } from './harness/world.ts';

const prefix = 'load-balancer.hetzner.cloud';

describe('a Service whose annotations or source ranges cannot be read any more', () => {
  let world: World;
  let fake: FakeHetzner;
  let join: HetznerWorld['join'];
  let replica: Replica;
  beforeEach(async () => {
    ({ world, fake, join } = await createHetznerWorld());
    replica = world.replica();
    await replica.start();
  });
  afterEach(() => world.close());

  /** Names of the targets, and ports, of the only load balancer. */
  function balancer(): string {
    const [one, ...others] = [...fake.balancers.values()];
    assert.equal(others.length, 0);
    const names = one!.targets.map(({ server }) => fake.servers.get(server!.id)?.name);
    return `${names.sort().join(' ')}: ${one!.services.map(({ listen_port }) => listen_port).join()}`;
  }

  async function change(annotations: Readonly<Record<string, string>>): Promise<void> {
    world.services.annotate('web', annotations);
    world.services.patch('web', { spec: { ports: [{ name: 'other', port: 81, protocol: 'TCP' }] } });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'Unsupported');
  }

  it('keeps its ports, and its members follow the Nodes', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    await change({ [`${prefix}/algorithm-type`]: 'nonsense' });
    join('c');
    world.cluster.remove('a');
    await world.clock.advance(120_000);
    assert.equal(balancer(), 'b c: 80');
    assert.match(world.services.condition('web')?.message ?? '', /algorithm-type.*"nonsense"/);
    world.services.annotate('web', { [`${prefix}/algorithm-type`]: null });
    await world.clock.advance(10_000);
    assert.equal(balancer(), 'b c: 81');
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
  });

  it('gets a listener back that a person took away, as at any other time', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    await change({ [`${prefix}/algorithm-type`]: 'nonsense' });
    for (const one of fake.balancers.values()) one.services.splice(0);
    await world.clock.advance(600_000);
    assert.equal(balancer(), 'a b: 80');
  });

  it('gets no listener back that a person took away while the Service asked for other source ranges', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    world.services.patch('web', { spec: { loadBalancerSourceRanges: ['10.0.0.0/8'] } });
    await change({ [`${prefix}/algorithm-type`]: 'nonsense' });
    for (const one of fake.balancers.values()) one.services.splice(0);
    await world.clock.advance(1_300_000);
    assert.equal(balancer(), 'a b: ');
  });

  it('keeps its members where it is these that the annotation chooses', async () => {
    world.services.create('web', { annotations: { [`${prefix}/node-selector`]: 'pool=a' } });
    await world.clock.advance(5000);
    const before = balancer();
    await change({ [`${prefix}/node-selector`]: '=' });
    join('c');
    await world.clock.advance(60_000);
    assert.equal(balancer(), before);
  });

  it('keeps its ports, and its members follow the Nodes, with source ranges of another family, too', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    world.services.patch('web', {
      spec: { loadBalancerSourceRanges: ['2001:db8::/32'], ports: [{ name: 'other', port: 81, protocol: 'TCP' }] },
    });
    join('c');
    await world.clock.advance(10_000);
    assert.equal(balancer(), 'a b c: 80');
    const { reason, message } = world.services.condition('web')!;
    assert.equal(reason, 'InvalidSourceRanges');
    assert.match(message, /until it is corrected, its load balancer stays as it is, and its members follow the Nodes/);
    world.services.delete('web');
    await world.clock.advance(60_000);
    assert.deepEqual([world.services.get('web'), fake.balancers.size], [undefined, 0]);
  });

  /** Another replica leads, after one Node has joined and another has gone. */
  async function lead(): Promise<void> {
    await replica.stop();
    join('c');
    world.cluster.remove('a');
    await world.replica().start();
    await world.clock.advance(120_000);
  }

  it('follows the Nodes under a new leader where all else stands as it asks', async () => {
    world.services.create('web', { annotations: { [`${prefix}/algorithm-type`]: 'least_connections' } });
    await world.clock.advance(5000);
    world.services.annotate('web', { [`${prefix}/algorithm-type`]: 'nonsense' });
    await lead();
    assert.equal(balancer(), 'b c: 80');
    assert.match(world.services.condition('web')?.message ?? '', /algorithm-type.*"nonsense"/);
    assert.doesNotMatch(world.services.condition('web')?.message ?? '', /not follow/);
  });

  it('follows the Nodes under a new leader with unreadable source ranges where all clients may connect', async () => {
    world.services.create('web', { spec: { loadBalancerSourceRanges: [] } });
    await world.clock.advance(5000);
    world.services.patch('web', { spec: { loadBalancerSourceRanges: ['2001:db8::/32'] } });
    await lead();
    assert.equal(balancer(), 'b c: 80');
    assert.match(world.services.condition('web')?.message ?? '', /and its members follow the Nodes/);
  });

  it('keeps its members under a new leader where more has changed, and the condition says so', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    await change({ [`${prefix}/algorithm-type`]: 'nonsense' });
    await lead();
    assert.equal(balancer(), 'a b: 80');
    assert.match(world.services.condition('web')?.message ?? '', /nonsense.*members do not follow the Nodes/);
  });

  it('keeps its members under a new leader where an annotation came with the unreadable source ranges', async () => {
    world.services.create('web', { spec: { loadBalancerSourceRanges: [] } });
    await world.clock.advance(5000);
    world.services.annotate('web', { [`${prefix}/algorithm-type`]: 'least_connections' });
    world.services.patch('web', { spec: { loadBalancerSourceRanges: ['2001:db8::/32'] } });
    await lead();
    assert.equal(balancer(), 'a b: 80');
    assert.match(world.services.condition('web')?.message ?? '', /does not follow the Nodes/);
  });

  it('keeps its members under a new leader where the annotation says how to reach them', async () => {
    world.services.create('web', { annotations: { [`${prefix}/use-private-ip`]: 'true' } });
    await world.clock.advance(5000);
    world.services.annotate('web', { [`${prefix}/use-private-ip`]: 'nonsense' });
    await lead();
    assert.equal(balancer(), 'a b: 80');
    const targets = [...fake.balancers.values()].flatMap((one) => one.targets);
    assert.ok(targets.every(({ use_private_ip }) => use_private_ip));
  });

  it('keeps its members under a new leader where the annotation chooses them', async () => {
    world.services.create('web', { annotations: { [`${prefix}/node-selector`]: 'kubernetes.io/hostname=b' } });
    await world.clock.advance(5000);
    world.services.annotate('web', { [`${prefix}/node-selector`]: '=' });
    await lead();
    assert.equal(balancer(), 'b: 80');
  });

  it('creates no load balancer again that a person deleted meanwhile', async () => {
    world.services.create('web');
    await world.clock.advance(5000);
    await change({ [`${prefix}/algorithm-type`]: 'nonsense' });
    fake.balancers.clear();
    await world.clock.advance(1_300_000);
    assert.equal(fake.balancers.size, 0);
  });
});
