import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { tag } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import { desiredFor, newOwner, port } from '../suite/desired.ts';
import { ensure, refOf, remove, type ServiceRecord } from '../suite/drive.ts';
import { floatingIpFor } from './fake/fake-floating-ips.ts';
import type { FakeCall } from './fake/openstack-state.ts';
import { networkId, subnetId } from './fake-world.ts';
import { type OctaviaHarness, octaviaHarness, reasons, steps } from './octavia-harness.ts';

const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`;
const posted = ({ fake }: OctaviaHarness, path: string): Record<string, unknown>[] =>
  fake.calls
    .filter((call: FakeCall) => call.method === 'POST' && call.path === path)
    .map(({ body }) => Object.values(JSON.parse(body) as Record<string, Record<string, unknown>>)[0]!);

describe('kinds of Octavia load balancers', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('puts the VIP into the subnet of the members, and sets that subnet on members', async () => {
    await open();
    await harness.ensure();
    const body = posted(harness, '/lbaas/loadbalancers')[0] ?? {};
    assert.equal(body['vip_subnet_id'], subnetId);
    const [listener] = body['listeners'] as { default_pool: { members: { subnet_id: string }[] } }[];
    assert.deepEqual(
      listener?.default_pool.members.map(({ subnet_id }) => subnet_id),
      [subnetId, subnetId],
    );
  });

  it('sends network, subnet, port, flavour, zone and member subnet in the one request', async () => {
    const { fake } = await open(
      `[LoadBalancer]\nflavor-id = ${uuid(1)}\n[LoadBalancerClass "a"]\nnetwork-id = ${uuid(2)}\nsubnet-id = ` +
        `${uuid(3)}\n`,
    );
    fake.subnets.push({ id: uuid(3), networkId: uuid(2), cidr: '10.40.0.0/24' });
    await harness.ensure({
      annotations: { [keys.class]: 'a', [keys.memberSubnetId]: uuid(4), [keys.availabilityZone]: 'az-1' },
    });
    const body = posted(harness, '/lbaas/loadbalancers')[0] ?? {};
    const { flavor_id, availability_zone, vip_network_id, vip_subnet_id } = body;
    assert.deepEqual(
      [flavor_id, availability_zone, vip_network_id, vip_subnet_id],
      [uuid(1), 'az-1', uuid(2), uuid(3)],
    );
    const [listener] = body['listeners'] as { default_pool: { members: { subnet_id: string }[] } }[];
    assert.equal(listener?.default_pool.members[0]?.subnet_id, uuid(4));
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('gives an internal load balancer the VIP that is asked for, and refuses another one later', async () => {
    await open();
    const { observed } = await harness.ensure({ annotations: { [keys.internal]: 'true' }, address: '10.20.8.8' });
    assert.deepEqual(observed?.ingress, [{ ip: '10.20.8.8' }]);
    assert.deepEqual(reasons(await harness.ensure({ address: '10.20.8.9' })), ['AddressWouldChange']);
  });

  it('shows an IPv6 VIP, and reaches members by IPv6', async () => {
    const { fake } = await open(`[LoadBalancer]\nsubnet-id = ${uuid(6)}\n`);
    fake.subnets.push({ id: uuid(6), networkId, cidr: 'fd00:1::/64' });
    const members = harness.desired.members.map((member, at) => ({
      ...member,
      addresses: [...member.addresses, `fd00:1::${at + 5}`],
    }));
    const { observed, refusals } = await harness.ensure({
      families: ['IPv6'],
      members,
      sourceRanges: ['fd00::/8', '10.0.0.0/8'],
    });
    assert.deepEqual(refusals, []);
    assert.match(observed?.ingress[0]?.ip ?? '', /^fd00:1::/);
    const [balancer] = harness.octavia.balancers.values();
    assert.deepEqual(balancer?.listeners[0]?.fields['allowed_cidrs'], ['fd00::/8']);
    assert.deepEqual(
      balancer.pools[0]?.members.map(({ fields }) => fields['address']),
      ['fd00:1::5', 'fd00:1::6'],
    );
    assert.equal((await harness.ensure()).calls, 0);
  });

  const ofIpv6 = () => ({
    families: ['IPv6'] as const,
    members: harness.desired.members.map((one, at) => ({ ...one, addresses: [...one.addresses, `fd00:1::${at + 5}`] })),
  });

  it('puts an IPv6 VIP into an IPv6 subnet of the network that is named', async () => {
    const { fake } = await open(`[LoadBalancer]\nnetwork-id = ${networkId}\n`);
    const without = await harness.ensure(ofIpv6());
    assert.deepEqual([without.calls, reasons(without)], [0, ['Unsupported']]);
    assert.match(without.refusals[0]?.message ?? '', /^spec\.ipFamilies: .* no IPv6 subnet of network .*subnet-id/);
    harness.octavia.settle();
    fake.subnets.push({ id: uuid(6), networkId, cidr: 'fd00:1::/64' });
    await harness.world.pass(600_001);
    const { observed, refusals } = await harness.ensure();
    assert.deepEqual(refusals, []);
    assert.match(observed?.ingress[0]?.ip ?? '', /^fd00:1::/);
    assert.equal(harness.only().fields['vip_subnet_id'], uuid(6));
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('keeps a VIP of the other family, and says so', async () => {
    const { fake } = await open(`[LoadBalancer]\nsubnet-id = ${subnetId}\n`);
    fake.subnets.push({ id: uuid(6), networkId, cidr: 'fd00:1::/64' });
    await harness.ensure(ofIpv6());
    const { calls, refusals, observed } = await harness.ensure();
    assert.deepEqual([calls, observed?.ingress], [0, [{ ip: harness.only().fields['vip_address'] }]]);
    assert.match(refusals[0]?.message ?? '', /^spec\.ipFamilies: load balancer \S+ has no IPv6 address$/);
  });

  it('ends TLS at the listener of TCP ports alone, with the named container', async () => {
    await open('[LoadBalancer]\ndefault-tls-container-ref = https://barbican/v1/containers/1\n');
    const { observed } = await harness.ensure({ ports: [port(443, 30443), port(53, 30053, { protocol: 'UDP' })] });
    const [balancer] = harness.octavia.balancers.values();
    assert.deepEqual(
      balancer?.listeners.map(({ fields }) => [fields['protocol'], fields['default_tls_container_ref']]),
      [
        ['TERMINATED_HTTPS', 'https://barbican/v1/containers/1'],
        ['UDP', null],
      ],
    );
    assert.equal(observed?.ingress[0]?.ipMode, 'Proxy');
    const { steps } = await harness.ensure({
      annotations: { [keys.tlsContainerRef]: 'https://barbican/v1/containers/2' },
    });
    assert.deepEqual(
      steps.map(({ action, resource }) => `${action} ${resource}`),
      ['update listener'],
    );
    await harness.ensure({ annotations: { [keys.tlsContainerRef]: '' } });
    assert.deepEqual(balancer.listeners.map(({ fields }) => fields['protocol']).toSorted(), ['TCP', 'UDP']);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('shows a host name that fills its tag', async () => {
    await open();
    const hostname = `${'a'.repeat(60)}.`.repeat(4).slice(0, 234);
    const { observed } = await harness.ensure({ annotations: { [keys.hostname]: hostname } });
    assert.deepEqual(observed?.ingress, [{ hostname }]);
    const longer = await harness.ensure({ annotations: { [keys.hostname]: `${hostname}a` } });
    assert.deepEqual([longer.calls, reasons(longer), longer.observed?.ingress], [0, ['Unsupported'], [{ hostname }]]);
  });

  it('creates nothing with an invalid setting, and keeps an existing load balancer with its new members', async () => {
    await open();
    const refused = await harness.ensure({ annotations: { [keys.timeoutClientData]: 'long' } });
    assert.deepEqual([refused.calls, reasons(refused)], [0, ['Unsupported']]);
    await harness.ensure({ annotations: {} });
    const kept = await harness.ensure({
      annotations: { [keys.timeoutClientData]: 'long' },
      members: harness.desired.members.slice(1),
      ports: [port(80, 30080), port(81, 30081)],
    });
    assert.deepEqual(reasons(kept), ['Unsupported']);
    assert.deepEqual(
      kept.steps.map(({ resource }) => resource),
      ['pool'],
    );
  });

  it('changes nothing for a mistake in any annotation', async () => {
    await open('[LoadBalancer]\ncreate-monitor = true\nmanage-security-groups = true\n');
    await harness.ensure();
    const { balancers } = await harness.driving();
    const free = new Set<string>([
      keys.availabilityZone,
      keys.loadBalancerAddress,
      keys.floatingSubnetTags,
      keys.floatingSubnet,
    ]);
    for (const { key } of balancers.annotations) {
      const driven = await harness.ensure({ annotations: { [key]: '!!' } });
      assert.deepEqual(steps(driven), [], key);
      if (!free.has(key)) assert.deepEqual(reasons(driven), ['Unsupported'], key);
    }
  });

  it('refuses the classic annotation for attaching, and names the one of Mooring', async () => {
    await open();
    const driven = await harness.ensure({ annotations: { [keys.loadBalancerId]: uuid(7) } });
    assert.deepEqual([driven.calls, reasons(driven)], [0, ['Unsupported']]);
    assert.match(driven.refusals[0]?.message ?? '', /mooring\.dev\/load-balancer-id/);
  });

  it('refuses to share a load balancer beyond max-shared-lb', async () => {
    await open('[LoadBalancer]\nmax-shared-lb = 1\n');
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const [balancer] = harness.octavia.balancers.values();
    balancer!.listeners[0]!.fields['tags'] = ['kube_service_kubernetes_default_first'];
    const driven = await harness.ensure({ attach: { id, allowed: false }, ports: [port(8443, 30443)] });
    assert.deepEqual([driven.calls, reasons(driven)], [0, ['Conflict']]);
    assert.match(driven.refusals[0]?.message ?? '', /max-shared-lb of the cloud config is 1/);
  });

  it('moves from an own load balancer to a shared one and back only with consent, and without leftovers', async () => {
    await open();
    const first = await harness.ensure();
    const id = await harness.world.createForeignLoadBalancer('shared', `${harness.world.cluster}/default`);
    const before = await harness.world.describeLoadBalancer(id);
    const refused = await harness.ensure({ attach: { id, allowed: false }, ports: [port(8443, 30443)] });
    assert.deepEqual(reasons(refused), ['AddressWouldChange']);
    assert.deepEqual(refused.observed?.ingress, first.observed?.ingress);
    const moved = await harness.ensure({ mayChangeAddress: true });
    assert.deepEqual([moved.observed?.id, moved.observed?.attached], [id, true]);
    assert.equal(harness.octavia.balancers.size, 1);
    assert.equal((await harness.ensure()).calls, 0);
    assert.equal(harness.edge.floatingIps.size, 0);
    harness.record.id = undefined;
    const back = await harness.ensure({ attach: undefined });
    assert.notEqual(back.observed?.id, id);
    assert.equal(await harness.world.describeLoadBalancer(id), before);
    assert.equal((await harness.ensure()).calls, 0);
  });

  for (const age of ['older', 'younger']) {
    it(`deletes a ${age} duplicate of a late create, and keeps the one that serves`, async () => {
      const { fake, octavia } = await open();
      const first = await harness.ensure();
      const [balancer] = octavia.balancers.values();
      assert.ok(balancer);
      const double = structuredClone(balancer);
      const created_at = age === 'older' ? '2020-01-01T00:00:00' : '2030-01-01T00:00:00';
      const fields = { ...double.fields, created_at, vip_address: '10.20.9.9', vip_port_id: uuid(9) };
      fake.ports.push({
        id: uuid(9),
        deviceId: 'lb-double',
        deviceOwner: 'Octavia',
        networkId,
        ips: ['10.20.9.9'],
      });
      for (const one of [...double.listeners, ...double.pools]) Object.assign(one, { id: `aaaa${one.id.slice(4)}` });
      for (const one of double.listeners) one.poolId = `aaaa${String(one.poolId).slice(4)}`;
      octavia.balancers.set(uuid(8), { ...double, id: uuid(8), fields });
      const { observed, steps } = await harness.ensure();
      assert.deepEqual([observed?.id, observed?.ingress], [balancer.id, first.observed?.ingress]);
      assert.deepEqual(
        steps.map(({ action, target }) => `${action} ${target}`),
        [`delete ${uuid(8)}`],
      );
      assert.deepEqual([...octavia.balancers.keys()], [balancer.id]);
    });
  }

  it('keeps a load balancer that another Service has begun to use since the last read', async () => {
    const { edge } = await open();
    await harness.ensure();
    const own = harness.only();
    (own.fields['tags'] as string[]).push(tag(ownerTags.consent, `${harness.world.cluster}/default`));
    const { balancers } = await harness.driving();
    const [stale] = await harness.world.during(balancers.observeAll(harness.world.cluster));
    const other = desiredFor(newOwner(harness.world.cluster), harness.vms, {
      ports: [port(443, 30443)],
      attach: { id: own.id, allowed: false },
    });
    const sharing = await harness.driving({ desired: other, record: { id: undefined } });
    const { observed: shared } = await ensure(sharing);
    let observed = stale;
    for (;;) {
      const plan = balancers.planRemoval(observed!.owner!, { retain: false });
      const attempt = plan.steps.length > 0 && balancers.apply(plan, { permit: () => {} });
      if (attempt) observed = await harness.world.during(attempt.catch(() => observed));
      else {
        await harness.world.pass(plan.waitMs ?? 0);
        if (plan.waitMs === undefined) break;
        observed = await harness.world.during(balancers.observe(refOf(harness.desired, harness.record)));
      }
      if (observed === undefined) break;
    }
    const after = await ensure(await harness.driving({ desired: other, record: { id: undefined } }));
    assert.deepEqual(after.observed?.ingress, shared?.ingress);
    assert.deepEqual([after.calls, edge.floatingIps.size], [0, 1]);
    await remove(await harness.driving({ desired: other, record: { id: undefined } }));
  });

  for (const keep of ['false', 'true']) {
    it(`keeps a load balancer until the last other Service has left it; keep-floatingip: ${keep}`, async () => {
      const { octavia, edge } = await open();
      await harness.ensure({ annotations: { [keys.keepFloatingIp]: keep } });
      const own = harness.only();
      (own.fields['tags'] as string[]).push(tag(ownerTags.consent, `${harness.world.cluster}/default`));
      const other = desiredFor(newOwner(harness.world.cluster), harness.vms, {
        ports: [port(443, 30443)],
        attach: { id: own.id, allowed: false },
      });
      await ensure(await harness.driving({ desired: other, record: { id: undefined } }));
      const waits = await harness.remove();
      assert.deepEqual([octavia.balancers.size, edge.floatingIps.size], [1, 1]);
      assert.deepEqual(reasons(waits), ['Conflict']);
      const still = await ensure(await harness.driving({ desired: other, record: { id: undefined } }));
      assert.deepEqual([still.calls, still.refusals], [0, []]);
      await remove(await harness.driving({ desired: other, record: { id: undefined } }));
      await harness.remove();
      assert.deepEqual([octavia.balancers.size, edge.floatingIps.size], [0, keep === 'true' ? 1 : 0]);
    });
  }

  it('puts the VIP where the servers of the members are, not where else their addresses are', async () => {
    const { fake, vms } = await open();
    fake.networks.set('net-other', 'other');
    fake.subnets.push({ id: 'subnet-other', networkId: 'net-other', cidr: '10.20.0.0/16' });
    const ips = [...vms[0]!.addresses];
    fake.ports.unshift({ id: 'foreign', deviceId: 'foreign', networkId: 'net-other', subnetId: 'subnet-other', ips });
    await harness.ensure();
    assert.equal(harness.only().fields['vip_subnet_id'], subnetId);
  });

  it('gives an address that two Services name to the first, and tells the second', async () => {
    const { fake, edge } = await open();
    const free = floatingIpFor(fake, edge, { tags: [tag(ownerTags.consent, `${harness.world.cluster}/default`)] });
    const both = [1, 2].map(() => desiredFor(newOwner(harness.world.cluster), harness.vms, { address: free.address }));
    const records = both.map((): ServiceRecord => ({ id: undefined }));
    const run = (how: typeof ensure) =>
      Promise.all(both.map(async (desired, at) => how(await harness.driving({ desired, record: records[at]! }))));
    const driven = await run(ensure);
    assert.deepEqual(driven.map(reasons).toSorted(), [[], ['Conflict']]);
    const winner = driven.find((one) => one.refusals.length === 0);
    assert.deepEqual(winner?.observed?.ingress, [{ ip: free.address }]);
    const held = free.portId;
    assert.deepEqual((await run(ensure)).map(reasons).toSorted(), [[], ['Conflict']]);
    assert.equal(free.portId, held);
    await run(remove);
    assert.deepEqual([edge.floatingIps.size, harness.octavia.balancers.size], [1, 0]);
  });
});
