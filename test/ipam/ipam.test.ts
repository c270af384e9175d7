import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { ipamStage } from './harness/ipam-stage.ts';

describe('pod ranges of Nodes', () => {
  const begin = ipamStage();

  it('assigns ranges in one write while the Node still waits for initialisation', async () => {
    const { world, replica, all } = begin();
    world.cluster.register('a');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24']);
    assert.deepEqual(replica.base.kube.writes(), ['patch /api/v1/nodes/a']);
    const body = replica.base.kube.calls.find(({ verb }) => verb === 'patch')?.body as {
      metadata: object;
      spec: object;
    };
    assert.deepEqual(Object.keys(body.metadata), ['resourceVersion']);
    assert.deepEqual(body.spec, { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24'] });
  });

  it('assigns one range of each family', async () => {
    const { world, replica, all, initialised } = begin('10.244.0.0/16,fd00:10::/48');
    initialised('a');
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24 fd00:10::/64', 'b 10.244.1.0/24 fd00:10:0:1::/64']);
  });

  it('keeps existing ranges, never assigns them again, and writes nothing after a restart', async () => {
    const { world, replica, another, ranges, all, initialised } = begin();
    initialised('a', ['10.244.0.0/24']);
    initialised('b');
    initialised('c', ['10.244.1.0/24']);
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24', 'b 10.244.2.0/24', 'c 10.244.1.0/24']);
    await replica.stop();
    const next = another();
    await next.start();
    await world.clock.advance(600_000);
    assert.deepEqual(next.base.kube.writes(), []);
    initialised('d');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('d'), ['10.244.3.0/24']);
  });

  it('assigns no range to foreign Nodes and never assigns theirs to others', async () => {
    const { world, replica, all, initialised } = begin();
    world.cluster.register('foreign', { tainted: false, providerID: 'aws:///eu-1a/i-1' });
    world.cluster.register('other', { tainted: false, providerID: 'aws:///eu-1a/i-2' });
    world.cluster.mergePatch('other', { spec: { podCIDR: '10.244.0.0/24' } });
    initialised('a');
    await replica.start();
    await world.clock.advance(600_000);
    assert.deepEqual(all(), ['a 10.244.1.0/24', 'foreign ', 'other 10.244.0.0/24']);
  });

  it('frees the ranges of a Node that is gone', async () => {
    const { world, replica, ranges, initialised } = begin('10.244.0.0/23');
    initialised('a');
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    initialised('c');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('c'), []);
    assert.deepEqual(replica.reasons(), ['CIDRNotAvailable c']);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 1);
    await world.clock.advance(600_000);
    assert.deepEqual(replica.reasons(), ['CIDRNotAvailable c']);
    world.cluster.remove('a');
    await world.clock.advance(1000);
    assert.deepEqual(ranges('c'), ['10.244.0.0/24']);
    assert.equal(await replica.metric('mooring_ipam_nodes_waiting'), 0);
  });

  it('keeps the range of the first family free while the second has none left', async () => {
    const { world, replica, initialised } = begin('10.244.0.0/16,fd00:10::/63');
    for (const name of ['a', 'b', 'c', 'd']) initialised(name);
    await replica.start();
    await world.clock.advance(3_600_000);
    const used = await replica.metric('node_ipam_controller_cidrset_usage_cidrs', '{clusterCIDR="10.244.0.0/16"}');
    assert.equal(used, 2 / 256);
  });

  it('reports a range outside the cluster range once and goes on with the others', async () => {
    const { world, replica, all, initialised } = begin();
    initialised('a', ['192.168.7.0/24']);
    initialised('b');
    await replica.start();
    await world.clock.advance(1000);
    world.cluster.heartbeat('a');
    await world.clock.advance(600_000);
    assert.deepEqual(all(), ['a 192.168.7.0/24', 'b 10.244.0.0/24']);
    assert.deepEqual(replica.reasons(), ['CIDRNotInClusterCIDR a']);
    assert.equal(await replica.metric('mooring_ipam_nodes_invalid_cidr', '{fault="outside"}'), 1);
    world.cluster.remove('a');
    await world.clock.advance(1000);
    assert.equal(await replica.metric('mooring_ipam_nodes_invalid_cidr', '{fault="outside"}'), 0);
  });

  it('reports a range that a Node adds to its own, does not count it, and goes on', async () => {
    const { world, replica, all, initialised } = begin('10.244.0.0/23');
    initialised('rogue', ['10.244.0.0/23']);
    initialised('wide', ['10.0.0.0/8']);
    await replica.start();
    initialised('a');
    initialised('b');
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24', 'b 10.244.1.0/24', 'rogue 10.244.0.0/23', 'wide 10.0.0.0/8']);
    assert.deepEqual([...replica.reasons()].sort(), ['CIDRMaskDiffers rogue', 'CIDRNotInClusterCIDR wide']);
    assert.equal(await replica.metric('mooring_ipam_nodes_strange', '{fault="mask"}'), 1);
  });

  it('never assigns the range of Services', async () => {
    const { world, replica, ranges, initialised } = begin('10.244.0.0/16', '10.244.0.0/20');
    initialised('a');
    await replica.start();
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.244.16.0/24']);
  });

  it('assigns no range while the Node or everything is paused', async () => {
    const { world, replica, ranges, all, initialised } = begin();
    initialised('a');
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: 'true' } } });
    initialised('b');
    replica.base.paused = true;
    await replica.start();
    await world.clock.advance(60_000);
    assert.deepEqual(all(), ['a ', 'b ']);
    replica.base.paused = false;
    await world.clock.advance(60_000);
    assert.deepEqual(all(), ['a ', 'b 10.244.0.0/24']);
    world.cluster.mergePatch('a', { metadata: { annotations: { [annotations.paused]: null } } });
    await world.clock.advance(1000);
    assert.deepEqual(ranges('a'), ['10.244.1.0/24']);
  });
});
