import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { floatingIpFor } from '../../../../test/clouds/openstack/fake/fake-floating-ips.ts';
import { type NetworkHarness, networkHarness } from '../../../../test/clouds/openstack/network-harness.ts';
import { ownerTags } from '../../load-balancers.ts';
import { classicFloatingIpDescription } from '../load-balancers/names.ts';
import { tag } from '../load-balancers/tags.ts';

const reasons = ({ refusals }: { readonly refusals: readonly { readonly reason: string }[] }) =>
  refusals.map(({ reason }) => reason);
const only = ({ edge }: NetworkHarness) => {
  const [one, ...more] = edge.floatingIps.values();
  assert.ok(one && more.length === 0, `${edge.floatingIps.size} floating IPs`);
  return one;
};
const vipPort = ({ balancers }: NetworkHarness) => [...balancers.values()][0]?.vipPortId;
const consent = tag(ownerTags.consent, 'c1/default');

describe('the floating IP of a Service', () => {
  it('makes the floating IP by one request, reads it again by two, and deletes it by one', async () => {
    const harness = networkHarness();
    await harness.ensure();
    assert.equal(only(harness).portId, vipPort(harness));
    assert.match(only(harness).description, /^Floating IP for Kubernetes external service default\/web-/);
    assert.deepEqual(harness.changes(), ['POST /floatingips']);
    await harness.ensure();
    const calls = harness.calls();
    assert.deepEqual(calls, ['GET /floatingips', 'GET /security-groups']);
    await harness.remove();
    assert.deepEqual([harness.edge.floatingIps.size, harness.changes()], [0, ['DELETE /floatingips/ID']]);
  });

  it('keeps the floating IP with a load balancer that cannot go, since other Services use it', async () => {
    const harness = networkHarness();
    await harness.ensure();
    [...harness.balancers.values()][0]!.isShared = true;
    const result = await harness.remove();
    assert.deepEqual([result.state, reasons(result)], ['refused', ['Conflict']]);
    assert.equal(only(harness).portId, vipPort(harness));
  });

  it('changes to the VIP and back only with consent', async () => {
    const harness = networkHarness();
    await harness.ensure();
    harness.changes();
    const refused = await harness.ensure({}, { internal: true });
    assert.deepEqual([reasons(refused), harness.changes()], [['AddressWouldChange'], []]);
    await harness.ensure({ mayChangeAddress: true });
    assert.equal(harness.edge.floatingIps.size, 0);
    assert.equal(harness.address?.vip, true);
    const back = await harness.ensure({ mayChangeAddress: false }, { internal: false });
    assert.deepEqual(reasons(back), ['AddressWouldChange']);
    await harness.ensure({ mayChangeAddress: true });
    assert.equal(only(harness).portId, vipPort(harness));
  });

  it('detaches and keeps the floating IP when its Service goes, where that is asked for', async () => {
    const harness = networkHarness();
    await harness.ensure({}, { keepFloatingIp: true });
    const { address } = only(harness);
    await harness.remove();
    assert.match(only(harness).description, /\[mooring c1 retained default\/web-\w+\]$/);
    assert.deepEqual([harness.balancers.size, only(harness).address], [0, address]);
  });

  it('says whether it is to stay, as soon as that changes', async () => {
    const harness = networkHarness();
    await harness.ensure();
    harness.changes();
    await harness.ensure({}, { keepFloatingIp: true });
    assert.deepEqual(harness.changes(), ['PUT /floatingips/ID']);
    assert.match(only(harness).description, / keep\]$/);
    await harness.ensure({}, { keepFloatingIp: undefined });
    assert.deepEqual(harness.changes(), []);
    await harness.ensure({}, { keepFloatingIp: false });
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 0);
  });

  it('detaches a kept floating IP when the Service asks for the VIP, and attaches it again later', async () => {
    const harness = networkHarness();
    await harness.ensure({}, { keepFloatingIp: true });
    await harness.ensure({ mayChangeAddress: true }, { internal: true });
    assert.deepEqual([only(harness).portId, / keep\]$/.test(only(harness).description)], [null, true]);
    await harness.ensure({}, { internal: false });
    assert.equal(only(harness).portId, vipPort(harness));
  });

  it('comes from the next fitting subnet when one has no address left', async () => {
    const harness = networkHarness();
    for (const n of [1, 2, 3])
      harness.fake.subnets.push({
        id: `blue-${n}`,
        networkId: 'net-public',
        cidr: `198.51.${n}.0/24`,
        name: `blue-${n}`,
      });
    harness.edge.fullSubnets.add('blue-1').add('blue-2');
    await harness.ensure({}, { placement: { floatingSubnet: 'blue-*' } });
    assert.equal(harness.changes().length, 3);
    assert.equal(only(harness).portId, vipPort(harness));
  });

  it('makes no floating IP without an external network, and refuses with Unsupported', async () => {
    const harness = networkHarness();
    harness.fake.externalNetworks.clear();
    const result = await harness.ensure();
    assert.deepEqual([reasons(result), harness.changes()], [['Unsupported'], []]);
    assert.match(result.refusals[0]!.message, /no external network/);
    assert.equal([...harness.balancers.values()][0]?.tags.length, 1);
    const again = await harness.ensure();
    assert.deepEqual([reasons(again), harness.changes()], [['Unsupported'], []]);
  });

  it('that a person moved to another port is left alone, and replaced only with consent', async () => {
    const harness = networkHarness();
    await harness.ensure();
    only(harness).portId = 'port-1';
    harness.changes();
    const result = await harness.ensure();
    assert.deepEqual([reasons(result), harness.changes()], [['Conflict'], []]);
    const moved = only(harness).id;
    await harness.ensure({ mayChangeAddress: true });
    const there = [...harness.edge.floatingIps.values()];
    assert.deepEqual(there.map(({ portId }) => portId).toSorted(), ['port-1', vipPort(harness)].toSorted());
    assert.match(there.find(({ id }) => id === moved)!.description, /retained/);
  });

  it('that a person moved to another port is given up and not deleted when the Service goes', async () => {
    const harness = networkHarness();
    await harness.ensure();
    only(harness).portId = 'port-1';
    await harness.remove();
    assert.deepEqual([only(harness).portId, harness.balancers.size], ['port-1', 0]);
    assert.match(only(harness).description, /retained/);
  });

  it('deletes a floating IP whose port went with a load balancer that showed no mark', async () => {
    const harness = networkHarness();
    await harness.ensure();
    const { balancers, fake } = harness;
    only(harness).portId = 'port-1';
    const id = [...balancers.keys()][0]!;
    balancers.delete = () => {
      const at = fake.ports.findIndex((port) => port.id === 'port-1');
      fake.ports.splice(at, 1);
      return Map.prototype.delete.call(balancers, id);
    };
    harness.changes();
    await harness.remove();
    assert.deepEqual([harness.edge.floatingIps.size, harness.changes()], [0, ['DELETE /floatingips/ID']]);
  });

  it('that a person put on the VIP is its address, and goes with the load balancer alone', async () => {
    const harness = networkHarness();
    harness.fake.externalNetworks.clear();
    await harness.ensure();
    harness.fake.externalNetworks.add('net-public');
    const theirs = floatingIpFor(harness.fake, harness.edge, { portId: vipPort(harness)! });
    harness.changes();
    const result = await harness.ensure();
    assert.deepEqual([reasons(result), harness.changes()], [[], []]);
    await harness.remove();
    assert.deepEqual([harness.changes(), only(harness).id], [[], theirs.id]);
  });

  it('gets its stripped mark back', async () => {
    const harness = networkHarness();
    await harness.ensure();
    const { description } = only(harness);
    only(harness).description = 'by hand';
    await harness.ensure({}, { keepFloatingIp: true });
    assert.equal(only(harness).description, description.replace(/\]$/, ' keep]'));
  });

  it('takes over a classic floating IP with its load balancer, and deletes it with the Service', async () => {
    const harness = networkHarness();
    await harness.ensure();
    const [balancer] = harness.balancers.values();
    Object.assign(balancer!, { owner: undefined, name: 'classic' });
    only(harness).description = classicFloatingIpDescription(harness.desired);
    const { address } = only(harness);
    await harness.ensure({}, { keepFloatingIp: true });
    assert.match(only(harness).description, /\[mooring c1 \S+ keep\]$/);
    assert.deepEqual([only(harness).address, harness.balancers.size], [address, 1]);
    await harness.ensure({}, { keepFloatingIp: false });
    await harness.remove();
    assert.equal(harness.edge.floatingIps.size, 0);
  });

  it('finds a floating IP again when the answer of its create was lost', async () => {
    const harness = networkHarness();
    let isLost = false;
    harness.fake.fault = (call, response) => {
      if (isLost || call.method !== 'POST' || call.path !== '/floatingips') return undefined;
      isLost = true;
      const { port_id: portId, description } = JSON.parse(call.body).floatingip;
      floatingIpFor(harness.fake, harness.edge, { portId, description });
      response.writeHead(504);
      response.end();
      return 'answered';
    };
    await harness.ensure();
    assert.equal(only(harness).portId, vipPort(harness));
  });
});

describe('the floating IP that a Service names', () => {
  const named = (more: Parameters<typeof floatingIpFor>[2] = { tags: [consent] }) => {
    const harness = networkHarness();
    return { harness, one: floatingIpFor(harness.fake, harness.edge, more) };
  };

  it('attaches a named floating IP with its consent, and leaves it when the Service goes', async () => {
    const { harness, one } = named({ tags: [consent], description: 'theirs' });
    const result = await harness.ensure({ address: one.address });
    assert.deepEqual([reasons(result), harness.changes()], [[], ['PUT /floatingips/ID']]);
    assert.deepEqual([one.portId, one.description], [vipPort(harness), 'theirs']);
    await harness.ensure();
    assert.deepEqual(harness.changes(), []);
    await harness.remove();
    assert.deepEqual([harness.changes(), only(harness).description], [[], 'theirs']);
  });

  it('refuses a named floating IP without consent, and makes nothing', async () => {
    const { harness, one } = named({});
    const result = await harness.ensure({ address: one.address });
    assert.deepEqual([reasons(result), harness.balancers.size, one.portId], [['ForeignLoadBalancer'], 0, null]);
  });

  it('reports a conflict while another port has the named floating IP', async () => {
    const { harness, one } = named({ tags: [consent], portId: 'port-1' });
    const result = await harness.ensure({ address: one.address });
    assert.deepEqual([reasons(result), one.portId], [['Conflict'], 'port-1']);
  });

  for (const [whose, reason] of [
    ['default/other', undefined],
    ['theirs/other', 'ForeignLoadBalancer'],
  ] as const) {
    it(`${reason === undefined ? 'gives' : 'refuses'} a named floating IP that was kept for ${whose}`, async () => {
      const description = `Floating IP for Kubernetes external service ${whose} [mooring c1 retained ${whose}]`;
      const { harness, one } = named({ description });
      const result = await harness.ensure({ address: one.address });
      assert.deepEqual(reasons(result), reason === undefined ? [] : [reason]);
      assert.equal(one.portId, reason === undefined ? vipPort(harness) : null);
      assert.equal(one.description, description);
      await harness.remove();
      assert.equal(one.description, description);
    });
  }

  it('takes the place of another only with consent, and that one is given back', async () => {
    const { harness, one } = named();
    await harness.ensure();
    const refused = await harness.ensure({ address: one.address });
    assert.deepEqual([reasons(refused), one.portId], [['AddressWouldChange'], null]);
    const changed = await harness.ensure({ mayChangeAddress: true });
    assert.deepEqual([reasons(changed), only(harness).id, one.portId], [[], one.id, vipPort(harness)]);
    const back = await harness.ensure({ address: undefined });
    assert.deepEqual([reasons(back), one.portId], [[], vipPort(harness)], 'what shows stays');
    await harness.ensure({}, { internal: true });
    assert.deepEqual([one.portId, harness.edge.floatingIps.size], [null, 1]);
  });

  it('makes a floating IP with the named address where there is none yet', async () => {
    const harness = networkHarness();
    harness.edge.mayNameAddresses = true;
    await harness.ensure({ address: '203.0.113.99' });
    assert.deepEqual([only(harness).address, only(harness).portId], ['203.0.113.99', vipPort(harness)]);
    await harness.ensure({ address: '203.0.113.98', mayChangeAddress: true });
    assert.deepEqual([only(harness).address, only(harness).portId], ['203.0.113.98', vipPort(harness)]);
  });

  it('goes to the first of two Services that name it, and the second says so', async () => {
    const { harness, one } = named();
    harness.fake.fault = (call) => {
      if (call.method === 'PUT' && one.portId === null) {
        one.portId = 'port-2';
        one.revision = 1;
      }
      return undefined;
    };
    const result = await harness.ensure({ address: one.address });
    assert.deepEqual([reasons(result), one.portId], [['Conflict'], 'port-2']);
  });
});

describe('floating IPs, whatever Services ask for and persons do', () => {
  /** What a Service shows. */
  const shownBy = ({ edge, balancers }: NetworkHarness): string | undefined => {
    const [balancer] = balancers.values();
    const floating = [...edge.floatingIps.values()].find(({ portId }) => portId === balancer?.vipPortId);
    return floating?.address ?? (balancer?.tags.length ? balancer.vipAddress : undefined);
  };
  const asked = fc.record({
    internal: fc.boolean(),
    keepFloatingIp: fc.constantFrom(true, false, undefined),
    address: fc.constantFrom(undefined, '203.0.113.50', '203.0.113.51', '203.0.113.52'),
    mayChangeAddress: fc.boolean(),
    /** That change of the run fails once. */
    failing: fc.option(fc.nat(3)),
  });

  it('keeps the address without consent, leaves floating IPs of others, and deletes or retains its own', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(asked, { minLength: 1, maxLength: 5 }), async (requests) => {
        const harness = networkHarness();
        const theirs = [
          floatingIpFor(harness.fake, harness.edge, {
            address: '203.0.113.50',
            tags: [consent],
            description: 'lent',
          }),
          floatingIpFor(harness.fake, harness.edge, { address: '203.0.113.51', description: 'foreign' }),
          floatingIpFor(harness.fake, harness.edge, {
            address: '203.0.113.52',
            description: 'kept [mooring c1 retained default/other]',
          }),
        ];
        const before = theirs.map(({ description }) => description);
        for (const { failing, internal, keepFloatingIp, ...desired } of requests) {
          const was = shownBy(harness);
          let at = 0;
          harness.fake.fault = ({ method, path }, response) => {
            if (method === 'GET' || !path.startsWith('/floatingips') || at++ !== failing) return undefined;
            response.writeHead(503);
            response.end();
            return 'answered';
          };
          await harness.ensure(desired, { internal, keepFloatingIp });
          if (was !== undefined && !desired.mayChangeAddress) assert.equal(shownBy(harness), was);
          assert.deepEqual([theirs.map(({ description }) => description), theirs[1]!.portId], [before, null]);
          harness.changes();
          await harness.ensure();
          assert.deepEqual(harness.changes(), [], 'a second run changes nothing');
        }
        harness.fake.fault = undefined;
        await harness.remove();
        const left = [...harness.edge.floatingIps.values()].filter((one) => !theirs.includes(one));
        for (const { description, portId } of left)
          assert.match(`${portId} ${description}`, /^null .* retained default/);
        assert.ok(theirs.every(({ portId }) => portId === null || portId === undefined || harness.balancers.size > 0));
      }),
      { numRuns: 100 },
    );
  });
});
