import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { conditions, taints } from '../../common/well-known.ts';
import { isMutating } from '../../controller/kube/fence.ts';
import { createWorld, type World } from './harness/world.ts';

interface Body {
  readonly status?: {
    readonly addresses?: readonly unknown[];
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
}

describe('a Node that gets pod routes', () => {
  let world: World;
  afterEach(() => world.close());

  const network = (name: string) => world.cluster.condition(name, conditions.networkUnavailable);

  it('gets NetworkUnavailable in the patch of its addresses, before its taint goes', async () => {
    world = createWorld({ routesEnabled: (scope) => scope === world.scope });
    world.join('a');
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(1000);

    const [first, second] = replica.kube.calls.filter(isMutating);
    const { addresses = [], conditions: written = [] } = (first?.body as Body | undefined)?.status ?? {};
    assert.ok(addresses.length > 1);
    assert.deepEqual(
      written.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      ['CloudInitialized=True Initialized', 'NetworkUnavailable=True NoRouteCreated'],
    );
    assert.equal(second?.path, '/api/v1/nodes/a');
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.equal(network('a')?.status, 'True');
  });

  it('keeps a NetworkUnavailable condition that is there already', async () => {
    world = createWorld({ routesEnabled: () => true });
    world.join('a');
    const theirs = { type: conditions.networkUnavailable, status: 'False', reason: 'CiliumIsUp' };
    world.cluster.setCondition('a', theirs);
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(1000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.equal(network('a')?.reason, 'CiliumIsUp');
  });

  it('gets no NetworkUnavailable afterwards, whatever is written on it', async () => {
    world = createWorld({ routesEnabled: () => true });
    world.cluster.register('a', { tainted: false, providerID: 'simulated://sim-1/i-none' });
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(600_000);
    assert.equal(network('a'), undefined);
  });

  it('gets it by the scope of its instance', async () => {
    world = createWorld({ routesEnabled: (scope) => scope !== world.scope });
    world.join('a');
    const replica = world.replica();
    await replica.start();
    await world.clock.advance(1000);
    assert.equal(world.cluster.hasTaint('a', taints.uninitialized), false);
    assert.equal(network('a'), undefined);
  });
});
