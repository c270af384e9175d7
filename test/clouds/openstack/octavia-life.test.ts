import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { keys } from '../../../controller/clouds/openstack/load-balancers/annotations.ts';
import { floatingIpDescription } from '../../../controller/clouds/openstack/load-balancers/names.ts';
import { retainedTags, tag, tagValue } from '../../../controller/clouds/openstack/load-balancers/tags.ts';
import { desiredFor, memberOf, newOwner, port } from '../suite/desired.ts';
import { ensure, remove } from '../suite/drive.ts';
import { floatingIpFor } from './fake/fake-floating-ips.ts';
import { type OctaviaHarness, octaviaHarness, reasons, steps } from './octavia-harness.ts';

describe('the life of an Octavia load balancer', () => {
  let harness: OctaviaHarness;
  const open = async (config = '') => {
    harness = await octaviaHarness(config);
    return harness;
  };
  afterEach(() => harness.close());

  it('starts with one request for all but the floating IP, with our tags beside the classic names', async () => {
    const { octavia, edge } = await open('[LoadBalancer]\ncreate-monitor = true\n');
    harness.calls();
    await harness.ensure({ ports: [port(80, 30080), port(53, 30053, { protocol: 'UDP' })] });
    const changes = harness.calls().filter((call) => !call.startsWith('GET'));
    assert.deepEqual(changes, ['POST /lbaas/loadbalancers', 'POST /floatingips']);
    const one = harness.only();
    const classic = `kube_service_kubernetes_${harness.desired.service.replace('/', '_')}`;
    assert.equal(one.fields['name'], classic);
    const tags = one.fields['tags'] as string[];
    for (const each of [
      classic,
      tag(ownerTags.cluster, harness.desired.owner.cluster),
      tag(ownerTags.service, harness.desired.owner.service),
    ])
      assert.ok(tags.includes(each), each);
    const [balancer] = octavia.balancers.values();
    assert.deepEqual(
      balancer?.listeners.map(({ fields }) => fields['name']),
      [`listener_0_${classic}`, `listener_1_${classic}`],
    );
    assert.deepEqual(
      balancer?.pools.map(({ monitor }) => monitor?.fields['type']),
      ['HTTP', 'HTTP'],
    );
    assert.deepEqual(
      balancer?.pools.flatMap(({ members }) => members.map(({ fields }) => fields['monitor_port'])),
      Array(4).fill(10_256),
    );
    const [floating] = edge.floatingIps.values();
    assert.match(floating?.description ?? '', /^Floating IP for Kubernetes external service default\/web-/);
  });

  it('starts part by part with a provider that takes no whole one, the listener last', async () => {
    await open('[LoadBalancer]\nprovider-requires-serial-api-calls = true\ncreate-monitor = true\n');
    harness.calls();
    await harness.ensure();
    const changes = harness.calls().filter((call) => !call.startsWith('GET'));
    assert.ok(changes.includes('POST /floatingips'));
    // Neutron does not wait for Octavia.
    const atOctavia = changes.filter((call) => call !== 'POST /floatingips');
    assert.deepEqual(atOctavia, [
      'POST /lbaas/loadbalancers',
      'POST /lbaas/pools',
      'POST /lbaas/pools/ID/members',
      'POST /lbaas/pools/ID/members',
      'POST /lbaas/healthmonitors',
      'POST /lbaas/listeners',
    ]);
    await harness.ensure({ members: harness.vms.slice(1).map((vm) => memberOf(vm, true)) });
    const after = harness.calls().filter((call) => !call.startsWith('GET'));
    assert.deepEqual(after, ['PUT /lbaas/pools/ID/members/ID', 'DELETE /lbaas/pools/ID/members/ID']);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('shows the VIP of an internal one, and only when it is certain', async () => {
    const { edge } = await open();
    const { observed } = await harness.ensure({ annotations: { [keys.internal]: 'true' } });
    assert.deepEqual(observed?.ingress, [{ ip: harness.only().fields['vip_address'] }]);
    assert.equal(edge.floatingIps.size, 0);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('changes from external to internal and back only with consent, with the floating IP', async () => {
    const { edge } = await open();
    const first = await harness.ensure();
    const internal = await harness.ensure({ annotations: { [keys.internal]: 'true' } });
    assert.deepEqual(reasons(internal), ['AddressWouldChange']);
    assert.equal(internal.calls, 0);
    assert.deepEqual(internal.observed?.ingress, first.observed?.ingress);
    const changed = await harness.ensure({ mayChangeAddress: true });
    assert.deepEqual(changed.observed?.ingress, [{ ip: harness.only().fields['vip_address'] }]);
    assert.equal(edge.floatingIps.size, 0);
    const refused = await harness.ensure({ annotations: {}, mayChangeAddress: false });
    assert.deepEqual(reasons(refused), ['AddressWouldChange']);
    const back = await harness.ensure({ mayChangeAddress: true });
    assert.equal(back.observed?.ingress[0]?.ip, [...edge.floatingIps.values()][0]?.address);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('shows the VIP as address, and the reason, where no external network exists', async () => {
    const { fake } = await open();
    fake.externalNetworks.clear();
    const driven = await harness.ensure();
    assert.deepEqual(reasons(driven), ['Unsupported']);
    assert.match(driven.refusals[0]?.message ?? '', /no external network/);
    assert.deepEqual(driven.observed?.ingress, [{ ip: harness.only().fields['vip_address'] }]);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('shows the VIP as address in a cloud without routers, without an error', async () => {
    const { fake } = await open();
    fake.fault = (call, response) => {
      const path = call.service === 'network' ? call.path : '';
      if (path !== '/floatingips' && path !== '/networks') return undefined;
      const refused = path === '/networks';
      response.writeHead(refused ? 400 : 404, { 'content-type': 'application/json' });
      const type = refused ? 'HTTPBadRequest' : 'HTTPNotFound';
      response.end(JSON.stringify({ NeutronError: { type, message: 'The resource could not be found.', detail: '' } }));
      return 'answered';
    };
    const driven = await harness.ensure();
    assert.deepEqual(reasons(driven), ['Unsupported']);
    assert.deepEqual(driven.observed?.ingress, [{ ip: harness.only().fields['vip_address'] }]);
  });

  it('tries the subnets for floating IPs one after another, by name', async () => {
    const { fake, edge } = await open('[LoadBalancer]\nfloating-subnet = blue-*\n');
    for (const n of [1, 2, 3]) {
      fake.subnets.push({ id: `blue-${n}`, networkId: 'net-public', cidr: `198.51.${n}.0/24`, name: `blue-${n}` });
    }
    edge.fullSubnets.add('blue-1').add('blue-2');
    const driven = await harness.ensure();
    assert.equal(driven.calls, 4);
    assert.equal(edge.floatingIps.size, 1);
  });

  it('creates a pool with PROXY protocol before the listener changes to it', async () => {
    const { octavia } = await open();
    const before = await harness.ensure();
    const driven = await harness.ensure({ annotations: { [keys.proxyProtocol]: 'v2' } });
    assert.deepEqual(
      driven.steps.map(({ action, resource }) => `${action} ${resource}`),
      ['create pool', 'update pool', 'update listener', 'delete pool'],
    );
    const [balancer] = octavia.balancers.values();
    assert.deepEqual(
      balancer?.pools.map(({ fields }) => fields['protocol']),
      ['PROXYV2'],
    );
    assert.deepEqual(driven.observed?.ingress, [{ ip: before.observed?.ingress[0]?.ip, ipMode: 'Proxy' }]);
  });

  it('shows a host name instead of addresses with PROXY protocol', async () => {
    await open('[LoadBalancer]\nenable-ingress-hostname = true\n');
    const { observed } = await harness.ensure({ annotations: { [keys.proxyProtocol]: 'true' } });
    assert.match(observed?.ingress[0]?.hostname ?? '', /^203\.0\.113\.\d+\.nip\.io$/);
  });

  it('stores its own host name in the cloud', async () => {
    await open();
    const { observed } = await harness.ensure({ annotations: { [keys.hostname]: 'web.example.org' } });
    assert.deepEqual(observed?.ingress, [{ hostname: 'web.example.org' }]);
    const without = await harness.ensure({ annotations: {} });
    assert.equal(without.calls, 1);
    assert.ok(without.observed?.ingress[0]?.ip);
  });

  it('serves TCP ports as HTTP for X-Forwarded-For, by a new listener', async () => {
    const { octavia } = await open();
    await harness.ensure();
    const { steps: done } = await harness.ensure({ annotations: { [keys.forwardedFor]: 'true' } });
    assert.ok(done.some(({ action, resource }) => action === 'delete' && resource === 'listener'));
    const [balancer] = octavia.balancers.values();
    assert.deepEqual(
      balancer?.listeners.map(({ fields }) => [fields['protocol'], fields['insert_headers']]),
      [['HTTP', { 'X-Forwarded-For': 'true' }]],
    );
    assert.deepEqual(
      balancer?.pools.map(({ fields }) => fields['protocol']),
      ['HTTP'],
    );
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('takes back its listeners and pools whose retention did not come to its end, and no other ones', async () => {
    const { octavia } = await open();
    const before = await harness.ensure();
    const parts = () => [...octavia.balancers.values()].flatMap(({ listeners, pools }) => [...listeners, ...pools]);
    for (const { fields } of parts()) fields['tags'] = retainedTags(fields['tags'] as string[]);
    harness.calls();
    const { refusals, observed } = await harness.ensure();
    assert.deepEqual([refusals, observed?.id], [[], before.observed?.id]);
    assert.ok(harness.calls().every((call) => !/^(POST|DELETE)/.test(call)));
    for (const { fields } of parts()) {
      const tags = fields['tags'] as string[];
      assert.equal(tagValue(tags, ownerTags.service), harness.desired.owner.service);
      assert.equal(tagValue(tags, ownerTags.retained), undefined);
    }
    const [listener] = parts();
    listener!.fields['tags'] = [tag(ownerTags.retained, 'unknown'), 'kube_service_kubernetes_default_other'];
    assert.deepEqual(reasons(await harness.ensure()), ['Conflict']);
  });

  it('leaves a retained floating IP without owner when its Service goes', async () => {
    const { edge, octavia } = await open();
    const { observed } = await harness.ensure({ annotations: { [keys.keepFloatingIp]: 'true' } });
    // The Service is gone, and its annotations with it.
    harness.desired = { ...harness.desired, annotations: {} };
    await harness.remove();
    assert.equal(octavia.balancers.size, 0);
    assert.deepEqual(
      [...edge.floatingIps.values()].map(({ address }) => address),
      [observed?.ingress[0]?.ip],
    );
    assert.equal(await harness.observe(), undefined);
    const { balancers } = await harness.driving();
    const listed = await harness.world.during(balancers.observeAll(harness.world.cluster));
    assert.deepEqual(
      listed.map(({ id, name, owner, retained, service }) => ({ id, name, owner, retained, service })),
      [
        {
          id: undefined,
          name: observed?.ingress[0]?.ip,
          owner: undefined,
          retained: true,
          service: harness.desired.service,
        },
      ],
    );
  });

  it('deletes the floating IP where the operator does not allow retention, which it tells before', async () => {
    const { edge } = await open();
    const annotations = { [keys.keepFloatingIp]: 'true' };
    await harness.ensure({ annotations });
    const now = await harness.ensure({ annotations, mayKeepAddress: false });
    assert.deepEqual(reasons(now), ['RetentionNotAllowed']);
    assert.match(now.refusals[0]?.message ?? '', /--allow-keep-address/);
    assert.deepEqual(now.observed?.ingress[0]?.ip, [...edge.floatingIps.values()][0]?.address);
    assert.equal((await harness.ensure()).calls, 0);
    await harness.remove();
    assert.equal(edge.floatingIps.size, 0);
  });

  for (const [service, whom, expected] of [
    ['default/next', 'a Service of its namespace', []],
    ['evil/grab', 'a Service of another namespace', ['ForeignLoadBalancer']],
  ] as const) {
    it(`${expected.length > 0 ? 'refuses' : 'gives'} a retained floating IP to ${whom} that names it`, async () => {
      const { edge, world } = await open();
      await harness.ensure({ annotations: { [keys.keepFloatingIp]: 'true' } });
      await harness.remove();
      const [kept] = edge.floatingIps.values();
      assert.match(kept!.description, /\[mooring \S+ retained default\/web-\w+\]$/);
      // As earlier versions have marked it.
      const old = kept!.description.replace(/ default\/web-\w+\]$/, ']');
      for (const description of [kept!.description, old]) {
        kept!.description = description;
        const another = { ...desiredFor(newOwner(world.cluster), harness.vms), service, address: kept!.address };
        const driving = await harness.driving({ desired: another, record: { id: undefined } });
        const driven = await ensure(driving);
        assert.deepEqual(
          [driven.refusals.map(({ reason }) => reason), driven.calls > 0],
          [expected, expected.length === 0],
        );
        await remove(driving);
        // Neutron takes it off a port that is gone.
        await world.inventory();
        assert.equal(kept!.portId, null);
      }
    });
  }

  it('what is said of the floating IP while Octavia is at work is written, and mistaken for nothing else', async () => {
    const { octavia, edge } = await open('[LoadBalancer]\ncreate-monitor = true\n');
    floatingIpFor(harness.fake, edge, { description: floatingIpDescription(harness.desired) });
    octavia.looks = 3;
    const driven = await harness.ensure({ annotations: { [keys.keepFloatingIp]: 'true' } });
    assert.deepEqual(driven.observed?.ingress, [{ ip: [...edge.floatingIps.values()][0]?.address }]);
    assert.deepEqual([edge.floatingIps.size, octavia.balancers.size], [1, 1]);
    assert.match([...edge.floatingIps.values()][0]?.description ?? '', / keep\]$/);
    assert.ok(driven.calls <= 3, `${driven.calls} calls`);
    assert.equal((await harness.ensure()).calls, 0);
  });

  it('deletes the parts one by one without cascade', async () => {
    const { octavia } = await open('[LoadBalancer]\ncascade-delete = false\n');
    await harness.ensure();
    harness.calls();
    await harness.remove();
    assert.equal(octavia.balancers.size, 0);
    assert.deepEqual(
      harness.calls().filter((call) => !call.startsWith('GET')),
      [
        'DELETE /lbaas/listeners/ID',
        'DELETE /lbaas/pools/ID',
        'DELETE /lbaas/loadbalancers/ID',
        'DELETE /floatingips/ID',
      ],
    );
  });

  it('continues for another Service when its own Service goes', async () => {
    const { octavia, edge } = await open();
    const { observed } = await harness.ensure();
    const [balancer] = octavia.balancers.values();
    assert.ok(balancer && observed);
    const other = { ...balancer.listeners[0]!, id: '00000000-0000-4000-8000-0000000000aa' };
    balancer.listeners.push({
      ...other,
      fields: { ...other.fields, protocol_port: 81, tags: ['kube_service_kubernetes_default_other'] },
    });
    await harness.remove();
    assert.equal(octavia.balancers.size, 1);
    assert.deepEqual(
      balancer.listeners.map(({ fields }) => fields['protocol_port']),
      [81],
    );
    assert.equal(edge.floatingIps.size, 1);
    assert.equal((await harness.remove()).calls, 0);
  });

  it('refuses an address of spec.loadBalancerIP that is on another port', async () => {
    const { edge, fake } = await open();
    const one = floatingIpFor(fake, edge, {
      tags: [tag(ownerTags.consent, `${harness.world.cluster}/default`)],
      portId: fake.ports[1]!.id,
    });
    const driven = await harness.ensure({ address: one.address });
    assert.deepEqual(reasons(driven), ['Conflict']);
    assert.equal(driven.calls, 0);
  });

  it('replaces no floating IP without consent that was moved to another port', async () => {
    const { edge, fake } = await open();
    await harness.ensure();
    const [floating] = edge.floatingIps.values();
    floating!.portId = fake.ports[1]!.id;
    const driven = await harness.ensure();
    assert.deepEqual(reasons(driven), ['Conflict']);
    assert.equal(driven.calls, 0);
    await harness.ensure({ mayChangeAddress: true });
    assert.equal(edge.floatingIps.size, 2);
  });

  it('goes on without a Node that has no node port or address of the family, and tells it', async () => {
    await open();
    const [first, second] = harness.desired.members;
    const driven = await harness.ensure({
      members: [first!, { ...second!, addresses: ['fd00::1'] }],
      ports: [port(80, 30080), port(81, 0)],
    });
    assert.deepEqual(
      driven.refusals.map(({ message }) => message.split(':')[0]),
      [`member ${second?.node}`, 'spec.allocateLoadBalancerNodePorts'],
    );
    assert.deepEqual(
      driven.observed?.members.map(({ providerID }) => providerID),
      [first?.providerID],
    );
  });

  it('keeps a member that is known by its providerID alone, and updates its port', async () => {
    await open();
    await harness.ensure();
    const [first, second] = harness.desired.members;
    const ghost = { ...first!, node: '', addresses: [] };
    assert.equal((await harness.ensure({ members: [ghost, second!] })).calls, 0);
    const driven = await harness.ensure({ ports: [port(80, 30099)] });
    assert.equal(driven.calls, 1);
    assert.equal(driven.observed?.members.length, 2);
  });

  it('gets changes by hand reverted: members, limits, monitors, pools', async () => {
    const { octavia } = await open('[LoadBalancer]\ncreate-monitor = true\n');
    await harness.ensure();
    const [balancer] = octavia.balancers.values();
    const pool = balancer!.pools[0]!;
    pool.members.pop();
    pool.monitor!.fields['delay'] = 60;
    pool.fields['lb_algorithm'] = 'SOURCE_IP';
    balancer!.listeners[0]!.fields['connection_limit'] = 3;
    assert.equal((await harness.ensure()).calls, 4);
    balancer!.pools.length = 0;
    balancer!.listeners[0]!.poolId = null;
    const { steps: done } = await harness.ensure();
    assert.deepEqual(
      done.map(({ action, resource }) => `${action} ${resource}`),
      ['create pool', 'update pool', 'update pool', 'update listener'],
    );
    balancer!.pools[0]!.members[0]!.status = 'ERROR';
    balancer!.listeners[0]!.status = 'ERROR';
    assert.equal((await harness.ensure()).calls, 2);
    assert.deepEqual(steps(await harness.ensure()), []);
  });
});
