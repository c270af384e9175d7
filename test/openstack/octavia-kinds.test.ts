import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ownerTags } from '../../controller/clouds/load-balancers.ts';
import { keys } from '../../controller/clouds/openstack/load-balancers/annotations.ts';
import { tag } from '../../controller/clouds/openstack/load-balancers/tags.ts';
import type { FakeCall } from '../../controller/clouds/openstack/testing/fake-openstack.ts';
import { port } from '../clouds/desired.ts';
import { type OctaviaHarness, octaviaHarness, reasons } from './octavia-harness.ts';

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

  it('the VIP goes into the subnet of the members, which they are told, too', async () => {
    await open();
    await harness.ensure();
    const body = posted(harness, '/lbaas/loadbalancers')[0] ?? {};
    assert.equal(body['vip_subnet_id'], 'subnet-1');
    const [listener] = body['listeners'] as { default_pool: { members: { subnet_id: string }[] } }[];
    assert.deepEqual(
      listener?.default_pool.members.map(({ subnet_id }) => subnet_id),
      ['subnet-1', 'subnet-1'],
    );
  });

  it('network, subnet, port, flavour, zone and member subnet go into the one request', async () => {
    const { fake } = await open(
      `[LoadBalancer]\nflavor-id = ${uuid(1)}\n[LoadBalancerClass "a"]\nnetwork-id = ${uuid(2)}\nsubnet-id = ${uuid(3)}\n`,
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

  it('an existing port is the VIP, and outlives the load balancer', async () => {
    const { fake } = await open();
    fake.ports.push({
      id: uuid(5),
      deviceId: '',
      networkId: 'net-1',
      subnetId: 'subnet-1',
      ips: ['10.20.9.9'],
      deviceOwner: '',
    });
    const { observed } = await harness.ensure({ annotations: { [keys.portId]: uuid(5), [keys.internal]: 'true' } });
    assert.deepEqual(observed?.ingress, [{ ip: '10.20.9.9' }]);
    harness.octavia.breakDown(harness.only().id);
    const anew = await harness.ensure();
    assert.deepEqual(anew.observed?.ingress, [{ ip: '10.20.9.9' }]);
    await harness.remove();
    assert.ok(fake.ports.some(({ id }) => id === uuid(5)));
  });

  it('an internal one may name its VIP', async () => {
    await open();
    const { observed } = await harness.ensure({ annotations: { [keys.internal]: 'true' }, address: '10.20.8.8' });
    assert.deepEqual(observed?.ingress, [{ ip: '10.20.8.8' }]);
    assert.deepEqual(reasons(await harness.ensure({ address: '10.20.8.9' })), ['AddressWouldChange']);
  });

  it('one of IPv6 shows its VIP, and its members are reached by theirs', async () => {
    const { fake } = await open(`[LoadBalancer]\nsubnet-id = ${uuid(6)}\n`);
    fake.subnets.push({ id: uuid(6), networkId: 'net-1', cidr: 'fd00:1::/64' });
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

  it('TLS ends at the listener, with the container that is named, for TCP ports alone', async () => {
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

  it('provider ovn gets nothing that it refuses', async () => {
    await open('[LoadBalancer]\nlb-provider = ovn\ncreate-monitor = true\n');
    harness.octavia.providers.add('ovn');
    const udp = port(53, 30053, { protocol: 'UDP' });
    const { refusals } = await harness.ensure({
      ports: [port(80, 30080), udp],
      sessionAffinity: { timeoutSeconds: 60 },
    });
    assert.deepEqual(refusals, []);
    const [balancer] = harness.octavia.balancers.values();
    assert.deepEqual(
      balancer?.pools.map(({ fields }) => fields['lb_algorithm']),
      ['SOURCE_IP_PORT', 'SOURCE_IP_PORT'],
    );
    assert.deepEqual(
      balancer.pools.map(({ monitor }) => monitor?.fields['type']),
      ['TCP', 'UDP-CONNECT'],
    );
    assert.equal((await harness.ensure()).calls, 0);
    assert.deepEqual(
      (await harness.ensure({ trafficPolicy: 'Local', healthCheck: { port: 32_100, path: '/healthz' } })).calls,
      0,
    );
    const { balancers } = await harness.driving();
    assert.equal(balancers.drains, false);
    const closed = await harness.ensure({ sourceRanges: ['192.0.2.0/24'] });
    assert.deepEqual(reasons(closed), ['Unsupported']);
    assert.equal(closed.calls, 0);
  });

  it('nothing is made while a setting is not understood, and what is there stays and follows the rest', async () => {
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
      ['members'],
    );
  });

  it('the classic annotation does not attach: it says how', async () => {
    await open();
    const driven = await harness.ensure({ annotations: { [keys.loadBalancerId]: uuid(7) } });
    assert.deepEqual([driven.calls, reasons(driven)], [0, ['Unsupported']]);
    assert.match(driven.refusals[0]?.message ?? '', /mooring\.dev\/load-balancer-id/);
  });

  it('a shared load balancer takes so many Services and no more', async () => {
    await open('[LoadBalancer]\nmax-shared-lb = 1\n');
    const id = await harness.world.createForeignLoadBalancer('shared', true);
    const [balancer] = harness.octavia.balancers.values();
    balancer!.listeners[0]!.fields['tags'] = ['kube_service_kubernetes_default_first'];
    const driven = await harness.ensure({ attach: { id, allowed: false }, ports: [port(8443, 30443)] });
    assert.deepEqual([driven.calls, reasons(driven)], [0, ['Conflict']]);
    assert.match(driven.refusals[0]?.message ?? '', /max-shared-lb of the cloud config is 1/);
  });

  it('of its own to a shared one and back only with consent, and without a trace', async () => {
    await open();
    const first = await harness.ensure();
    const id = await harness.world.createForeignLoadBalancer('shared', true);
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

  it('two of ours by a create that was lost are not possible, but if there were the older one stays', async () => {
    await open();
    await harness.ensure();
    const [balancer] = harness.octavia.balancers.values();
    const { owner } = harness.desired;
    assert.ok(balancer && (balancer.fields['tags'] as string[]).includes(tag(ownerTags.service, owner.service)));
    harness.octavia.balancers.set(uuid(8), {
      ...balancer,
      id: uuid(8),
      fields: { ...balancer.fields, created_at: '2027-01-01T00:00:00' },
      listeners: [],
      pools: [],
    });
    assert.equal((await harness.ensure()).observed?.id, balancer.id);
    harness.octavia.balancers.delete(uuid(8));
  });
});
