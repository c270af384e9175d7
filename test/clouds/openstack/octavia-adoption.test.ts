import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { type AdoptionProof, ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { tag, tagValue } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import { memberOf, port } from '../suite/desired.ts';
import { ensure, printStep, refOf, remove } from '../suite/drive.ts';
import { type FakeBalancer, thing } from './fake/fake-octavia-model.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

/** Leaves what is there as the classic controller makes it for this very Service. */
async function asClassic(harness: OctaviaHarness): Promise<{ balancer: FakeBalancer; address: string }> {
  await harness.ensure();
  const [balancer] = harness.octavia.balancers.values();
  assert.ok(balancer);
  const name = String(balancer.fields['name']);
  const stripped = (one: { fields: Record<string, unknown> }, tags: string[]) => {
    one.fields['tags'] = tags;
  };
  stripped(balancer, [name]);
  for (const listener of balancer.listeners) {
    stripped(listener, [name]);
    listener.fields['allowed_cidrs'] = ['0.0.0.0/0'];
  }
  for (const pool of balancer.pools) {
    stripped(pool, []);
    for (const member of pool.members) {
      stripped(member, []);
      member.fields['monitor_port'] = null;
    }
    // A check of the node port itself.
    if (pool.monitor) pool.monitor.fields = { ...pool.monitor.fields, type: 'TCP', url_path: null, tags: [] };
  }
  const [floating] = harness.edge.floatingIps.values();
  assert.ok(floating);
  const { service } = harness.desired;
  floating.description = `Floating IP for Kubernetes external service ${service} from cluster kubernetes`;
  harness.record.id = undefined;
  harness.record.notes = undefined;
  return { balancer, address: floating.address };
}

describe('a load balancer of the classic controller', () => {
  let harness: OctaviaHarness;
  afterEach(() => harness.close());
  const config = '[LoadBalancer]\ncreate-monitor = true\n';
  const proof = (addresses: readonly string[]) => ({ clusterName: 'kubernetes', addresses });

  const driving = (addresses: readonly string[]) => drivingWith(proof(addresses));
  async function drivingWith(adopt: AdoptionProof) {
    const base = await harness.driving();
    const { balancers } = base;
    return {
      ...base,
      balancers: {
        ...balancers,
        observe: (ref, signal) => balancers.observe({ ...ref, adopt }, signal),
      } as typeof balancers,
    };
  }

  it('adopts a load balancer without a call when name, tag and address agree', async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    const { observed, calls, refusals } = await ensure(await driving([address]));
    assert.deepEqual(refusals, []);
    assert.equal(calls, 0);
    assert.equal(observed?.id, balancer.id);
    assert.equal(observed.adopted, true);
    assert.deepEqual(observed.owner, harness.desired.owner);
    assert.deepEqual(observed.ingress, [{ ip: address }]);
    assert.deepEqual(
      observed.members.map(({ providerID }) => providerID).sort(),
      harness.vms.map(({ providerID }) => providerID).sort(),
    );
    const { balancers } = await harness.driving();
    const adoptable = [{ ...refOf(harness.desired, { id: undefined }), adopt: proof([address]) }];
    const [one, ...others] = await harness.world.during(
      balancers.observeAll(harness.world.cluster, undefined, adoptable),
    );
    assert.equal(others.length, 0);
    assert.equal(one?.id, balancer.id);
    assert.equal(one.adopted, true);
    assert.deepEqual(balancers.plan(harness.desired).steps, []);
  });

  it('gets our tags with the first change, and is recognised by them from then on', async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    harness.desired = { ...harness.desired, ports: [port(80, 30080), port(443, 30443)] };
    const { steps } = await ensure(await driving([address]));
    assert.match(steps.map(printStep).join('\n'), /^update load balancer .*: take over/m);
    assert.equal(tagValue(balancer.fields['tags'] as string[], ownerTags.service), harness.desired.owner.service);
    assert.equal((await harness.ensure()).calls, 0);
    assert.equal((await harness.observe())?.adopted, undefined);
    assert.deepEqual(
      balancer.pools.map(({ monitor }) => monitor?.fields['type']),
      ['TCP', 'HTTP'],
    );
  });

  it('keeps its members when one more comes', async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    const third = await harness.world.createVm();
    harness.desired = { ...harness.desired, members: [...harness.desired.members, memberOf(third)] };
    const { calls } = await ensure(await driving([address]));
    // The members, and our marks on all parts.
    assert.ok(calls <= 5, `${calls} calls`);
    assert.equal(balancer.pools[0]?.members.length, 3);
  });

  it('shows its members in a list of everything, and gets one more by what that says', async () => {
    harness = await octaviaHarness(config);
    const { address } = await asClassic(harness);
    const { balancers } = await harness.driving();
    const adoptable = [{ ...refOf(harness.desired, { id: undefined }), adopt: proof([address]) }];
    const all = await harness.world.during(balancers.observeAll(harness.world.cluster, undefined, adoptable));
    assert.deepEqual(
      all.map(({ members }) => members.map(({ providerID }) => providerID).sort()),
      [harness.vms.map(({ providerID }) => providerID).sort()],
    );
    const third = memberOf(await harness.world.createVm());
    const { steps } = balancers.plan({ ...harness.desired, members: [...harness.desired.members, third] });
    assert.match(steps.map(printStep).join('\n'), /1 added/);
  });

  const renamed = (fields: Record<string, unknown>) => (one: FakeBalancer) => void Object.assign(one.fields, fields);
  for (const [what, spoil, addresses] of [
    ['another address', () => {}, ['203.0.113.99']],
    ['no address', () => {}, []],
    ['another name', renamed({ name: 'kube_service_other_default_web' }), undefined],
    ['no tag', renamed({ tags: [] }), undefined],
    [
      'the tags of another Service of ours',
      (one: FakeBalancer) => renamed({ tags: [String(one.fields['name']), tag(ownerTags.service, 'x')] })(one),
      undefined,
    ],
  ] as const) {
    it(`leaves a load balancer with ${what} to the classic controller`, async () => {
      harness = await octaviaHarness(config);
      const { balancer, address } = await asClassic(harness);
      spoil(balancer);
      const adopt = proof(addresses ?? [address]);
      const observed = await harness.observe({ adopt });
      assert.equal(observed?.owner, undefined);
      const { balancers } = await harness.driving();
      const adoptable = [{ ...refOf(harness.desired, { id: undefined }), adopt }];
      assert.deepEqual(
        await harness.world.during(balancers.observeAll(harness.world.cluster, undefined, adoptable)),
        [],
      );
    });
  }

  for (const state of ['ACTIVE', 'ERROR']) {
    it(`deletes an ${state} load balancer of the classic controller whole, with its floating IP`, async () => {
      harness = await octaviaHarness(config);
      const { balancer, address } = await asClassic(harness);
      balancer.status = state;
      await remove(await driving([address]));
      assert.equal(harness.octavia.balancers.size, 0);
      assert.equal(harness.edge.floatingIps.size, 0);
    });
  }

  for (const [what, change] of [
    ['its floating IP is taken off', (one: FakeBalancer) => void Object.assign(one, {})],
    ['it is renamed', renamed({ name: 'prod-web' })],
    ['its tag is removed', renamed({ tags: [] })],
  ] as const) {
    it(`loses the proof of ownership of an adopted load balancer when ${what}`, async () => {
      harness = await octaviaHarness(config);
      const { balancer, address } = await asClassic(harness);
      const adopt = proof([address]);
      assert.equal((await harness.observe({ adopt, id: balancer.id }))?.adopted, true);
      change(balancer);
      if (what.includes('floating')) for (const one of harness.edge.floatingIps.values()) one.portId = null;
      const observed = await harness.observe({ adopt, id: balancer.id });
      assert.equal(observed?.id, balancer.id);
      assert.equal(observed.owner, undefined);
      assert.deepEqual([observed.ingress, observed.members], [[], []]);
    });
  }

  it('one of our own that lost its tags gets them back by what our parts say, with adoption as without', async () => {
    for (const adopt of [undefined, proof(['203.0.113.10'])]) {
      harness = await octaviaHarness(config);
      const made = await harness.ensure();
      harness.record.notes = made.observed?.notes;
      const [balancer] = harness.octavia.balancers.values();
      assert.ok(balancer);
      balancer.fields['tags'] = [];
      const { balancers, desired, record } = await harness.driving();
      const ref = { ...refOf(desired, record), ...(adopt && { adopt }) };
      const observed = await harness.world.during(balancers.observe(ref));
      assert.deepEqual(observed?.owner, desired.owner);
      const { refusals, calls } = await harness.ensure();
      assert.deepEqual([refusals, calls], [[], 1]);
      assert.equal(tagValue(balancer.fields['tags'] as string[], ownerTags.service), desired.owner.service);
      assert.equal(harness.octavia.balancers.size, 1);
      if (adopt === undefined) await harness.close();
    }
  });

  it('adopts neither of two load balancers that agree, unless one is recorded', async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    const twin = '00000000-0000-4000-8000-0000000000ab';
    harness.octavia.balancers.set(twin, { ...balancer, id: twin, listeners: [], pools: [] });
    assert.equal((await harness.observe({ adopt: proof([address]) }))?.owner, undefined);
    assert.equal((await harness.observe({ adopt: proof([address]), id: balancer.id }))?.adopted, true);
    harness.octavia.balancers.delete(twin);
  });

  it("keeps a person's listener unchanged", async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    balancer.listeners.push({
      ...thing({ name: 'mine', protocol: 'TCP', protocol_port: 443, tags: [] }, 'ACTIVE'),
      poolId: null,
    });
    harness.desired = { ...harness.desired, ports: [port(80, 30080), port(443, 30443)] };
    const { calls, refusals } = await ensure(await driving([address]));
    assert.equal(calls, 0);
    assert.deepEqual(
      refusals.map(({ reason, ports }) => [reason, ports?.[0]?.port]),
      [['Conflict', 443]],
    );
  });

  describe('of a Service that shows a hostname alone', () => {
    const hostname = 'lb.example.com';
    const annotations = { [keys.hostname]: hostname };
    const adopt = { ...proof([hostname]), annotations };

    it('adopts a load balancer by the hostname of its annotation, and tags it with that hostname', async () => {
      harness = await octaviaHarness(config);
      const { balancer } = await asClassic(harness);
      harness.desired = { ...harness.desired, annotations };
      assert.equal((await harness.observe({ adopt }))?.adopted, true);
      const { observed, refusals, steps } = await ensure(await drivingWith(adopt));
      assert.deepEqual(refusals, []);
      assert.doesNotMatch(steps.map(printStep).join('\n'), /^(?!update)/m);
      assert.equal(tagValue(balancer.fields['tags'] as string[], ownerTags.service), harness.desired.owner.service);
      assert.deepEqual(observed?.ingress, [{ hostname }]);
      assert.equal((await harness.ensure()).calls, 0);
    });

    for (const [what, spoiled] of [
      ['the annotation names another', { ...proof([hostname]), annotations: { [keys.hostname]: 'web.example.com' } }],
      ['no annotation names it', proof([hostname])],
      ['the status shows more', { ...proof([hostname, '203.0.113.99']), annotations }],
    ] as const)
      it(`adopts no load balancer by its hostname where ${what}`, async () => {
        harness = await octaviaHarness(config);
        await asClassic(harness);
        assert.equal((await harness.observe({ adopt: spoiled }))?.owner, undefined);
      });

    it('adopts no load balancer by its hostname where another one is recorded, even if that is gone', async () => {
      harness = await octaviaHarness(config);
      await asClassic(harness);
      const id = '00000000-0000-4000-8000-0000000000ab';
      assert.equal((await harness.observe({ adopt, id }))?.owner, undefined);
    });

    it('adopts no load balancer by its hostname where another one has the same name, recorded or not', async () => {
      harness = await octaviaHarness(config);
      const { balancer } = await asClassic(harness);
      const twin = '00000000-0000-4000-8000-0000000000ab';
      const fields = { ...balancer.fields, tags: ['of another'] };
      harness.octavia.balancers.set(twin, { ...balancer, id: twin, fields, listeners: [], pools: [] });
      for (const id of [undefined, balancer.id, twin])
        assert.equal((await harness.observe({ adopt, id }))?.owner, undefined);
      harness.octavia.balancers.delete(twin);
    });
  });

  it('marks the floating IP of an adopted load balancer as kept, as its annotation says', async () => {
    harness = await octaviaHarness(config);
    const { address } = await asClassic(harness);
    harness.desired = { ...harness.desired, annotations: { [keys.keepFloatingIp]: 'true' } };
    const { calls } = await ensure(await driving([address]));
    assert.ok(calls <= 4, `${calls} calls`);
    assert.match([...harness.edge.floatingIps.values()][0]?.description ?? '', / keep\]$/);
    harness.desired = { ...harness.desired, annotations: {} };
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 1);
  });

  it('ignores the annotation that the classic controller wrote about its own', async () => {
    harness = await octaviaHarness(config);
    const { balancer, address } = await asClassic(harness);
    harness.desired = {
      ...harness.desired,
      annotations: { [keys.loadBalancerId]: balancer.id, [keys.loadBalancerAddress]: address },
    };
    const { calls, refusals } = await ensure(await driving([address]));
    assert.deepEqual(refusals, []);
    assert.equal(calls, 0);
  });
});
