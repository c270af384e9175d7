import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../test/clouds/digitalocean/balancer-harness.ts';
import { port } from '../../../test/clouds/suite/desired.ts';
import { printName } from './names.ts';

describe('a load balancer of DigitalOcean', () => {
  it('creates, changes and deletes a load balancer in one call each, for any number of ports and nodes', async () => {
    const harness = await createBalancerHarness();
    harness.world.fake.activeMs = 100;
    await harness.settle({ ports: [port(80, 30080)] });
    const made = harness.calls();
    assert.deepEqual(
      made.filter((call) => call.startsWith('POST')),
      ['POST /v2/load_balancers'],
    );
    assert.ok(made.length <= 7, made.join('\n'));
    await harness.settle({ ports: [1, 2, 3, 4].map((each) => port(each, 30_000 + each)), members: [] });
    assert.deepEqual(
      harness.calls().filter((call) => !call.startsWith('GET')),
      ['PUT /v2/load_balancers/{id}'],
    );
    await harness.remove();
    assert.deepEqual(
      harness.calls().filter((call) => !call.startsWith('GET')),
      ['DELETE /v2/load_balancers/{id}'],
    );
  });

  it('reads at most every other second while the cloud takes a minute to make a load balancer', async () => {
    const harness = await createBalancerHarness();
    const { observed } = await harness.settle();
    assert.equal(observed?.ingress[0]?.ip, harness.balancer().address.ip);
    const reads = harness.calls().filter((call) => call.startsWith('GET'));
    assert.ok(reads.length <= 30, `${reads.length} reads`);
  });

  it('carries the tag of the cluster and the VPC from its creation', async () => {
    const harness = await createBalancerHarness({ DO_CLUSTER_ID: 'c-1' });
    await harness.settle();
    const { tags, wire, region } = harness.balancer();
    assert.deepEqual([tags, wire['vpc_uuid'], region], [['k8s:c-1'], harness.world.fake.vpc, 'nyc3']);
  });

  it('changes a load balancer that stands while the VPC cannot be read', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const body = { id: 'server_error', message: 'down' };
    harness.world.fake.fault = ({ path }) => (path.startsWith('/v2/vpcs') ? { status: 503, body } : undefined);
    await harness.restart();
    await harness.settle({ ports: [port(443, 30443)] });
    assert.equal(harness.balancer().wire.forwarding_rules[0]?.['entry_port'], 443);
  });

  it('waits while the cloud works on a load balancer', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    harness.world.fake.busyMs = 20_000;
    await harness.settle({ ports: [port(80, 30080), port(443, 30443)] });
    await harness.settle({ ports: [port(443, 30443)] });
    assert.deepEqual(
      harness.balancer().wire.forwarding_rules.map(({ entry_port: entry }) => entry),
      [443],
    );
    await harness.remove();
    assert.equal(harness.world.fake.balancers.size, 0);
  });

  it('keeps what no annotation says when something else changes', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const chosen = { size_unit: 4, http_idle_timeout_seconds: 90, project_id: 'p-1', tls_cipher_policy: 'STRONG' };
    Object.assign(harness.balancer().wire, chosen);
    await harness.age();
    await harness.settle({ ports: [port(443, 30443)] });
    const { size_unit, http_idle_timeout_seconds, project_id, tls_cipher_policy } = harness.balancer().wire;
    assert.deepEqual({ size_unit, http_idle_timeout_seconds, project_id, tls_cipher_policy }, chosen);
    await harness.settle({ annotations: { 'size-unit': '2' } });
    assert.equal(harness.balancer().wire['size_unit'], 2);
  });

  it('follows its nodes after it was made with the name of a size', async () => {
    const harness = await createBalancerHarness();
    const annotations = { 'size-slug': 'lb-medium' };
    await harness.settle({ annotations });
    assert.equal((await harness.settle({ annotations })).calls, 0);
    await harness.settle({ annotations, members: harness.desired().members.slice(1) });
    const { wire } = harness.balancer();
    assert.deepEqual([wire.droplet_ids.length, wire['size_unit']], [1, 3]);
    await harness.settle({ annotations: { 'size-slug': 'lb-large' } });
    assert.equal(harness.balancer().wire['size_unit'], 6);
  });

  it('gets its nodes and ports while the cloud refuses another size', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    harness.world.fake.mayResize = false;
    const resized = { annotations: { 'size-unit': '2' }, members: harness.desired().members.slice(1) };
    await assert.rejects(harness.settle(resized), /size cannot be modified/);
    assert.equal(harness.balancer().wire.droplet_ids.length, 1);
    harness.world.fake.mayResize = true;
    await harness.settle(resized);
    assert.equal(harness.balancer().wire['size_unit'], 2);
  });

  it('serves what it can of a Service, and names every field that it cannot', async () => {
    const harness = await createBalancerHarness();
    const { refusals } = await harness.settle({
      ports: [port(80, 30080), port(53, 30053, { protocol: 'SCTP' }), port(443, 0)],
      sessionAffinity: { timeoutSeconds: 60 },
      address: '192.0.2.1',
    });
    assert.deepEqual(
      refusals.map(({ message, ports }) => [message.replace(/service.beta.*do-/, '...'), ports]),
      [
        ['spec.ports: SCTP 53, expected TCP or UDP', [{ port: 53, protocol: 'SCTP' }]],
        ['spec.ports: TCP 443, expected a node port', [{ port: 443, protocol: 'TCP' }]],
        ['spec.sessionAffinity: "ClientIP", expected "None", or ...loadbalancer-sticky-sessions-type', undefined],
        ['spec.loadBalancerIP: "192.0.2.1", expected none, or ...loadbalancer-ip', undefined],
      ],
    );
    assert.equal(harness.balancer().wire.forwarding_rules.length, 1);
  });

  it('makes no load balancer where nothing can be served, and keeps one that stands as it is', async () => {
    const harness = await createBalancerHarness();
    const nothing = { ports: [port(53, 30053, { protocol: 'SCTP' })] } as const;
    await harness.settle(nothing);
    assert.equal(harness.world.fake.balancers.size, 0);
    await harness.settle();
    const before = structuredClone(harness.balancer().wire);
    await harness.settle(nothing);
    assert.deepEqual(harness.balancer().wire, before);
  });

  it('keeps a load balancer as it is while an annotation cannot be read, and says which', async () => {
    const harness = await createBalancerHarness();
    await harness.settle();
    const before = structuredClone(harness.balancer().wire);
    for (const [annotations, expected] of [
      [{ type: 'GLOBAL' }, /do-loadbalancer-type: "GLOBAL", expected REGIONAL or REGIONAL_NETWORK/],
      [{ 'tls-ports': '443;80' }, /tls-ports: "443;80", expected port numbers/],
      [{ protocol: 'https' }, /certificate-id: missing, expected it, .*certificate-name or .*tls-passthrough/],
      [{ 'http-ports': '80', 'tls-ports': '80', 'tls-passthrough': 'true' }, /\*-ports: 80, expected each port/],
      [{ 'sticky-sessions-type': 'cookies' }, /cookie-name: missing, expected a name/],
      [{ 'size-unit': '2', 'size-slug': 'lb-small' }, /size-slug: "lb-small", expected it or size-unit, not both/],
      [{ 'allow-rules': 'ip:1.2.3.4,1.2.3.5' }, /allow-rules: "ip:1.2.3.4,1.2.3.5", expected ip:ADDRESS/],
      [{ 'override-health-check': '', 'healthcheck-port': '81' }, /healthcheck-port: "81", expected a TCP port of/],
      [{ name: 'x'.repeat(200) }, /has \d+ characters, expected at most 255/],
      [{ 'service.kubernetes.io/do-loadbalancer-disown': 'true' }, /do-loadbalancer-disown: "true", expected false/],
    ] as const) {
      const { refusals, calls } = await harness.settle({ annotations, ports: [port(443, 30443)] });
      assert.match(refusals.map(({ message }) => message).join('; '), expected);
      assert.equal(calls, 0);
    }
    const attached = await harness.settle({ attach: { id: 'lb-1', allowed: true } });
    assert.match(attached.refusals[0]!.message, /mooring.dev\/load-balancer-id: "lb-1", expected none/);
    assert.deepEqual(harness.balancer().wire, before);
  });

  it('replaces a load balancer for another type or network, with consent to another address', async () => {
    for (const annotations of [
      { type: 'REGIONAL_NETWORK' },
      { network: 'INTERNAL' },
      { 'network-stack': 'DUALSTACK' },
    ]) {
      const harness = await createBalancerHarness();
      await harness.settle();
      const { id } = harness.balancer();
      const { refusals } = await harness.settle({ annotations });
      assert.deepEqual([refusals.map(({ reason }) => reason), harness.balancer().id], [['AddressWouldChange'], id]);
      await harness.settle({ annotations, mayChangeAddress: true });
      const [[name, value]] = Object.entries(annotations) as [[string, string]];
      assert.equal(harness.balancer().wire[name.replace('-', '_')], value);
      assert.notEqual(harness.balancer().id, id);
    }
  });

  it('shows the hostname of the annotation instead of its address, after a restart, too', async () => {
    const harness = await createBalancerHarness();
    const annotations = { hostname: 'LB.example.com', name: 'front' };
    const { observed } = await harness.settle({ annotations });
    assert.deepEqual(observed?.ingress, [{ hostname: 'lb.example.com' }]);
    const mark = { owner: harness.owner, service: 'shop/web', title: 'front', hostname: 'lb.example.com' };
    assert.equal(harness.balancer().wire.name, printName(mark));
    await harness.restart();
    const again = await harness.settle({ annotations });
    assert.deepEqual([again.observed?.ingress, again.calls], [[{ hostname: 'lb.example.com' }], 0]);
    const { ip } = harness.balancer().address;
    assert.deepEqual((await harness.settle()).observed?.ingress, [{ ip, ipMode: 'VIP' }]);
    const proxied = await harness.settle({ annotations: { 'enable-proxy-protocol': 'true' } });
    assert.deepEqual(proxied.observed?.ingress, [{ ip, ipMode: 'Proxy' }]);
  });

  it('says which annotations have no effect', async () => {
    const harness = await createBalancerHarness();
    const { loadBalancers } = await harness.world.open();
    const annotations = { algorithm: 'round_robin', 'healthcheck-path': '/x' };
    const plan = loadBalancers!.plan(harness.desired({ annotations }));
    assert.deepEqual(plan.remarks, [
      'service.beta.kubernetes.io/do-loadbalancer-algorithm has no effect: the cloud chooses',
      'service.beta.kubernetes.io/do-loadbalancer-healthcheck-path has no effect without ' +
        'service.beta.kubernetes.io/do-loadbalancer-override-health-check',
    ]);
  });
});
