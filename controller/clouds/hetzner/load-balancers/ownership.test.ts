import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type Ask,
  type BalancerHarness,
  classicName,
  cluster,
  createBalancerHarness,
  labelsFor,
  type More,
  owner,
} from '../../../../test/clouds/hetzner/balancer-harness.ts';
import type { FakeBalancer } from '../../../../test/clouds/hetzner/fake-resources.ts';
import { port } from '../../../../test/clouds/suite/desired.ts';

const consent = { 'mooring.dev/attachable-by': cluster, 'mooring.dev/attachable-namespace': 'shop' };
const service = (number: number) => ({
  protocol: 'tcp' as const,
  listen_port: number,
  destination_port: 30000 + number,
  proxyprotocol: false,
  http: undefined,
  health_check: { protocol: 'tcp', port: 30000 + number, interval: 15, timeout: 10, retries: 3 },
});
const portsOf = ({ services }: FakeBalancer) => services.map(({ listen_port }) => listen_port);

async function refused(harness: BalancerHarness, ask: Ask, more?: More): Promise<string[]> {
  const { refusals } = await harness.settle(harness.desired(ask), more);
  return refusals.map(({ reason, message }) => `${reason}: ${message}`);
}

describe('a foreign load balancer of Hetzner Cloud', () => {
  it('serves a Service of the namespace that its labels name, and keeps its own settings and labels', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: { ...consent, team: 'x' } });
    const before = JSON.stringify(theirs);
    const attach = { id: String(theirs.id), allowed: false };
    const annotations = { type: 'lb21', 'algorithm-type': 'least_connections', location: 'nbg1' };
    assert.deepEqual(await refused(harness, { attach, annotations }), []);
    assert.deepEqual(portsOf(theirs), [80, 443]);
    assert.deepEqual([theirs.type.name, theirs.algorithm, theirs.place.name], ['lb11', 'round_robin', 'fsn1']);
    assert.equal(theirs.labels['team'], 'x');
    harness.calls();
    assert.equal((await harness.settle(undefined)).state, 'settled');
    const writes = harness.calls().filter((call) => !call.startsWith('GET'));
    assert.equal(writes.indexOf('PUT /load_balancers/{id}'), writes.length - 1, 'labels go last');
    assert.equal(JSON.stringify(theirs), before);
  });

  it('finds a foreign load balancer by its name, in either annotation', async () => {
    for (const ask of [{ annotations: { name: 'theirs' } }, { attach: { id: 'theirs', allowed: false } }]) {
      const harness = createBalancerHarness();
      const theirs = harness.addBalancer('theirs', { labels: consent });
      assert.deepEqual(await refused(harness, ask), []);
      assert.deepEqual(portsOf(theirs), [80, 443]);
      assert.equal(harness.fake.balancers.size, 1);
    }
  });

  it('leaves a foreign load balancer alone without consent, by id and by name', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs');
    const before = JSON.stringify(theirs);
    const [byId] = await refused(harness, { attach: { id: String(theirs.id), allowed: false } });
    assert.match(byId!, new RegExp(`^ForeignLoadBalancer: load balancer ${theirs.id} has no tag .* ${cluster}/shop`));
    assert.match(byId!, /in the labels mooring.dev.attachable-by, mooring.dev.attachable-namespace/);
    const byName = await refused(harness, { annotations: { name: 'theirs' } });
    assert.deepEqual(byName, [
      `ForeignLoadBalancer: load balancer/main: name theirs is taken by load balancer ${theirs.id}`,
    ]);
    assert.equal(JSON.stringify(theirs), before);
    assert.equal(harness.fake.balancers.size, 1);
  });

  it('leaves a load balancer alone whose labels name another namespace or Service, or the cluster alone', async () => {
    for (const labels of [
      { ...consent, 'mooring.dev/attachable-namespace': 'other' },
      { 'mooring.dev/attachable-by': cluster },
      { ...consent, 'mooring.dev/attachable-namespace': 'other.third' },
      { ...consent, 'mooring.dev/attachable-service': 'api' },
    ]) {
      const harness = createBalancerHarness();
      const theirs = harness.addBalancer('theirs', { labels });
      const [first] = await refused(harness, { attach: { id: String(theirs.id), allowed: false } });
      assert.match(first!, /^ForeignLoadBalancer: /);
      assert.deepEqual(portsOf(theirs), []);
    }
  });

  it('serves a Service with the consent of the whole cluster where the operator lets it', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: { 'mooring.dev/attachable-by': cluster } });
    const attach = { id: String(theirs.id), allowed: false };
    assert.deepEqual(await refused(harness, { attach, clusterWideConsent: true }), []);
    assert.deepEqual(portsOf(theirs), [80, 443]);
    // The operator takes it back: what is there stays, and nothing is added.
    const ports = [port(80, 30080), port(443, 30443), port(8080, 30808)];
    const [first] = await refused(harness, { attach, ports });
    assert.match(first!, /^ForeignLoadBalancer: /);
    assert.deepEqual(portsOf(theirs), [80, 443]);
  });

  it('serves one Service alone: a second one is refused, and so is one that serves ports of others', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: consent });
    const attach = { id: String(theirs.id), allowed: false };
    await harness.settle(harness.desired({ attach }));
    const before = JSON.stringify(theirs);
    const second = {
      ...harness.desired({ attach, ports: [port(8080, 30808)] }),
      owner: { cluster, service: 'second' },
    };
    const [conflict, ...rest] = (await harness.settle(second)).refusals;
    assert.deepEqual(rest, []);
    assert.equal(conflict?.message, `load balancer ${theirs.id} is used by Service shop/web`);
    assert.deepEqual(conflict.ports, [{ port: 8080, protocol: 'TCP' }]);
    assert.equal(JSON.stringify(theirs), before);

    const shared = harness.addBalancer('shared', { services: [service(22)], labels: consent });
    await harness.audit();
    const other = { ...second, attach: { id: String(shared.id), allowed: true } };
    const [first] = (await harness.settle(other)).refusals;
    assert.match(first!.message, /serves port 22 for others, expected one that serves nothing else/);
    assert.deepEqual(portsOf(shared), [22]);
  });

  it('leaves a foreign load balancer to the Service that labelled it a moment before', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: consent });
    const byId = `/v1/load_balancers/${theirs.id}`;
    harness.fake.fault = ({ path }) => {
      if (path === byId)
        theirs.labels = { ...consent, ...labelsFor('second', 'shop/api'), 'mooring.dev/attached': 'true' };
      return undefined;
    };
    const [first] = await refused(harness, { attach: { id: String(theirs.id), allowed: false } });
    assert.equal(first, `Conflict: load balancer ${theirs.id} is used by Service shop/api`);
    assert.equal(theirs.labels['mooring.dev/service-uid'], 'second');
    assert.deepEqual(portsOf(theirs), []);
  });

  it('replaces a foreign load balancer by its own when the Service names it no more', async () => {
    const harness = createBalancerHarness();
    const theirs = harness.addBalancer('theirs', { labels: consent });
    const before = JSON.stringify(theirs);
    await harness.settle(harness.desired({ attach: { id: String(theirs.id), allowed: true } }));
    assert.match((await refused(harness, {}))[0]!, /^AddressWouldChange: .*which others made/);
    assert.deepEqual(portsOf(theirs), [80, 443]);
    assert.deepEqual(await refused(harness, { mayChangeAddress: true }, { mayChangeAddress: true }), []);
    assert.deepEqual(portsOf(harness.balancer(classicName)), [80, 443]);
    assert.equal(JSON.stringify(theirs), before);
  });

  it('creates nothing in place of a named load balancer that does not exist', async () => {
    const harness = createBalancerHarness();
    const found = await refused(harness, { attach: { id: '999', allowed: true } });
    assert.deepEqual(found, ['Unsupported: load balancer "999" does not exist in this project']);
    assert.equal(harness.fake.balancers.size, 0);
  });
});

describe('a load balancer of the classic controller of Hetzner Cloud', () => {
  it('adopts a load balancer with the address that the Service shows, and changes its labels alone', async () => {
    const harness = createBalancerHarness();
    const classic = harness.addClassic();
    const { labels, ...before } = structuredClone(classic);
    await harness.settle(harness.desired(), { adopt: [classic.ipv4] });
    const { labels: after, ...same } = classic;
    assert.deepEqual(same, before);
    assert.deepEqual(after, { ...labels, ...labelsFor() });
    assert.deepEqual(
      harness
        .calls()
        .filter((call) => !call.startsWith('GET'))
        .slice(1),
      ['PUT /load_balancers/{id}'],
    );
  });

  it('adopts a load balancer, and keeps the health checks that a person tuned', async () => {
    const harness = createBalancerHarness();
    const [first, ...rest] = harness.addClassic().services;
    const classic = harness.balancer();
    const health_check = { ...first!.health_check, interval: 3, timeout: 2 };
    classic.services = [{ ...first!, proxyprotocol: true, health_check }, ...rest];
    await harness.settle(harness.desired(), { adopt: [classic.ipv6] });
    assert.deepEqual(classic.services[0]?.health_check, health_check);
    assert.equal(classic.services[0]?.proxyprotocol, true);
  });

  it('adopts a load balancer of a Service that shows a hostname alone, and keeps the hostname', async () => {
    const harness = createBalancerHarness();
    harness.addClassic();
    const annotations = { hostname: 'web.example.com' };
    await harness.settle(harness.desired({ annotations }), { adopt: ['web.example.com'] });
    assert.deepEqual(harness.ingress(), [{ hostname: 'web.example.com' }]);
  });

  it('leaves the load balancer of another Service alone, although this Service shows its address', async () => {
    const harness = createBalancerHarness();
    const classic = harness.addClassic({ labels: { 'hcloud-ccm/service-uid': 'another' } });
    const before = JSON.stringify(classic);
    const { refusals } = await harness.settle(harness.desired(), { adopt: [classic.ipv4] });
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['ForeignLoadBalancer'],
    );
    assert.equal(JSON.stringify(classic), before);
  });

  it('leaves a load balancer alone where the Service shows another address, or without --adopt', async () => {
    for (const more of [{ adopt: ['203.0.113.99'] }, {}]) {
      const harness = createBalancerHarness();
      const classic = harness.addClassic();
      const before = JSON.stringify(classic);
      const { refusals } = await harness.settle(harness.desired(), more);
      assert.deepEqual(
        refusals.map(({ reason }) => reason),
        ['ForeignLoadBalancer'],
      );
      assert.equal(JSON.stringify(classic), before);
      assert.equal(harness.fake.balancers.size, 1);
    }
  });

  it('adopts a load balancer together with its managed certificate', async () => {
    const harness = createBalancerHarness();
    const annotations = {
      protocol: 'https',
      'certificate-type': 'managed',
      'http-managed-certificate-domains': 'web.example.com',
    };
    const classic = harness.addClassic();
    const certificate = {
      id: 77,
      type: 'managed' as const,
      created: harness.fake.now(),
      domain_names: ['web.example.com'],
      name: `ccm-managed-certificate-${owner.service}`,
      certificate: null,
      labels: { ...classic.labels },
    };
    harness.fake.certificates.set(77, certificate);
    const http = { certificates: [77] };
    classic.services = classic.services.map((one) => ({ ...one, protocol: 'https' as const, http }));
    await harness.settle(harness.desired({ annotations }), { adopt: [classic.ipv4] });
    assert.deepEqual([...harness.fake.certificates.keys()], [77]);
    assert.equal(certificate.labels['mooring.dev/service-uid'], owner.service);
    await harness.settle(undefined);
    assert.equal(harness.fake.certificates.size, 0);
  });
});

describe('ownership of a load balancer of Hetzner Cloud', () => {
  it('leaves a load balancer that lost its labels as it is, and creates nothing instead', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const one = harness.balancer();
    one.labels = {};
    await harness.audit();
    const { refusals } = await harness.settle(harness.desired({ ports: [port(80, 30080)] }));
    assert.ok(refusals.some(({ reason }) => reason === 'ForeignLoadBalancer'));
    assert.deepEqual(portsOf(harness.balancer()), [80, 443]);
    await harness.settle(undefined);
    assert.equal(harness.fake.balancers.size, 1);
  });

  it('ends when its Service goes with retention, and comes back to a Service of the namespace', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    const { ipv4, id } = harness.balancer();
    await harness.settle(undefined, { retain: true });
    assert.deepEqual(portsOf(harness.balancer()), [80, 443]);
    assert.equal(harness.balancer().labels['mooring.dev/service-uid'], undefined);

    const other = { cluster, service: 'a-new-one' };
    const attach = { id: String(id), allowed: false };
    const stranger = { ...harness.desired({ attach, service: 'bank/web' }), owner: other };
    assert.equal((await harness.settle(stranger)).state, 'refused');
    const heir = { ...harness.desired({ attach, ports: [port(80, 30090)] }), owner: other };
    assert.deepEqual((await harness.settle(heir)).refusals, []);
    assert.equal(harness.balancer().ipv4, ipv4);
    assert.deepEqual(portsOf(harness.balancer()), [80]);
  });

  it('ends without a deletion where a person protects the load balancer', async () => {
    const harness = createBalancerHarness();
    await harness.settle(harness.desired());
    harness.balancer().isProtected = true;
    harness.restart();
    assert.equal((await harness.settle(undefined)).state, 'settled');
    assert.equal(harness.balancer().labels['mooring.dev/retained'], 'true');
  });
});

describe('a certificate that a person uploaded', () => {
  it('keeps an uploaded certificate that a record names as its own and a port refers to', async () => {
    const harness = createBalancerHarness();
    const domains = { domain_names: ['bank.example.com'], name: 'bank', certificate: 'pem', labels: {} };
    const certificate = { id: 77, type: 'uploaded' as const, created: harness.fake.now(), ...domains };
    harness.fake.certificates.set(77, certificate as never);
    harness.journals.set(owner.service, { claimed: true, ids: { 'certificate/managed': '77' }, tried: [] });
    harness.restart();
    await harness.settle(harness.desired({ annotations: { protocol: 'https', 'http-certificates': '77' } }));
    await harness.settle(undefined);
    assert.deepEqual([...harness.fake.certificates.keys()], [77]);
    assert.equal(harness.fake.balancers.size, 0);
  });
});
