import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { type OperatorPolicy, strictPolicy } from '../../controller/services/operator-policy.ts';
import { createWorld, type Replica, type World } from './harness/world.ts';

const retain = { annotations: { [annotations.loadBalancerRetain]: 'true' } };
const allowed = (limit: number): OperatorPolicy => ({
  ...strictPolicy,
  retain: [{ to: 'namespace', namespace: 'default' }],
  retainLimit: limit,
});

describe('what the operator decides about Services', () => {
  let world: World;
  let replica: Replica;
  async function lead(policy: OperatorPolicy): Promise<void> {
    replica = world.replica({ task: { policy } });
    await replica.start();
    await world.clock.advance(1000);
  }
  async function replaced(policy: OperatorPolicy): Promise<void> {
    await replica.stop();
    await lead(policy);
    await world.clock.advance(5000);
  }
  beforeEach(() => {
    world = createWorld();
    world.node('n0');
  });
  afterEach(() => world.close());

  const kept = () => world.loadBalancers().filter(({ tags }) => tags['mooring.dev/retained'] !== undefined);
  const gauge = () => replica.gauge('mooring_retained_load_balancers', `{scope="${world.scope}",namespace="default"}`);

  it('refuses retention that is not allowed on the living Service, and deletes its load balancer with it', async () => {
    await lead(strictPolicy);
    world.services.create('web', retain);
    await world.clock.advance(5000);
    const condition = world.services.condition('web');
    assert.deepEqual([condition?.status, condition?.reason], ['True', 'RetentionNotAllowed']);
    assert.match(condition?.message ?? '', /--allow-retain/);
    assert.equal(world.services.addresses('web').length, 1);
    assert.deepEqual(replica.reasons('web').filter((reason) => reason === 'RetentionNotAllowed').length, 1);
    world.services.annotate('web', { [annotations.loadBalancerRetain]: null });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    world.services.annotate('web', { [annotations.loadBalancerRetain]: 'true' });
    world.services.delete('web');
    await world.clock.advance(20_000);
    assert.deepEqual([world.services.get('web'), world.loadBalancers()], [undefined, []]);
  });

  it('leaves as many retained load balancers as the limit, and the next deletion waits for room', async () => {
    await lead(allowed(3));
    for (let round = 1; round <= 6; round += 1) {
      const name = `web-${round}`;
      world.services.create(name, retain);
      await world.clock.advance(5000);
      world.services.delete(name);
      await world.clock.advance(20_000);
    }
    assert.equal(kept().length, 3);
    assert.equal(await gauge(), 3);
    assert.deepEqual(
      world.services.names().filter((name) => name.startsWith('web')),
      ['web-4', 'web-5', 'web-6'],
    );
    const waiting = world.services.condition('web-4');
    assert.deepEqual([waiting?.status, waiting?.reason], ['False', 'RetentionLimitReached']);

    // One who does not want to wait lets it go.
    world.services.annotate('web-4', { [annotations.loadBalancerRetain]: null });
    await world.clock.advance(20_000);
    assert.equal(world.services.get('web-4'), undefined);
    assert.equal(world.loadBalancers().length, 5);

    // Another place comes free when a kept one is removed in the cloud.
    const { id, addresses } = kept()[0]!;
    const addressIds = addresses.flatMap((one) => one.id ?? []);
    world.cloud.network.loadBalancers.delete(id);
    await world.clock.advance(60_000);
    for (const address of addressIds) world.cloud.network.addresses.release(address);
    await world.clock.advance(1_300_000);
    assert.equal(world.services.names().filter((name) => name.startsWith('web')).length, 1);
    assert.equal(kept().length, 3);
  });

  it('keeps the limit over a change of leader and for Services that go all at once', async () => {
    await lead(allowed(2));
    for (const name of ['a', 'b', 'c', 'd']) world.services.create(name, retain);
    await world.clock.advance(10_000);
    for (const name of ['a', 'b', 'c', 'd']) world.services.delete(name);
    await world.clock.advance(20_000);
    assert.equal(kept().length, 2);
    await replaced(allowed(2));
    await world.clock.advance(700_000);
    assert.deepEqual([kept().length, world.loadBalancers().length, await gauge()], [2, 4, 2]);
  });

  it('keeps what a cluster-wide tag attached after an upgrade, and its members follow the Nodes', async () => {
    const { loadBalancer: shared } = world.cloud.network.loadBalancers.create('demo/sim-1', {
      name: 'shared',
      tags: { 'mooring.dev/attachable-by': world.clusterUid },
      scheme: 'external',
      families: ['IPv4'],
      addresses: [],
      listeners: [],
      pools: [],
      clientToken: undefined,
    });
    await lead({ ...strictPolicy, clusterWideAttach: true });
    world.services.create('web', { annotations: { [annotations.loadBalancerId]: shared.id } });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    const addresses = world.services.addresses('web');
    assert.equal(addresses.length, 1);

    await replaced(strictPolicy);
    await world.clock.advance(700_000);
    const condition = world.services.condition('web');
    assert.deepEqual([condition?.status, condition?.reason], ['True', 'ClusterWideConsent']);
    assert.deepEqual(world.services.addresses('web'), addresses);
    world.node('n1');
    await world.clock.advance(10_000);
    assert.equal(world.loadBalancers()[0]?.pools[0]?.members.length, 2);
    assert.equal(world.loadBalancers()[0]?.listeners.length, 1);

    const spec = { ports: [{ name: 'x', port: 8443, targetPort: 1, protocol: 'TCP' }] };
    world.services.create('new', { annotations: { [annotations.loadBalancerId]: shared.id }, spec });
    await world.clock.advance(5000);
    assert.equal(world.services.condition('new')?.reason, 'ForeignLoadBalancer');
    assert.match(world.services.condition('new')?.message ?? '', /--allow-cluster-wide-attach/);
    assert.equal(world.loadBalancers()[0]?.listeners.length, 1);

    const tags = { 'mooring.dev/attachable-by': `${world.clusterUid}/default/web` };
    world.cloud.network.loadBalancers.update(shared.id, { tags });
    await world.clock.advance(700_000);
    assert.equal(world.services.condition('web')?.reason, 'Ensured');
    assert.equal(world.services.condition('new')?.reason, 'ForeignLoadBalancer');
  });
});
