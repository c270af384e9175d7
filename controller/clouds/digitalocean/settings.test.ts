import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createBalancerHarness } from '../../../test/clouds/digitalocean/balancer-harness.ts';
import { port } from '../../../test/clouds/suite/desired.ts';

const certificate = '892071a0-bb95-49bc-8021-3afd67a210bf';
const other = 'ba9b9c18-6c59-46c2-99df-70da170a42ba';

async function setUp() {
  const harness = await createBalancerHarness();
  harness.world.fake.certificates.set(certificate, 'web');
  await harness.restart();
  const rules = async (annotations: Readonly<Record<string, string>>, ports = [port(80, 30080), port(443, 30443)]) => {
    const { refusals } = await harness.settle({ annotations, ports });
    assert.deepEqual(refusals, []);
    return harness.balancer().wire.forwarding_rules.map((rule) => {
      const end = rule['tls_passthrough'] ? ' passthrough' : rule['certificate_id'] ? ' certificate' : '';
      return `${rule['entry_protocol']} ${rule['entry_port']} ${rule['target_protocol']} ${rule['target_port']}${end}`;
    });
  };
  const wire = async (annotations: Readonly<Record<string, string>>) => {
    const { refusals } = await harness.settle({ annotations });
    assert.deepEqual(refusals, []);
    return harness.balancer().wire;
  };
  return { harness, rules, wire };
}

describe('annotations of the classic controller', () => {
  for (const [annotations, expected] of [
    [{}, ['tcp 80 tcp 30080', 'tcp 443 tcp 30443']],
    [{ protocol: 'http' }, ['http 80 http 30080', 'http 443 http 30443']],
    [{ 'http-ports': '80' }, ['http 80 http 30080', 'tcp 443 tcp 30443']],
    [{ 'certificate-id': certificate }, ['tcp 80 tcp 30080', 'https 443 http 30443 certificate']],
    [
      { 'certificate-name': 'web', 'http2-ports': '443', protocol: 'http' },
      ['http 80 http 30080', 'http2 443 http 30443 certificate'],
    ],
    [{ 'tls-passthrough': 'true' }, ['tcp 80 tcp 30080', 'https 443 https 30443 passthrough']],
    [
      { 'tls-passthrough': 'true', 'tls-ports': '80,443' },
      ['https 80 https 30080 passthrough', 'https 443 https 30443 passthrough'],
    ],
    [
      { 'certificate-name': 'web', 'http3-port': '443' },
      ['tcp 80 tcp 30080', 'https 443 http 30443 certificate', 'http3 443 http 30443 certificate'],
    ],
  ] as const)
    it(`makes ${expected.join(', ')} of ${JSON.stringify(annotations)}`, async () => {
      const { rules } = await setUp();
      assert.deepEqual(await rules(annotations), expected);
    });

  it('keeps the ports of a network load balancer, and needs no node ports', async () => {
    const { rules } = await setUp();
    const ports = [port(80, 0), port(53, 0, { protocol: 'UDP' })];
    assert.deepEqual(await rules({ type: 'REGIONAL_NETWORK' }, ports), ['tcp 80 tcp 80', 'udp 53 udp 53']);
  });

  it('say nothing of health checks without the one that overrides, and all of them with it', async () => {
    const { wire } = await setUp();
    const times = {
      check_interval_seconds: 3,
      response_timeout_seconds: 5,
      unhealthy_threshold: 3,
      healthy_threshold: 5,
    };
    const usual = { protocol: 'http', port: 10_256, path: '/healthz', proxy_protocol: false };
    assert.deepEqual((await wire({ 'healthcheck-path': '/x' }))['health_check'], { ...usual, ...times });
    const override = { 'override-health-check': 'true' };
    const check = async (more: Readonly<Record<string, string>>) => {
      const { protocol, port: checked, path } = (await wire({ ...override, ...more }))['health_check'] as typeof usual;
      return [protocol, checked, path];
    };
    assert.deepEqual(await check({}), ['tcp', 30_080, '/']);
    assert.deepEqual(await check({ 'healthcheck-path': '/ready' }), ['http', 30_080, '/ready']);
    assert.deepEqual(await check({ 'healthcheck-protocol': 'https', 'healthcheck-path': '/a' }), [
      'https',
      30_080,
      '/a',
    ]);
    const { check_interval_seconds, healthy_threshold } = (
      await wire({ 'healthcheck-check-interval-seconds': '10', 'healthcheck-healthy-threshold': '2' })
    )['health_check'] as typeof times;
    assert.deepEqual([check_interval_seconds, healthy_threshold], [10, 2]);
  });

  it('stand in the fields of the API, and are taken back with them', async () => {
    const { wire } = await setUp();
    const cookies = { 'sticky-sessions-cookie-name': 'lb', 'sticky-sessions-cookie-ttl': '60' };
    const said = await wire({
      'sticky-sessions-type': 'cookies',
      ...cookies,
      'redirect-http-to-https': 'true',
      'enable-proxy-protocol': 'T',
      'enable-backend-keepalive': '1',
      'disable-lets-encrypt-dns-records': 'true',
      'http-idle-timeout-seconds': '90',
      'deny-rules': 'ip:1.2.3.4',
      'allow-rules': 'cidr:10.0.0.0/8, ip:2001:db8::1',
    });
    const names = ['redirect_http_to_https', 'enable_proxy_protocol', 'enable_backend_keepalive'] as const;
    assert.deepEqual(
      [...names, 'disable_lets_encrypt_dns_records'].map((name) => said[name]),
      [true, true, true, true],
    );
    assert.deepEqual(said['sticky_sessions'], { type: 'cookies', cookie_name: 'lb', cookie_ttl_seconds: 60 });
    assert.deepEqual(said['firewall'], { allow: ['cidr:10.0.0.0/8', 'ip:2001:db8::1'], deny: ['ip:1.2.3.4'] });
    assert.equal(said['http_idle_timeout_seconds'], 90);
    const plain = await wire({});
    assert.deepEqual(
      names.map((name) => plain[name]),
      [false, false, false],
    );
    assert.deepEqual([plain['sticky_sessions'], plain['firewall']], [{ type: 'none' }, { allow: [], deny: [] }]);
  });

  it('prefers spec.loadBalancerSourceRanges to the annotations of the firewall', async () => {
    const { harness } = await setUp();
    const annotations = { 'allow-rules': 'ip:1.2.3.4' };
    await harness.settle({ annotations, sourceRanges: ['192.0.2.0/24'] });
    assert.deepEqual(harness.balancer().wire['firewall'], { allow: ['cidr:192.0.2.0/24'], deny: [] });
    await harness.settle({ annotations, asksForEverybody: true });
    assert.deepEqual(harness.balancer().wire['firewall'], { allow: [], deny: [] });
  });
});

describe('a certificate', () => {
  it('keeps a certificate in the rules that the cloud has renewed under another id', async () => {
    const { harness, rules } = await setUp();
    const annotations = { 'certificate-id': certificate };
    await rules(annotations);
    harness.world.fake.certificates.clear();
    harness.world.fake.certificates.set(other, 'web');
    for (const rule of harness.balancer().wire.forwarding_rules)
      if (rule['certificate_id'] === certificate) rule['certificate_id'] = other;
    await harness.restart();
    const { calls, refusals } = await harness.settle({ annotations, ports: [port(80, 30080), port(443, 30443)] });
    assert.deepEqual([calls, refusals], [0, []]);
  });

  it('names a certificate that does not exist, and changes nothing', async () => {
    const { harness, rules } = await setUp();
    await rules({ 'certificate-name': 'web' });
    const before = structuredClone(harness.balancer().wire);
    const { refusals, calls } = await harness.settle({ annotations: { 'certificate-name': 'gone' } });
    assert.equal(calls, 0);
    assert.match(refusals.map(({ message }) => message).join(), /gone does not exist/);
    assert.deepEqual(harness.balancer().wire, before);
  });
});
