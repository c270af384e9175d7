import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { faults, ownerOf } from './testing/environment.ts';
import { createHarness, desire } from './testing/harness.ts';
import { createScene } from './testing/scenes.ts';

/** A Service on a load balancer that others made, or on one of its own. */
function setUp() {
  const harness = createHarness('plain');
  const { cloud } = harness;
  const host = cloud.add({ kind: 'balancer', key: 'host', slots: ['name host'], refs: [], body: {} });
  const own = () =>
    [...cloud.things.values()].find(
      (one) => one.kind === 'balancer' && one.owner?.service === 'u1' && one.owner.cluster === 'c1',
    );
  const portsIn = (id: string | undefined) =>
    [...cloud.things.values()]
      .filter((one) => id !== undefined && one.within === id)
      .map(({ key }) => key)
      .sort();
  return { harness, cloud, host, own, portsIn, attach: { id: host.id, allowed: true } };
}

describe('a Service that moves from a lent load balancer to one of its own', () => {
  for (const is of ['QuotaExceeded', 'Invalid', 'Unavailable'] as const)
    it(`keeps its parts on the lent one while its own cannot be created: ${is}`, async () => {
      const { harness, host, own, portsIn, attach } = setUp();
      await harness.settle('u1', desire('u1', { attach }));
      harness.trouble({ call: /^create balancer/, is, times: 99 });
      const failed = await harness.reconcile('u1', desire('u1'));
      assert.equal(failed.state, 'failed');
      assert.deepEqual(portsIn(host.id), ['443', '80']);
      harness.cloud.setHook(undefined);
      assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
      assert.deepEqual([portsIn(host.id), portsIn(own()?.id)], [[], ['443', '80']]);
      assert.deepEqual(harness.cloud.things.get(host.id), host);
    });

  it('keeps its parts on the lent one while a foreign load balancer has the name of its own', async () => {
    const { harness, cloud, host, own, portsIn, attach } = setUp();
    await harness.settle('u1', desire('u1', { attach }));
    const foreign = cloud.add({ kind: 'balancer', key: 'x', slots: ['name u1'], refs: [], body: {} });
    const refused = await harness.settle('u1', desire('u1'));
    assert.deepEqual([refused.state, portsIn(host.id)], ['refused', ['443', '80']]);
    cloud.set(foreign.id, undefined);
    assert.equal((await harness.settle('u1', desire('u1'))).state, 'settled');
    assert.deepEqual([portsIn(host.id), portsIn(own()?.id)], [[], ['443', '80']]);
  });

  it('keeps all its parts on the lent one while one port of its own cannot be created', async () => {
    const { harness, host, own, portsIn, attach } = setUp();
    await harness.settle('u1', desire('u1', { attach }));
    harness.trouble({ call: /^create listener 443/, is: 'QuotaExceeded', times: 99 });
    await harness.reconcile('u1', desire('u1'));
    assert.deepEqual([portsIn(host.id), portsIn(own()?.id)], [['443', '80'], ['80']]);
  });
});

describe('a Service that moves from its own load balancer to a lent one', () => {
  it('keeps its own while a port of the lent one is taken by others', async () => {
    const { harness, cloud, host, own, portsIn, attach } = setUp();
    await harness.settle('u1', desire('u1'));
    const slots = [`${host.id} 443`];
    const theirs = cloud.add({ kind: 'listener', key: '443', within: host.id, slots, refs: [], body: {} });
    const refused = await harness.settle('u1', desire('u1', { attach }));
    assert.equal(refused.state, 'refused');
    assert.deepEqual(portsIn(own()?.id), ['443', '80']);
    cloud.set(theirs.id, undefined);
    assert.equal((await harness.settle('u1', desire('u1', { attach }))).state, 'settled');
    assert.deepEqual([own(), portsIn(host.id)], [undefined, ['443', '80']]);
  });

  it('keeps its own while a part in the lent one cannot be created', async () => {
    const { harness, host, own, portsIn, attach } = setUp();
    await harness.settle('u1', desire('u1'));
    harness.trouble({ call: /^create listener 443/, is: 'QuotaExceeded', times: 99 });
    await harness.reconcile('u1', desire('u1', { attach }));
    assert.deepEqual([portsIn(own()?.id), portsIn(host.id)], [['443', '80'], ['80']]);
  });

  it('keeps its own without consent to another address', async () => {
    const { harness, own, portsIn, attach } = setUp();
    await harness.settle('u1', desire('u1'));
    const result = await harness.settle('u1', desire('u1', { attach }), { mayChangeAddress: false });
    assert.deepEqual([...new Set(result.refusals.map(({ reason }) => reason))], ['AddressWouldChange']);
    assert.deepEqual(portsIn(own()?.id), ['443', '80']);
  });
});

describe('a Service that moves there and back, with a fault at every call and at every permit', () => {
  const hits = [undefined, ...faults.flatMap((fault) => Array.from({ length: 14 }, (_, at) => ({ at, fault })))];

  for (const name of ['plain', 'silent'] as const)
    it(`serves every port at every moment of a move there and back, in the ${name} cloud`, async () => {
      for (const hit of hits) {
        const scene = createScene(name);
        const { cloud } = scene;
        const host = cloud.add({ kind: 'balancer', key: 'host', slots: ['name host'], refs: [], body: {} });
        const own = desire('u1');
        const lent = desire('u1', { attach: { id: host.id, allowed: true } });
        const what = JSON.stringify(hit);
        const served = () => {
          const listeners = [...cloud.things.values()].filter(({ kind }) => kind === 'listener');
          return [...new Set(listeners.map(({ key }) => key))].sort();
        };
        const unserved: unknown[] = [];
        const moveTo = async (desired: typeof own, struck: typeof hit) => {
          const request = { owner: ownerOf('u1'), desired, mayChangeAddress: true };
          const outcome = await scene.converge([request], {
            hit: struck,
            atCall: () => served().join() !== '443,80' && unserved.push(cloud.calls.at(-1)),
          });
          assert.deepEqual(unserved, [], what);
          assert.deepEqual(outcome.stuck, [], what);
        };
        await scene.converge([{ owner: ownerOf('u1'), desired: own, mayChangeAddress: true }]);
        await moveTo(lent, hit);
        assert.deepEqual(
          [...cloud.things.values()].filter(({ kind }) => kind === 'listener').map(({ within }) => within),
          [host.id, host.id],
          what,
        );
        await moveTo(own, hit);
        scene.expect([{ owner: ownerOf('u1'), desired: own }], what);
        assert.deepEqual(cloud.things.get(host.id), host, what);
        assert.deepEqual(cloud.violations, [], what);
      }
    });
});
