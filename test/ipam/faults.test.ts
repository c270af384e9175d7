import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeError } from '../../controller/kube/api.ts';
import { ipamStage } from './harness/ipam-stage.ts';

describe('pod ranges of Nodes where answers fail or come late', () => {
  const begin = ipamStage();

  it('knows the ranges that another leader assigned before its own cache shows them', async () => {
    const { world, replica, another, all, initialised } = begin();
    await replica.start();
    await world.clock.advance(1000);
    await replica.stop();
    const next = another();
    next.base.nodes.start();
    await world.clock.advance(1000);
    next.base.kube.hold();
    initialised('a', ['10.244.0.0/24']);
    await next.start();
    await world.clock.advance(1000);
    assert.equal(next.base.nodes.get('a'), undefined, 'not heard of yet');
    next.base.kube.release();
    initialised('b');
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.0.0/24', 'b 10.244.1.0/24']);
  });

  it('assigns no range before all Nodes were listed', async () => {
    const { world, replica, ranges, initialised } = begin();
    initialised('a', ['10.244.0.0/24']);
    initialised('b');
    let broken = true;
    replica.fault = async (call, send) => {
      if (broken && call.verb === 'list') throw new KubeError({ status: 503, reason: 'x', message: 'injected' });
      return send();
    };
    await replica.start();
    await world.clock.advance(120_000);
    assert.deepEqual(ranges('b'), []);
    broken = false;
    await world.clock.advance(60_000);
    assert.deepEqual(ranges('b'), ['10.244.1.0/24']);
  });

  it('keeps a range that another writer assigned at the same moment and frees its own', async () => {
    const { world, replica, all, initialised } = begin('10.244.0.0/23');
    let done = false;
    replica.fault = async (call, send) => {
      if (call.verb === 'patch' && !done) {
        done = true;
        world.cluster.mergePatch('a', { spec: { podCIDR: '10.244.1.0/24' } });
      }
      return send();
    };
    initialised('a');
    await replica.start();
    await world.clock.advance(1000);
    initialised('b');
    await world.clock.advance(1000);
    assert.deepEqual(all(), ['a 10.244.1.0/24', 'b 10.244.0.0/24']);
    assert.deepEqual(replica.reasons(), []);
  });

  it('ends with the same ranges after a lost answer, whether the write took effect or not', async () => {
    for (const effect of [true, false]) {
      const { world, replica, all, initialised, close } = begin('10.244.0.0/23');
      let lost = 0;
      replica.fault = async (call, send) => {
        if (call.verb !== 'patch' || lost > 0) return send();
        lost += 1;
        if (effect) await send();
        throw new KubeError({ status: effect ? 0 : 504, reason: 'Timeout', message: 'injected' });
      };
      initialised('a');
      await replica.start();
      initialised('b');
      await world.clock.advance(60_000);
      assert.equal(lost, 1);
      assert.deepEqual(all().sort(), ['a 10.244.0.0/24', 'b 10.244.1.0/24']);
      const used = await replica.metric('node_ipam_controller_cidrset_usage_cidrs', '{clusterCIDR="10.244.0.0/23"}');
      assert.equal(used, 1);
      await close();
    }
  });

  it('frees a range that the API server refuses and says so once on the Node', async () => {
    const { world, replica, ranges, initialised } = begin('10.244.0.0/24');
    replica.fault = async (call, send) => {
      if (call.verb === 'patch' && call.path.endsWith('/a'))
        throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no right' });
      return send();
    };
    initialised('a');
    await replica.start();
    await world.clock.advance(60_000);
    initialised('b');
    await world.clock.advance(300_000);
    assert.deepEqual(ranges('b'), ['10.244.0.0/24']);
    assert.equal(replica.reasons().filter((event) => event === 'CIDRAssignmentFailed a').length, 1);
  });

  it('frees the range of a Node that came and went unseen', async () => {
    const { world, replica, another, all, initialised } = begin('10.244.0.0/23');
    await replica.start();
    await world.clock.advance(1000);
    await replica.stop();
    const next = another();
    // The list shows a Node that is gone right after, before the watch begins to tell of it.
    let shown = false;
    next.fault = async (call, send) => {
      if (call.verb !== 'list' || shown) return send();
      shown = true;
      const page = (await send()) as { items: object[] };
      const metadata = { name: 'ghost', uid: 'ghost-uid', resourceVersion: '1' };
      return { ...page, items: [...page.items, { metadata, spec: { podCIDR: '10.244.0.0/24' } }] };
    };
    await next.start();
    initialised('a');
    initialised('b');
    await world.clock.advance(60_000);
    assert.deepEqual(
      all()
        .map((line) => line.split(' ')[1])
        .sort(),
      ['', '10.244.1.0/24'],
    );
    await world.clock.advance(700_000);
    assert.deepEqual(
      all()
        .map((line) => line.split(' ')[1])
        .sort(),
      ['10.244.0.0/24', '10.244.1.0/24'],
    );
  });
});
