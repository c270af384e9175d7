import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type BalancerHarness,
  createBalancerHarness,
  type HarnessOptions,
  prefix,
} from '../../../test/clouds/hetzner/balancer-harness.ts';
import type { FakeBalancer } from '../../../test/clouds/hetzner/fake-resources.ts';
import { type AnnotationName, annotations, annotationTable } from './annotations.ts';

type Values = Readonly<Partial<Record<AnnotationName, string>>>;

interface Row {
  /** Beside the one that the row is about. */
  readonly beside?: Values;
  readonly value: string;
  readonly shows: (one: FakeBalancer, harness: BalancerHarness) => unknown;
  /** Without the annotation. */
  readonly before: unknown;
  readonly after: unknown;
  /** Refused with what was expected, and nothing changes. */
  readonly bad?: string;
  /** What the annotation leaves when it goes; default: `after`, since a setting without annotation stays. */
  readonly gone?: unknown;
  readonly options?: HarnessOptions;
}

const inNetwork: HarnessOptions = { network: 'nodes' };
const http = { protocol: 'http' } as const;
const https = { protocol: 'https', 'http-certificates': 'web' } as const;
const httpOf = (field: string) => (one: FakeBalancer) => one.services[0]!.http?.[field];
const checkOf = (field: string) => (one: FakeBalancer) => one.services[0]!.health_check[field];
const checkHttpOf = (field: string) => (one: FakeBalancer) =>
  (one.services[0]!.health_check['http'] as Record<string, unknown>)?.[field];
const addressOf = ({ ipv4, ipv6 }: FakeBalancer, ip: string | undefined) =>
  ip === ipv4 ? 'IPv4' : ip === ipv6 ? 'IPv6' : ip;
const ingress = (one: FakeBalancer, harness: BalancerHarness) =>
  harness
    .ingress()
    .map(({ ip, hostname, ipMode }) => [hostname ?? addressOf(one, ip), ipMode].filter(Boolean).join(' '));
const certificates = (one: FakeBalancer, { fake }: BalancerHarness) =>
  (one.services[0]!.http?.['certificates'] as readonly number[] | undefined)?.map((id) => {
    const { name, type, domain_names, labels } = fake.certificates.get(id)!;
    return [name, type, ...domain_names, ...('HC-Use-Staging-CA' in labels ? ['staging'] : [])].join(' ');
  });
const managed = {
  protocol: 'https',
  'certificate-type': 'managed',
  'http-managed-certificate-domains': 'a.example.com,b.example.com',
} as const;
const uid = '66666666-7777-4888-8999-000000000000';
const both = ['IPv4 VIP', 'IPv6 VIP'];

const rows: Readonly<Record<Exclude<AnnotationName, 'id' | 'ipv4' | 'ipv6'>, Row>> = {
  name: { value: 'web', shows: ({ name }) => name, before: 'a6666666677774888899900000000000', after: 'web', bad: ' ' },
  hostname: {
    value: 'web.example.com',
    shows: ingress,
    before: both,
    after: ['web.example.com'],
    gone: both,
    bad: 'a b',
  },
  'node-selector': {
    value: 'pool=web, disk!=hdd,zone in (a, b),arch notin (arm),gpu,!old',
    shows: (_, harness) => harness.nodeLabels(),
    before: [],
    after: [
      { key: 'pool', value: 'web' },
      { key: 'disk', value: 'hdd', not: true },
      { key: 'zone', value: undefined, values: ['a', 'b'] },
      { key: 'arch', value: undefined, values: ['arm'], not: true },
      { key: 'gpu', value: undefined },
      { key: 'old', value: undefined, not: true },
    ],
    gone: [],
    bad: 'cores > 4',
  },
  location: { value: 'nbg1', shows: ({ place }) => place.name, before: 'fsn1', after: 'nbg1' },
  'network-zone': {
    options: { defaults: { location: '', 'network-zone': 'eu-central' } },
    value: 'us-east',
    shows: ({ place }) => place.network_zone,
    before: 'eu-central',
    after: 'us-east',
  },
  type: { value: 'lb21', shows: ({ type }) => type.name, before: 'lb11', after: 'lb21', bad: ' ' },
  'algorithm-type': {
    value: 'Least_Connections',
    shows: ({ algorithm }) => algorithm,
    before: 'round_robin',
    after: 'least_connections',
    bad: 'random',
  },
  'disable-public-network': {
    beside: { 'use-private-ip': 'true' },
    value: 'true',
    options: inNetwork,
    shows: (one, harness) => [one.isPublic, ingress(one, harness)],
    before: [true, ['IPv4 VIP', 'IPv6 VIP', '10.0.0.4 VIP']],
    after: [false, ['10.0.0.4 VIP']],
    bad: 'yes',
  },
  'disable-private-ingress': {
    value: 'TRUE',
    options: inNetwork,
    shows: ingress,
    bad: 'on',
    before: ['IPv4 VIP', 'IPv6 VIP', '10.0.0.4 VIP'],
    after: ['IPv4 VIP', 'IPv6 VIP'],
    gone: ['IPv4 VIP', 'IPv6 VIP', '10.0.0.4 VIP'],
  },
  'use-private-ip': {
    value: '1',
    options: inNetwork,
    bad: 'y',
    shows: ({ targets }) => targets.map(({ use_private_ip }) => use_private_ip),
    before: [false, false],
    after: [true, true],
    gone: [false, false],
  },
  'ipv6-disabled': { value: 't', shows: ingress, before: both, after: both.slice(0, 1), gone: both, bad: 'no' },
  'private-ipv4': {
    value: '10.0.0.77',
    options: inNetwork,
    bad: '10.0.0',
    shows: ({ privateNets }) => privateNets.map(({ ip }) => ip),
    before: ['10.0.0.4'],
    after: ['10.0.0.77'],
  },
  'private-subnet-ip-range': {
    value: '10.0.0.0/16',
    options: inNetwork,
    bad: '10.0.0.0',
    shows: (_, { fake }) => fake.calls.find(({ path }) => path.endsWith('attach_to_network'))?.body['ip_range'],
    before: undefined,
    after: undefined,
  },
  'ipv4-rdns': {
    value: 'web.example.com',
    shows: ({ dnsPtrs, ipv4 }) => dnsPtrs.get(ipv4),
    before: undefined,
    after: 'web.example.com',
  },
  'ipv6-rdns': {
    value: 'web.example.com',
    shows: ({ dnsPtrs, ipv6 }) => dnsPtrs.get(ipv6),
    before: undefined,
    after: 'web.example.com',
  },
  'uses-proxyprotocol': {
    value: 'true',
    bad: 'v2',
    shows: (one, harness) => [one.services[0]!.proxyprotocol, ingress(one, harness)],
    before: [false, both],
    after: [true, ['IPv4 Proxy', 'IPv6 Proxy']],
  },
  protocol: {
    value: 'HTTP',
    shows: ({ services }) => services[0]!.protocol,
    before: 'tcp',
    after: 'http',
    gone: 'tcp',
    bad: 'udp',
  },
  'http-cookie-name': { beside: http, value: 'SRV', shows: httpOf('cookie_name'), before: 'HCLBSTICKY', after: 'SRV' },
  'http-cookie-lifetime': {
    beside: http,
    value: '1h30m',
    shows: httpOf('cookie_lifetime'),
    before: 300,
    after: 5400,
    bad: '300',
  },
  'http-timeout-idle': {
    beside: http,
    value: '90s',
    shows: httpOf('timeout_idle'),
    before: 60,
    after: 90,
    bad: '1 minute',
  },
  'http-sticky-sessions': {
    beside: http,
    value: 'true',
    shows: httpOf('sticky_sessions'),
    before: false,
    after: true,
    bad: '',
  },
  'http-redirect-http': {
    beside: https,
    value: 'true',
    shows: httpOf('redirect_http'),
    before: false,
    after: true,
    bad: '2',
  },
  'certificate-type': {
    beside: { ...https, 'http-managed-certificate-domains': 'a.example.com' },
    value: 'managed',
    bad: 'own',
    shows: certificates,
    before: ['web uploaded example.com'],
    gone: ['web uploaded example.com'],
    after: [`ccm-managed-certificate-${uid} managed a.example.com`],
  },
  'http-certificates': {
    beside: { protocol: 'https', 'http-certificates': 'web' },
    value: 'other,web',
    shows: certificates,
    before: ['web uploaded example.com'],
    after: ['other uploaded example.com', 'web uploaded example.com'],
    gone: ['web uploaded example.com'],
  },
  'http-managed-certificate-name': {
    beside: managed,
    value: 'mine',
    shows: certificates,
    bad: ' ',
    before: [`ccm-managed-certificate-${uid} managed a.example.com b.example.com`],
    // One that serves the same domains is as good.
    after: [`ccm-managed-certificate-${uid} managed a.example.com b.example.com`],
  },
  'http-managed-certificate-domains': {
    beside: managed,
    value: 'c.example.com',
    shows: (one, harness) => certificates(one, harness)?.[0]?.split(' ').slice(2),
    before: ['a.example.com', 'b.example.com'],
    after: ['c.example.com'],
    gone: ['a.example.com', 'b.example.com'],
  },
  'http-managed-certificate-acme-staging': {
    beside: managed,
    value: 'true',
    shows: certificates,
    bad: 'staging',
    before: [`ccm-managed-certificate-${uid} managed a.example.com b.example.com`],
    after: [`ccm-managed-certificate-${uid} managed a.example.com b.example.com`],
  },
  'health-check-protocol': {
    value: 'https',
    shows: (one) => [checkOf('protocol')(one), checkHttpOf('tls')(one)],
    before: ['tcp', undefined],
    after: ['http', true],
    gone: ['tcp', undefined],
    bad: 'grpc',
  },
  'health-check-port': {
    value: '10256',
    shows: checkOf('port'),
    before: 30080,
    after: 10256,
    gone: 30080,
    bad: 'http',
  },
  'health-check-interval': { value: '20s', shows: checkOf('interval'), before: 15, after: 20, bad: '20' },
  'health-check-timeout': { value: '5s', shows: checkOf('timeout'), before: 10, after: 5, bad: 'five' },
  'health-check-retries': { value: '5', shows: checkOf('retries'), before: 3, after: 5, bad: '1.5' },
  'health-check-http-domain': {
    beside: { 'health-check-protocol': 'http' },
    value: 'web.local',
    shows: checkHttpOf('domain'),
    before: null,
    after: 'web.local',
  },
  'health-check-http-path': {
    beside: { 'health-check-protocol': 'http' },
    value: '/ok',
    shows: checkHttpOf('path'),
    before: '/',
    after: '/ok',
  },
  'health-check-http-validate-certificate': {
    beside: { 'health-check-protocol': 'http' },
    value: 'true',
    shows: checkHttpOf('tls'),
    before: false,
    after: true,
    bad: 'x',
  },
  'http-status-codes': {
    beside: { 'health-check-protocol': 'http' },
    value: '2??',
    shows: checkHttpOf('status_codes'),
    before: ['2??', '3??'],
    after: ['2??'],
  },
};

function prepared(options: HarnessOptions = {}): BalancerHarness {
  const harness = createBalancerHarness(options);
  for (const [id, name] of [
    [7, 'web'],
    [8, 'other'],
  ] as const)
    harness.fake.certificates.set(id, {
      id,
      name,
      type: 'uploaded',
      created: harness.fake.now(),
      domain_names: ['example.com'],
      certificate: '',
      labels: {},
    });
  return harness;
}
const consent = { mayChangeAddress: true };

describe('annotations of load balancers of Hetzner Cloud', () => {
  for (const [name, row] of Object.entries(rows) as [AnnotationName, Row][]) {
    const { beside = {}, value, shows, before, after, bad, options } = row;
    const gone = 'gone' in row ? row.gone : after;
    it(`${name}: ${value} has its effect at creation, when it comes, and when it goes`, async () => {
      const harness = prepared(options);
      const settled = async (annotations: Values) => {
        const result = await harness.settle(harness.desired({ annotations }), consent);
        assert.deepEqual(result.refusals, []);
        return shows(harness.balancer(), harness);
      };
      assert.deepEqual(await settled(beside), before, 'without');
      assert.deepEqual(await settled({ ...beside, [name]: value }), after, 'when it comes');
      assert.deepEqual(await settled(beside), gone, 'when it goes');
    });
    if (bad === undefined) continue;
    it(`${name}: ${JSON.stringify(bad)} is refused, makes nothing and changes nothing`, async () => {
      const harness = prepared(options);
      const wrong = harness.desired({ annotations: { ...beside, [name]: bad } });
      const message = `${prefix}${name}: ${JSON.stringify(bad)}, expected ${annotationTable[name][0]}`;
      const first = await harness.settle(wrong);
      assert.deepEqual(first.refusals, [{ reason: 'Unsupported', message }]);
      assert.equal(harness.fake.balancers.size, 0);
      await harness.settle(harness.desired({ annotations: beside }));
      const stands = JSON.stringify(harness.balancer());
      const second = await harness.settle({ ...wrong, ports: [], members: [] });
      assert.deepEqual(second.refusals, [{ reason: 'Unsupported', message }]);
      assert.equal(JSON.stringify(harness.balancer()), stands);
    });
  }

  it('lists every annotation, those included that only old versions of the classic controller wrote', () => {
    const told = annotations.map(({ key }) => key.slice(prefix.length)).sort();
    assert.deepEqual(told, [...Object.keys(rows), 'id', 'ipv4', 'ipv6'].sort());
  });
});
