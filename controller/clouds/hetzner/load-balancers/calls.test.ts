import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../../test/clouds/hetzner/balancer-harness.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';

describe('calls for a load balancer of Hetzner Cloud with two ports and twenty servers, without polls', () => {
  const ports = [port(80, 30080), port(443, 30443)];

  it('makes all of it with one request, after two lists and before one read of its addresses', async () => {
    const harness = createBalancerHarness({ servers: 20 });
    const result = await harness.settle(harness.desired());
    assert.equal(result.state, 'settled');
    const lists = ['GET /load_balancers', 'GET /certificates'];
    assert.deepEqual(harness.calls(), [...lists, 'POST /load_balancers', 'GET /load_balancers/{id}']);
    const { services, targets } = harness.balancer();
    assert.deepEqual([services.length, targets.length], [2, 20]);
  });

  it('adds a port with one change and one read', async () => {
    const harness = createBalancerHarness({ servers: 20 });
    await harness.settle(harness.desired());
    harness.calls();
    await harness.settle(harness.desired({ ports: [...ports, port(8080, 30808)] }));
    assert.deepEqual(harness.calls(), ['POST /load_balancers/{id}/actions/add_service', 'GET /load_balancers/{id}']);
  });

  it('adds a server with one change and one read', async () => {
    const harness = createBalancerHarness({ servers: 21 });
    await harness.settle(harness.desired({ members: harness.members.slice(1) }));
    harness.calls();
    await harness.settle(harness.desired());
    assert.deepEqual(harness.calls(), ['POST /load_balancers/{id}/actions/add_target', 'GET /load_balancers/{id}']);
  });

  it('deletes all of it with one request, and proves with one list that it is gone', async () => {
    const harness = createBalancerHarness({ servers: 20 });
    await harness.settle(harness.desired());
    harness.calls();
    const result = await harness.settle(undefined);
    assert.equal(result.state, 'settled');
    assert.deepEqual(harness.calls(), ['DELETE /load_balancers/{id}', 'GET /load_balancers']);
    assert.equal(harness.fake.balancers.size, 0);
  });

  it('reads everything with two lists, and changes nothing after a restart', async () => {
    const harness = createBalancerHarness({ servers: 20 });
    await harness.settle(harness.desired());
    harness.calls();
    harness.restart();
    const result = await harness.settle(harness.desired());
    assert.equal(result.state, 'settled');
    assert.deepEqual(harness.calls(), ['GET /load_balancers', 'GET /certificates']);
  });
});
