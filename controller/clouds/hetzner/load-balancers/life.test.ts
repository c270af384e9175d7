import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness, owner } from '../../../../test/clouds/hetzner/balancer-harness.ts';
import type { FakeBalancer } from '../../../../test/clouds/hetzner/fake-resources.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';
import { checkDefaults } from './driver.ts';

const portsOf = ({ services }: FakeBalancer) => services.map(({ listen_port }) => listen_port);
const changesOf = (calls: readonly string[]) => calls.filter((call) => !call.startsWith('GET'));
const serversOf = ({ targets }: FakeBalancer) => targets.map(({ server, ip }) => server?.id ?? ip?.ip);

describe('a load balancer of Hetzner Cloud', () => {
  it('serves what it can of a Service, and names every field that it cannot', async () => {
    const harness = createBalancerHarness();
    const { refusals } = await harness.settle(
      harness.desired({
        ports: [port(80, 30080), port(53, 30053, { protocol: 'UDP' }), port(443, 0)],
        sessionAffinity: { timeoutSeconds: 10_800 },
        address: '192.0.2.1',
      }),
    );
    assert.deepEqual(
      refusals.map(({ message, ports }) => [message, ports]),
      [
        [
          'spec.sessionAffinity: "ClientIP", expected "None", or load-balancer.hetzner.cloud/http-sticky-sessions',
          undefined,
        ],
        ['spec.loadBalancerIP: "192.0.2.1", expected none: the cloud chooses the address', undefined],
        ['spec.ports: UDP 53, expected TCP', [{ port: 53, protocol: 'UDP' }]],
        ['spec.ports: TCP 443, expected a node port', [{ port: 443, protocol: 'TCP' }]],
      ],
    );
    assert.deepEqual(portsOf(harness.balancer()), [80]);
  });

  it('adds no port while the Service has source ranges, which this cloud cannot keep', async () => {
    const harness = createBalancerHarness();
    const narrowed = { sourceRanges: ['192.0.2.0/24'], ports: [port(80, 30080), port(443, 30443)] };
    const refused = await harness.settle(harness.desired(narrowed));
    assert.match(refused.refusals[0]!.message, /^spec.loadBalancerSourceRanges: 192.0.2.0\/24, expected none/);
    assert.equal(harness.fake.balancers.size, 0);
    await harness.settle(harness.desired({ ports: [port(80, 30080)] }));
    const { members } = harness.desired();
    await harness.settle(harness.desired({ ...narrowed, members: members.slice(1) }));
    assert.deepEqual(portsOf(harness.balancer()), [80], 'what stands is kept');
    assert.equal(serversOf(harness.balancer()).length, members.length - 1, 'and gets its members');
    await harness.settle(harness.desired({ ...narrowed, sourceRanges: [] }));
    assert.deepEqual(portsOf(harness.balancer()), [80, 443]);
  });

  it('changes a port from HTTPS to HTTP, without the certificates and the redirection of before', async () => {
    const harness = createBalancerHarness();
    const ports = [port(443, 30443)];
    const managed = { 'certificate-type': 'managed', 'http-managed-certificate-domains': 'web.example.com' };
    const annotations = { protocol: 'https', 'http-redirect-http': 'true', ...managed };
    await harness.settle(harness.desired({ annotations, ports }));
    const plain = harness.desired({ annotations: { protocol: 'http' }, ports });
    await harness.settle(plain);
    const [service] = harness.balancer().services;
    const { certificates, redirect_http: redirects } = service!.http!;
    assert.deepEqual([service!.protocol, certificates, redirects], ['http', [], false]);
    assert.equal(harness.fake.certificates.size, 0);
    harness.calls();
    await harness.settle(plain);
    assert.deepEqual(changesOf(harness.calls()), []);
  });

  it('gets the name of the cloud back as reverse DNS by an empty annotation', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired({ annotations: { 'ipv4-rdns': 'web.example.com' } }));
    assert.equal(harness.balancer().dnsPtrs.size, 1);
    const empty = harness.desired({ annotations: { 'ipv4-rdns': '' } });
    await harness.settle(empty);
    assert.equal(harness.balancer().dnsPtrs.size, 0);
    harness.restart();
    harness.calls();
    await harness.settle(empty);
    assert.deepEqual(changesOf(harness.calls()), []);
  });

  it('makes no load balancer without a location, and leaves one where it stands', async () => {
    const harness = createBalancerHarness({ defaults: { location: '' } });
    const { refusals } = await harness.settle(harness.desired());
    const expected = 'expected it or load-balancer.hetzner.cloud/network-zone';
    assert.deepEqual(
      refusals.map(({ message }) => message),
      [`load-balancer.hetzner.cloud/location: missing, ${expected}`],
    );
    assert.equal(harness.fake.balancers.size, 0);
    await harness.settle(harness.desired({ annotations: { location: 'hel1' } }));
    assert.deepEqual((await harness.settle(harness.desired({ ports: [port(80, 30080)] }))).refusals, []);
    assert.deepEqual([harness.balancer().place.name, portsOf(harness.balancer())], ['hel1', [80]]);
  });

  it('creates a load balancer in a network zone', async () => {
    const harness = createBalancerHarness({ defaults: { location: '' } });
    await harness.settle(harness.desired({ annotations: { 'network-zone': 'us-east' } }));
    assert.equal(harness.balancer().place.network_zone, 'us-east');
  });

  it('keeps its place and its public interface without consent to another address', async () => {
    for (const annotations of [{ location: 'nbg1' }, { 'disable-public-network': 'true', 'use-private-ip': 'true' }]) {
      const harness = createBalancerHarness({ network: 'nodes' });
      await harness.settle(harness.desired({ annotations: { 'use-private-ip': 'true' } }));
      const { ipv4 } = harness.balancer();
      const { refusals } = await harness.settle(harness.desired({ annotations, ports: [port(80, 30080)] }));
      assert.deepEqual(
        refusals.map(({ reason }) => reason),
        ['AddressWouldChange'],
      );
      assert.deepEqual([harness.balancer().ipv4, harness.balancer().isPublic], [ipv4, true]);
      assert.deepEqual(portsOf(harness.balancer()), [80]);
    }
  });

  it('names a server that the cloud refuses, and serves all others, at creation and later', async () => {
    const harness = createBalancerHarness({ network: 'nodes', servers: 3 });
    const [first, second, third] = harness.members;
    const outside = harness.fake.addServer('outside');
    const refused = { ...first!, node: 'outside', providerID: `hcloud://${outside.id}` };
    const gone = { ...first!, node: 'gone', providerID: 'hcloud://999999' };
    const annotations = { 'use-private-ip': 'true' };
    const result = await harness.reconcile(harness.desired({ annotations, members: [first!, refused, second!, gone] }));
    assert.deepEqual([...result.refused].sort(), [gone.providerID, refused.providerID].sort());
    assert.equal(harness.balancer().targets.length, 2);
    const later = await harness.reconcile(harness.desired({ annotations, members: [refused, third!, second!] }));
    assert.deepEqual(later.refused, [refused.providerID]);
    assert.deepEqual(
      serversOf(harness.balancer())
        .map((id) => `hcloud://${id}`)
        .sort(),
      [second!, third!].map((one) => one.providerID).sort(),
    );
  });

  it('names the servers and ports that are too many for its type', async () => {
    const harness = createBalancerHarness({ servers: 26 });
    const ports = [1, 2, 3, 4, 5, 6].map((number) => port(number, 30000 + number));
    const result = await harness.reconcile(harness.desired({ ports }));
    assert.equal(result.state, 'failed');
    assert.equal(result.refused.length, 1);
    assert.deepEqual([harness.balancer().targets.length, portsOf(harness.balancer()).length], [25, 5]);
    const larger = await harness.settle(harness.desired({ ports, annotations: { type: 'lb21' } }));
    assert.deepEqual(
      [larger.state, harness.balancer().targets.length, portsOf(harness.balancer()).length],
      ['settled', 26, 6],
    );
  });

  it('leaves targets by a label selector alone', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const one = harness.balancer();
    const selected = {
      type: 'label_selector',
      label_selector: { selector: 'pool=web' },
      use_private_ip: false,
    } as const;
    one.targets = [...one.targets, selected];
    await harness.audit();
    assert.equal((await harness.settle(harness.desired())).state, 'settled');
    assert.deepEqual(
      one.targets.filter(({ type }) => type === 'label_selector'),
      [selected],
    );
  });

  it('keeps a server that is known by its providerID alone, and adds none', async () => {
    const harness = createBalancerHarness({ servers: 3 });
    const [first, second, third] = harness.members;
    await harness.settle(harness.desired({ members: [first!, second!] }));
    const bare = [second!, third!].map((one) => ({ ...one, node: '', addresses: [] }));
    await harness.settle(harness.desired({ members: [first!, ...bare] }));
    assert.equal(harness.balancer().targets.length, 2);
  });

  it('gets back what a person removed by hand, at the next read of everything', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const one = harness.balancer();
    const [web, ...rest] = one.services;
    one.services = rest;
    one.targets = one.targets.slice(1);
    await harness.audit();
    await harness.settle(harness.desired());
    assert.deepEqual(portsOf(one).sort(), [443, web!.listen_port].sort());
    assert.equal(one.targets.length, 2);
  });

  it('waits while an action of others locks it', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const one = harness.balancer();
    harness.fake.actions.durationMs = 8000;
    harness.fake.actions.start('change_protection', [{ id: one.id, type: 'load_balancer' }]);
    harness.fake.actions.durationMs = 800;
    const ask = harness.desired({ ports: [port(80, 30080)] });
    assert.equal((await harness.reconcile(ask)).state, 'waiting');
    await harness.settle(ask);
    assert.deepEqual(portsOf(one), [80]);
  });

  it('tries again after a failed action', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    harness.fake.actions.failNext = { code: 'action_failed', message: 'no' };
    await harness.settle(harness.desired({ ports: [port(8080, 30808)] }));
    assert.deepEqual(portsOf(harness.balancer()), [8080]);
  });

  it('targets private addresses of dedicated servers with use-private-ip, otherwise their main ones', async () => {
    const harness = createBalancerHarness({ network: 'nodes', dedicated: new Map([['321', '203.0.113.21']]) });
    harness.fake.dedicated.set(321, { server_ip: '203.0.113.21' } as never);
    const metal = { node: 'metal', providerID: 'hrobot://321', addresses: ['10.9.0.1'], zone: '', draining: false };
    await harness.settle(harness.desired({ members: [metal] }));
    assert.deepEqual(serversOf(harness.balancer()), ['203.0.113.21']);
    await harness.settle(harness.desired({ members: [metal], annotations: { 'use-private-ip': 'true' } }));
    assert.deepEqual(serversOf(harness.balancer()), ['10.9.0.1']);
  });

  it('keeps addresses of dedicated servers while the main address of one of them is unknown', async () => {
    const dedicated = new Map([['321', '203.0.113.21']]);
    const harness = createBalancerHarness({ dedicated });
    harness.fake.dedicated.set(321, { server_ip: '203.0.113.21' } as never);
    const metal = { node: 'metal', providerID: 'hrobot://321', addresses: ['10.9.0.1'], zone: '', draining: false };
    await harness.settle(harness.desired({ members: [metal] }));
    dedicated.delete('321');
    await harness.audit();
    const { refusals } = await harness.settle(harness.desired({ members: [metal] }));
    assert.deepEqual(
      refusals.map(({ message }) => message),
      ['dedicated server/321: 321 does not exist'],
    );
    assert.deepEqual(serversOf(harness.balancer()), ['203.0.113.21']);
  });

  it('names a certificate that does not exist, and leaves the port as it is', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const annotations = { protocol: 'https', 'http-certificates': 'none' };
    const { refusals } = await harness.settle(harness.desired({ annotations }));
    assert.deepEqual(
      refusals.map(({ message }) => message),
      ['certificate/none: none does not exist'],
    );
    assert.deepEqual(
      harness.balancer().services.map(({ protocol }) => protocol),
      ['tcp', 'tcp'],
    );
  });

  it('makes a certificate for new domains before the ports turn to it, and deletes the old one last', async () => {
    const harness = createBalancerHarness();
    const annotations = { protocol: 'https', 'certificate-type': 'managed' };
    const domains = 'http-managed-certificate-domains';
    await harness.settle(harness.desired({ annotations: { ...annotations, [domains]: 'a.example.com' } }));
    harness.calls();
    await harness.settle(harness.desired({ annotations: { ...annotations, [domains]: 'b.example.com' } }));
    assert.deepEqual(
      harness.calls().filter((call) => !call.startsWith('GET')),
      [
        'POST /certificates',
        'POST /load_balancers/{id}/actions/update_service',
        'POST /load_balancers/{id}/actions/update_service',
        'DELETE /certificates/{id}',
      ],
    );
  });

  it('gets an address of its own in the network, and reaches its targets there', async () => {
    const harness = createBalancerHarness({ network: 'nodes' });
    const annotations = { 'private-ipv4': '10.0.0.77', 'use-private-ip': 'true' };
    const { state } = await harness.settle(harness.desired({ annotations }));
    const { privateNets, targets } = harness.balancer();
    assert.deepEqual([state, privateNets.map(({ ip }) => ip)], ['settled', ['10.0.0.77']]);
    assert.deepEqual(
      targets.map(({ use_private_ip }) => use_private_ip),
      [true, true],
    );
  });

  it('gets no managed certificate without domains', async () => {
    const harness = createBalancerHarness();
    const annotations = { protocol: 'https', 'certificate-type': 'managed' };
    const { refusals } = await harness.settle(harness.desired({ annotations }));
    const missing = 'load-balancer.hetzner.cloud/http-managed-certificate-domains: missing';
    assert.equal(refusals[0]?.message, `${missing}, expected DNS names, separated by commas`);
    assert.deepEqual([harness.fake.balancers.size, harness.fake.certificates.size], [0, 0]);
  });

  it('requests private addresses of targets only with a network', async () => {
    const harness = createBalancerHarness();
    const { refusals } = await harness.settle(harness.desired({ annotations: { 'use-private-ip': 'true' } }));
    assert.match(refusals[0]!.message, /use-private-ip: "true", expected HCLOUD_NETWORK beside it/);
  });

  it('takes the variables of the classic controller where a Service has no annotation', async () => {
    const defaults = {
      location: 'hel1',
      type: 'lb21',
      'algorithm-type': 'least_connections',
      'uses-proxyprotocol': 'true',
      'use-private-ip': 'true',
      'health-check-interval': '20s',
      'disable-private-ingress': 'true',
    };
    const harness = createBalancerHarness({ network: 'nodes', defaults });
    await harness.settle(harness.desired({ annotations: { 'algorithm-type': 'round_robin' } }));
    const { place, type, algorithm, services, targets } = harness.balancer();
    assert.deepEqual([place.name, type.name, algorithm], ['hel1', 'lb21', 'round_robin']);
    assert.deepEqual([services[0]!.proxyprotocol, services[0]!.health_check['interval']], [true, 20]);
    assert.ok(targets.every(({ use_private_ip }) => use_private_ip));
    assert.equal(harness.ingress().length, 2);
  });

  it('names those of these variables that are invalid', () => {
    const defaults = new Map([
      ['type', 'lb11'],
      ['ipv6-disabled', 'maybe'],
      ['health-check-timeout', '5'],
    ]);
    const duration = "a duration in Go's syntax, in whole seconds: 15s, 1m30s";
    assert.deepEqual(
      [...checkDefaults(defaults)].sort(),
      [
        `HCLOUD_LOAD_BALANCERS_DISABLE_IPV6: "maybe", expected true or false`,
        `HCLOUD_LOAD_BALANCERS_HEALTH_CHECK_TIMEOUT: "5", expected ${duration}`,
      ].sort(),
    );
  });

  it('changes no load balancer of another Service or cluster', async () => {
    const harness = createBalancerHarness();
    const second = { ...harness.desired({ service: 'shop/api' }), name: 'a2', owner: { ...owner, service: 'second' } };
    await harness.settle(second);
    const before = JSON.stringify(harness.balancer('a2'));
    await harness.settle(harness.desired());
    await harness.settle(undefined);
    assert.equal(JSON.stringify(harness.balancer('a2')), before);
  });
});
