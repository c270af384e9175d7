import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type ClassicConfig, type ClassicSettings, readClassicSettings } from './settings.ts';

const plainConfig: ClassicConfig = {
  healthProbe: undefined,
  elbSecurityGroup: undefined,
  disableSecurityGroupIngress: false,
  subnetId: undefined,
};
const certificate = 'arn:aws:acm:eu-west-1:123456789012:certificate/1234';

function port(number: number, fields: Partial<DesiredPort> = {}): DesiredPort {
  const nodePort = 30_000 + number;
  return { name: `p${number}`, protocol: 'TCP', port: number, nodePort, appProtocol: undefined, ...fields };
}

function desired(
  annotations: Readonly<Record<string, string>> = {},
  fields: Partial<DesiredLoadBalancer> = {},
): DesiredLoadBalancer {
  return {
    owner: { cluster: 'uid-c', service: 'uid-s' },
    service: 'default/web',
    clusterName: 'kubernetes',
    name: 'a1',
    ports: [port(80), port(443)],
    families: ['IPv4'],
    sourceRanges: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    healthCheck: { port: 10256, path: '/healthz' },
    address: undefined,
    members: [],
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    annotations,
    ...fields,
  };
}

const read = (annotations: Readonly<Record<string, string>>, config = plainConfig) =>
  readClassicSettings(desired(annotations), config);
const fronts = ({ listeners }: ClassicSettings) =>
  listeners?.map(
    (one) => `${one.protocol}:${one.port}>${one.instanceProtocol}:${one.instancePort}${one.certificate ? ' tls' : ''}`,
  );

describe('annotations of a classic load balancer', () => {
  it("reads no annotation as plain TCP, internet-facing, with the classic controller's defaults", () => {
    const settings = read({});
    assert.deepEqual(fronts(settings), ['TCP:80>TCP:30080', 'TCP:443>TCP:30443']);
    assert.equal(settings.internal, false);
    assert.equal(settings.proxyProtocol, false);
    assert.deepEqual(settings.attributes, {
      crossZone: false,
      draining: { enabled: false, timeout: undefined },
      idleTimeout: 60,
      accessLog: { enabled: false },
    });
    assert.deepEqual(settings.health, {
      target: 'HTTP:10256/healthz',
      interval: 10,
      timeout: 5,
      healthy: 2,
      unhealthy: 6,
    });
    assert.deepEqual([settings.refusals, settings.notes], [[], []]);
  });

  const tls: readonly [string, Readonly<Record<string, string>>, readonly string[]][] = [
    ['on every port where none is named', {}, ['SSL:80>TCP:30080 tls', 'SSL:443>TCP:30443 tls']],
    ['on the ports named', { [keys.sslPorts]: 'p443' }, ['TCP:80>TCP:30080', 'SSL:443>TCP:30443 tls']],
    ['on a port named by number', { [keys.sslPorts]: '443' }, ['TCP:80>TCP:30080', 'SSL:443>TCP:30443 tls']],
    [
      'as HTTPS before http members, with plain HTTP on the other ports',
      { [keys.sslPorts]: '443', [keys.backendProtocol]: 'http' },
      ['HTTP:80>HTTP:30080', 'HTTPS:443>HTTP:30443 tls'],
    ],
    [
      'as HTTPS before https members',
      { [keys.sslPorts]: '443', [keys.backendProtocol]: 'https' },
      ['TCP:80>TCP:30080', 'HTTPS:443>HTTPS:30443 tls'],
    ],
    [
      'before ssl members',
      { [keys.sslPorts]: '443', [keys.backendProtocol]: 'ssl' },
      ['TCP:80>TCP:30080', 'SSL:443>SSL:30443 tls'],
    ],
    [
      'before tcp members',
      { [keys.sslPorts]: '443', [keys.backendProtocol]: 'tcp' },
      ['TCP:80>TCP:30080', 'SSL:443>TCP:30443 tls'],
    ],
  ];
  for (const [what, more, expected] of tls) {
    it(`ends TLS ${what}`, () =>
      assert.deepEqual(fronts(read({ [keys.sslCertificate]: certificate, ...more })), expected));
  }

  it('give http without a certificate', () => {
    assert.deepEqual(fronts(read({ [keys.backendProtocol]: 'http' })), ['HTTP:80>HTTP:30080', 'HTTP:443>HTTP:30443']);
  });

  for (const value of ['HTTP', 'HTTPS', 'grpc'])
    it(`give TCP without a certificate for ${value}, which is no protocol as it is written, and say so`, () => {
      const settings = read(
        { [keys.backendProtocol]: value },
        { ...plainConfig, healthProbe: { mode: 'ServiceNodePort' } },
      );
      assert.deepEqual(fronts(settings), ['TCP:80>TCP:30080', 'TCP:443>TCP:30443']);
      assert.deepEqual([settings.refusals, settings.health?.target], [[], 'TCP:30080']);
      assert.match(settings.remarks.join(), new RegExp(`backend-protocol: "${value}": .*small letters`));
    });

  const health: readonly [
    string,
    Readonly<Record<string, string>>,
    Partial<ClassicConfig>,
    Partial<DesiredLoadBalancer>,
    string,
  ][] = [
    [
      'the probe of the node ports, where the cloud config says so',
      {},
      { healthProbe: { mode: 'ServiceNodePort' } },
      {},
      'TCP:30080',
    ],
    [
      'TLS where the members speak it',
      { [keys.backendProtocol]: 'https' },
      { healthProbe: { mode: 'ServiceNodePort' } },
      {},
      'SSL:30080',
    ],
    [
      "kube-proxy's probe, where the cloud config says so",
      {},
      { healthProbe: { mode: 'Shared', port: 10300, path: '/live' } },
      {},
      'HTTP:10300/live',
    ],
    [
      'the probe of the traffic policy Local, whatever the cloud config says',
      {},
      { healthProbe: { mode: 'ServiceNodePort' } },
      { trafficPolicy: 'Local', healthCheck: { port: 32000, path: '/healthz' } },
      'HTTP:32000/healthz',
    ],
    [
      'protocol and path as annotated',
      { [keys.healthProtocol]: 'https', [keys.healthPath]: '/up' },
      {},
      {},
      'HTTPS:30080/up',
    ],
    ['TCP on the node port, where the path alone is annotated', { [keys.healthPath]: '/ready' }, {}, {}, 'TCP:30080'],
    ['TCP, where the port alone is annotated', { [keys.healthPort]: '15021' }, {}, {}, 'TCP:15021'],
    [
      'the root on the node port, where HTTP alone is annotated',
      { [keys.healthProtocol]: 'HTTP' },
      {},
      {},
      'HTTP:30080/',
    ],
    [
      'TLS on the node port, where the path alone is annotated and the members speak TLS',
      { [keys.healthPath]: '/ready', [keys.backendProtocol]: 'ssl' },
      {},
      {},
      'SSL:30080',
    ],
    [
      "the rest of kube-proxy's probe, where the cloud config says so and the path is annotated",
      { [keys.healthPath]: '/ready' },
      { healthProbe: { mode: 'Shared', port: 10300, path: '/live' } },
      {},
      'HTTP:10300/ready',
    ],
    [
      'the rest of the probe of the traffic policy Local, where the path is annotated',
      { [keys.healthPath]: '/ready' },
      {},
      { trafficPolicy: 'Local', healthCheck: { port: 32000, path: '/healthz' } },
      'HTTP:32000/ready',
    ],
    ['a port as annotated', { [keys.healthPort]: '8080', [keys.healthProtocol]: 'TCP' }, {}, {}, 'TCP:8080'],
    [
      'the first node port for traffic-port',
      { [keys.healthPort]: 'traffic-port', [keys.healthProtocol]: 'tcp' },
      {},
      {},
      'TCP:30080',
    ],
  ];
  for (const [what, annotations, config, fields, target] of health) {
    it(`checks health by ${what}`, () => {
      const settings = readClassicSettings(desired(annotations, fields), { ...plainConfig, ...config });
      assert.equal(settings.health?.target, target);
    });
  }

  it('set the numbers of the health check', () => {
    const { health: probe } = read({
      [keys.healthyThreshold]: '3',
      [keys.unhealthyThreshold]: '4',
      [keys.healthTimeout]: '6',
      [keys.healthInterval]: '20',
    });
    assert.deepEqual(probe, { target: 'HTTP:10256/healthz', interval: 20, timeout: 6, healthy: 3, unhealthy: 4 });
  });

  it('set attributes', () => {
    const { attributes, refusals } = read({
      [keys.crossZone]: 'true',
      [keys.drainingEnabled]: 'true',
      [keys.drainingTimeout]: '120',
      [keys.idleTimeout]: '300',
      [keys.accessLogEnabled]: 'true',
      [keys.accessLogBucket]: 'logs',
      [keys.accessLogPrefix]: 'web',
      [keys.accessLogEmitInterval]: '5',
    });
    assert.deepEqual(attributes, {
      crossZone: true,
      draining: { enabled: true, timeout: 120 },
      idleTimeout: 300,
      accessLog: { enabled: true, bucket: 'logs', prefix: 'web', emitInterval: 5 },
    });
    assert.deepEqual(refusals, []);
  });

  it('set groups, subnets, tags, scheme, policy and PROXY protocol', () => {
    const settings = read({
      [keys.internal]: '0.0.0.0/0',
      [keys.securityGroups]: 'sg-1, sg-2',
      [keys.extraSecurityGroups]: 'sg-3',
      [keys.subnets]: 'subnet-1, inner',
      [keys.additionalTags]: 'team=a=b,bare',
      [keys.proxyProtocol]: '*',
      [keys.sslPolicy]: 'ELBSecurityPolicy-TLS-1-2-2017-01',
    });
    assert.equal(settings.internal, true);
    assert.deepEqual([settings.securityGroups, settings.extraSecurityGroups], [['sg-1', 'sg-2'], ['sg-3']]);
    assert.deepEqual(settings.subnets, ['subnet-1', 'inner']);
    assert.deepEqual(settings.tags, { team: 'a=b', bare: '' });
    assert.equal(settings.proxyProtocol, true);
    assert.equal(settings.sslPolicy, 'ELBSecurityPolicy-TLS-1-2-2017-01');
    assert.deepEqual(settings.refusals, []);
  });

  const bad: readonly [key: string, value: string, expected: RegExp][] = [
    [keys.proxyProtocol, '80', /expected \*/],
    [keys.crossZone, 'yes', /expected true or false/],
    [keys.drainingEnabled, 'on', /expected true or false/],
    [keys.idleTimeout, '4001', /1 to 4000/],
    [keys.sslCertificate, 'my-cert', /ARN of one certificate/],
    [keys.healthProtocol, 'UDP', /HTTP, HTTPS, TCP or SSL/],
    [keys.healthPort, '0', /a port, 1 to 65535, or traffic-port/],
    [keys.healthPath, 'healthz', /a path such as/],
    [keys.healthyThreshold, '1', /2 to 10/],
    [keys.healthInterval, '5', /a timeout \(5\) below the interval \(5\)/],
    [keys.securityGroups, 'web', /expected ids sg-/],
    [keys.additionalTags, 'kubernetes.io/cluster/x=owned', /no key of aws:, kubernetes.io/],
    [keys.accessLogEnabled, 'true', /needs the name of a bucket/],
  ];
  for (const [key, value, expected] of bad) {
    it(`refuses ${key}: ${JSON.stringify(value)}, and says what is possible`, () => {
      const { refusals } = read({ [key]: value });
      assert.equal(refusals.length, 1);
      const [{ reason, message } = { reason: '', message: '' }] = refusals;
      assert.equal(reason, 'Unsupported');
      assert.ok(message.startsWith(`${key}: ${JSON.stringify(value)}`), message);
      assert.match(message, expected);
    });
  }

  it('name a port that does not exist among those that end TLS', () => {
    const { refusals, listeners } = read({ [keys.sslCertificate]: certificate, [keys.sslPorts]: '8443' });
    assert.match(refusals[0]?.message ?? '', /expected numbers or names of the Service's ports: 80, p80, 443, p443/);
    assert.equal(listeners, undefined);
  });

  it('name in one line each what the classic controller ignores, and serve the rest', () => {
    const settings = read({
      [keys.sslCertificate]: certificate,
      [keys.sslPorts]: '443,8443',
      [keys.securityGroups]: 'sg-1,sg-2,sg-1',
      [keys.additionalTags]: 'a=1, ,=2',
    });
    assert.deepEqual([settings.refusals, settings.notes], [[], []]);
    assert.deepEqual(settings.remarks, [
      `${keys.sslPorts}: "443,8443": the Service has no port 8443`,
      `${keys.securityGroups}: "sg-1,sg-2,sg-1": a group that is named twice is used once`,
      `${keys.additionalTags}: "a=1, ,=2": no key in "=2"`,
    ]);
    assert.deepEqual(settings.securityGroups, ['sg-1', 'sg-2']);
    assert.deepEqual(settings.tags, { a: '1' });
    assert.deepEqual(fronts(settings), ['TCP:80>TCP:30080', 'SSL:443>TCP:30443 tls']);
  });

  for (const [annotations, internal] of [
    [{ [keys.scheme]: 'internal' }, true],
    [{ [keys.scheme]: 'internet-facing' }, false],
    [{ [keys.scheme]: 'internal', [keys.internal]: 'true' }, true],
    [{ [keys.scheme]: 'internal', [keys.internal]: 'false' }, undefined],
    [{ [keys.scheme]: 'internet-facing', [keys.internal]: 'true' }, undefined],
    [{ [keys.scheme]: 'private' }, undefined],
  ] as const) {
    const expected = internal === undefined ? 'refused' : internal ? 'internal' : 'internet-facing';
    it(`reads ${JSON.stringify(annotations)} as ${expected}`, () => {
      const settings = read(annotations);
      assert.equal(settings.internal, internal);
      assert.equal(settings.refusals.length, internal === undefined ? 1 : 0);
    });
  }

  it('refuse an empty list of subnets', () => {
    for (const empty of ['', '\t', ' , ']) {
      const { subnets, refusals } = read({ [keys.subnets]: empty });
      assert.equal(subnets, undefined);
      assert.match(refusals[0]?.message ?? '', /expected subnet ids or Name tags, or no annotation/);
    }
  });

  for (const key of [keys.targetGroupAttributes, keys.targetType, keys.eipAllocations, keys.privateAddresses]) {
    it(`notes that ${key} is of network load balancers only, and serves the ports`, () => {
      const { refusals, notes, listeners } = read({ [key]: 'x' });
      assert.deepEqual(refusals, []);
      assert.match(notes[0]?.message ?? '', /of a network load balancer only/);
      assert.equal(listeners?.length, 2);
    });
  }

  const fields: readonly [string, Partial<DesiredLoadBalancer>, RegExp][] = [
    ['spec.sessionAffinity', { sessionAffinity: { timeoutSeconds: 10 } }, /ClientIP is not possible.*expected None/],
    ['spec.loadBalancerIP', { address: '203.0.113.4' }, /"203\.0\.113\.4" is not possible/],
    ['spec.ipFamilies', { families: ['IPv6'] }, /expected IPv4/],
  ];
  for (const [field, more, expected] of fields) {
    it(`refuses ${field}`, () => {
      const { refusals } = readClassicSettings(desired({}, more), plainConfig);
      assert.match(refusals[0]?.message ?? '', new RegExp(`^${field}`));
      assert.match(refusals[0]?.message ?? '', expected);
    });
  }

  it('name a port that is not TCP or has no node port, and serve the others', () => {
    const ports = [port(80), port(53, { protocol: 'UDP' }), port(9000, { nodePort: 0 })];
    const { listeners, notes, refusals } = readClassicSettings(desired({}, { ports }), plainConfig);
    assert.deepEqual(refusals, []);
    assert.deepEqual(
      notes.map((one) => one.ports),
      [[{ port: 53, protocol: 'UDP' }], [{ port: 9000, protocol: 'TCP' }]],
    );
    assert.deepEqual(
      listeners?.map((one) => one.port),
      [80],
    );
  });
});
