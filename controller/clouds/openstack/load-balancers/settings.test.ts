import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseGcfg } from '../../gcfg.ts';
import type { DesiredLoadBalancer } from '../../load-balancers.ts';
import { loadBalancerConfigOf } from '../load-balancer-config.ts';
import { annotationDefinitions, keys } from './annotations.ts';
import { featuresOf, minorOf } from './features.ts';
import { nodeLabels } from './node-labels.ts';
import { readSettings, type Settings } from './settings.ts';

const uuid = '00000000-0000-4000-8000-000000000001';

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly minor?: number;
  /** Of the load balancer. */
  readonly provider?: string;
  readonly desired?: Partial<DesiredLoadBalancer>;
}

function read({ annotations = {}, config = '', minor = 26, provider, desired = {} }: Given): Settings {
  const { config: section } = loadBalancerConfigOf(parseGcfg(config, 'cloud.conf'));
  const service: DesiredLoadBalancer = {
    owner: { cluster: 'c', service: 's' },
    service: 'default/web',
    clusterName: 'k',
    name: 'a1',
    ports: [],
    families: ['IPv4'],
    sourceRanges: [],
    members: [],
    sessionAffinity: undefined,
    trafficPolicy: 'Cluster',
    healthCheck: { port: 10_256, path: '/healthz' },
    address: undefined,
    annotations,
    attach: undefined,
    mayChangeAddress: false,
    clusterWideConsent: false,
    mayKeepAddress: true,
    retain: false,
    ...desired,
  };
  return readSettings(service, { config: section, features: featuresOf(minor, provider ?? section.provider) });
}

/** A DNS name of that length. */
const longName = (length: number) => `${'a'.repeat(60)}.`.repeat(4).slice(0, length);
const told = ({ refusals }: Settings) => refusals.map(({ reason, message }) => `${reason}: ${message}`);

describe('settings of an Octavia load balancer', () => {
  it('takes the values of the classic controller without annotations and configuration', () => {
    const settings = read({});
    assert.deepEqual(told(settings), []);
    assert.equal(settings.internal, false);
    assert.equal(settings.method, 'ROUND_ROBIN');
    assert.equal(settings.connectionLimit, -1);
    assert.equal(settings.monitor, 'none');
    assert.deepEqual(settings.timeouts, { clientData: 50_000, memberConnect: 5000, memberData: 50_000, tcpInspect: 0 });
    assert.deepEqual(settings.allowedCidrs, []);
  });

  for (const [key, value, field, expected] of [
    [keys.internal, 'true', 'internal', true],
    [keys.hostname, 'web.example.org', 'hostname', 'web.example.org'],
    [keys.hostname, longName(234), 'hostname', longName(234)],
    [keys.keepFloatingIp, 'true', 'keepFloatingIp', true],
    [keys.portId, uuid, 'portId', uuid],
    [keys.method, 'least_connections', 'method', 'LEAST_CONNECTIONS'],
    [keys.connectionLimit, '5000', 'connectionLimit', 5000],
    [keys.proxyProtocol, 'true', 'proxyProtocol', 'PROXY'],
    [keys.proxyProtocol, 'v1', 'proxyProtocol', 'PROXY'],
    [keys.proxyProtocol, 'v2', 'proxyProtocol', 'PROXYV2'],
    [keys.proxyProtocol, 'false', 'proxyProtocol', 'none'],
    [keys.forwardedFor, 'true', 'forwardedFor', true],
    [keys.healthMonitor, 'true', 'monitor', { delay: 5, timeout: 3, maxRetries: 1, maxRetriesDown: 3 }],
    [keys.flavorId, uuid, 'flavorId', uuid],
    [keys.availabilityZone, 'az-1', 'availabilityZone', 'az-1'],
    [keys.tlsContainerRef, 'https://barbican/v1/containers/1', 'tlsRef', 'https://barbican/v1/containers/1'],
    [keys.loadBalancerId, uuid, 'namedId', uuid],
  ] as const) {
    it(`${key}: ${value} is understood`, () => {
      const settings = read({ annotations: { [key]: value } });
      assert.deepEqual(told(settings), []);
      assert.deepEqual(settings[field], expected);
    });
  }

  for (const [key, value, expected] of [
    [keys.internal, 'yes', 'true or false'],
    [keys.keepFloatingIp, '1', 'true or false'],
    [keys.hostname, 'not a name', 'a DNS name'],
    [keys.hostname, longName(235), 'a DNS name of at most 234 characters'],
    [keys.subnetId, 'my-subnet', 'a UUID'],
    [keys.networkId, 'net', 'a UUID'],
    [keys.memberSubnetId, 'x', 'a UUID'],
    [keys.portId, 'x', 'a UUID'],
    [keys.floatingNetworkId, 'public', 'a UUID'],
    [keys.floatingSubnetId, 'x', 'a UUID'],
    [keys.floatingSubnet, '~(', 'a name, a glob'],
    [keys.flavorId, 'big', 'a UUID'],
    [keys.method, 'FASTEST', 'ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP'],
    [keys.method, 'SOURCE_IP_PORT', 'ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP'],
    [keys.connectionLimit, '-2', 'a whole number, -1 = no limit'],
    [keys.connectionLimit, '1e3', 'a whole number'],
    [keys.proxyProtocol, 'v3', 'true, v1, v2 or false'],
    [keys.forwardedFor, 'on', 'true or false'],
    [keys.timeoutClientData, '50s', 'milliseconds'],
    [keys.timeoutMemberConnect, '-1', 'milliseconds'],
    [keys.timeoutMemberData, '99999999999', 'milliseconds'],
    [keys.timeoutTcpInspect, '', 'milliseconds'],
    [keys.healthMonitor, 'TRUE', 'true or false'],
    [keys.monitorDelay, '0', 'whole seconds'],
    [keys.monitorTimeout, '3s', 'whole seconds'],
    [keys.monitorMaxRetries, '11', '1 to 10'],
    [keys.monitorMaxRetriesDown, '0', '1 to 10'],
    [keys.tlsContainerRef, 'secret', 'the URL of a container'],
    [keys.class, 'fast', 'no such [LoadBalancerClass] in the cloud config; there is: "slow"'],
    [keys.nodeSelector, 'role=in=gress', 'labels such as role=ingress,gpu'],
    [keys.nodeSelector, 'not a label', 'labels such as'],
  ] as const) {
    it(`${key}: ${JSON.stringify(value)} is refused by name, with what is possible`, () => {
      const settings = read({
        annotations: { [key]: value },
        config: `[LoadBalancerClass "slow"]\nsubnet-id = ${uuid}\n`,
      });
      const [refusal, ...others] = told(settings);
      assert.equal(others.length, 0);
      assert.ok(refusal?.startsWith(`Unsupported: ${key}: ${JSON.stringify(value)}`), refusal);
      assert.ok(refusal?.includes(expected), refusal);
    });
  }

  it('PROXY protocol and X-Forwarded-For exclude each other', () => {
    const settings = read({ annotations: { [keys.proxyProtocol]: 'v2', [keys.forwardedFor]: 'true' } });
    assert.equal(told(settings).length, 1);
    assert.equal(settings.proxyProtocol, undefined);
  });

  it('a configuration that makes every Service internal is told to a Service that asks for another', () => {
    const settings = read({
      annotations: { [keys.internal]: 'false' },
      config: '[LoadBalancer]\ninternal-lb = true\n',
    });
    assert.equal(settings.internal, true);
    assert.deepEqual(told(settings), []);
    assert.match(settings.remarks[0]?.message ?? '', /internal-lb/);
  });

  it('prefers the class over the annotation for floating IPs, and the annotation for the VIP', () => {
    const other = uuid.replace(/1$/, '2');
    const { placement } = read({
      annotations: { [keys.class]: 'a', [keys.floatingNetworkId]: other, [keys.subnetId]: other },
      config:
        `[LoadBalancer]\nmember-subnet-id = ${other}\nfloating-subnet = f\n` +
        `[LoadBalancerClass "a"]\nfloating-network-id = ${uuid}\nsubnet-id = ${uuid}\n`,
    });
    assert.deepEqual(placement, {
      floatingNetworkId: uuid,
      subnetId: other,
      memberSubnetId: other,
      floatingSubnet: 'f',
    });
  });

  for (const [key, value] of [
    [keys.timeoutClientData, '1000'],
    [keys.flavorId, uuid],
    [keys.availabilityZone, 'az-1'],
    [keys.proxyProtocol, 'true'],
    [keys.forwardedFor, 'true'],
    [keys.tlsContainerRef, 'https://b/1'],
    [keys.connectionLimit, '10'],
    [keys.method, 'ROUND_ROBIN'],
  ] as const) {
    it(`provider ovn refuses ${key}`, () => {
      const [refusal, ...others] = told(
        read({ annotations: { [key]: value }, config: '[LoadBalancer]\nlb-provider = ovn\n' }),
      );
      assert.ok(refusal?.startsWith(`Unsupported: ${key}: ${JSON.stringify(value)}`), refusal);
      assert.equal(others.length, 0);
    });
  }

  it('the floating network of the configuration is not used with an empty annotation, that of a class is', () => {
    const config = `[LoadBalancer]\nfloating-network-id = ${uuid}\n`;
    const inClass = `[LoadBalancerClass "a"]\nfloating-network-id = ${uuid}\n`;
    const empty = { [keys.floatingNetworkId]: '' };
    assert.deepEqual(read({ config }).placement, { floatingNetworkId: uuid });
    assert.deepEqual(read({ config, annotations: empty }).placement, {});
    assert.deepEqual(read({ config: inClass, annotations: { ...empty, [keys.class]: 'a' } }).placement, {
      floatingNetworkId: uuid,
    });
  });

  for (const [configured, provider, method] of [
    ['ovn', 'amphora', 'ROUND_ROBIN'],
    ['amphora', 'ovn', 'SOURCE_IP_PORT'],
  ] as const) {
    it(`uses the methods of provider ${provider} on its load balancer while ${configured} is configured`, () => {
      const config = `[LoadBalancer]\nlb-provider = ${configured}\n`;
      const settings = read({ config, provider });
      assert.deepEqual([told(settings), settings.method, settings.usualMethod], [[], method, method]);
      const refused = read({ config, provider, annotations: { [keys.method]: 'FASTEST' } });
      assert.deepEqual([refused.method, refused.usualMethod], [undefined, method]);
    });
  }

  it('a refusal names the provider of the load balancer', () => {
    const annotations = { [keys.forwardedFor]: 'true' };
    assert.match(told(read({ annotations, provider: 'ovn' })).join(), /: provider ovn has no HTTP/);
    const tls = '[LoadBalancer]\ndefault-tls-container-ref = https://barbican/v1/containers/1\n';
    assert.match(told(read({ config: tls, provider: 'ovn' })).join(), /: provider ovn has no TLS/);
    const ranges = read({ desired: { sourceRanges: ['192.0.2.0/24'] }, provider: 'ovn' });
    assert.match(told(ranges).join(), /: provider ovn has no allowed CIDRs/);
  });

  it('provider ovn is content with what asks for nothing', () => {
    const settings = read({
      annotations: {
        [keys.proxyProtocol]: 'false',
        [keys.forwardedFor]: 'false',
        [keys.connectionLimit]: '-1',
        [keys.method]: 'SOURCE_IP_PORT',
      },
      config: '[LoadBalancer]\nlb-provider = ovn\n',
    });
    assert.deepEqual(told(settings), []);
    assert.equal(settings.timeouts, 'none');
    assert.equal(settings.allowedCidrs, 'unlimited');
  });

  it('source ranges that nothing can keep are refused rather than left open', () => {
    const desired = { sourceRanges: ['192.0.2.0/24'] };
    const ovn = '[LoadBalancer]\nlb-provider = ovn\n';
    assert.match(told(read({ desired, config: ovn }))[0] ?? '', /192\.0\.2\.0\/24: provider ovn has no allowed CIDRs/);
    assert.deepEqual(told(read({ desired, config: `${ovn}manage-security-groups = true\n` })), []);
    assert.match(told(read({ desired, minor: 11 }))[0] ?? '', /Octavia API v2\.11/);
    assert.match(told(read({ desired: { sourceRanges: ['fd00::/8'] } }))[0] ?? '', /none is IPv4/);
    assert.deepEqual(read({ desired: { sourceRanges: ['192.0.2.0/24', 'fd00::/8'] } }).allowedCidrs, ['192.0.2.0/24']);
  });

  for (const [families, sourceRanges, expected] of [
    [['IPv4'], ['0.0.0.0/0', '::/0'], []],
    [['IPv4'], ['0.0.0.0/0', '10.0.0.0/8'], []],
    [['IPv6'], ['::/0'], []],
    [['IPv6'], ['0.0.0.0/0', 'fd00::/8'], ['fd00::/8']],
  ] as const) {
    it(`source ranges ${sourceRanges.join(', ')} of ${families[0]} are ${expected.join() || 'everybody'}`, () => {
      assert.deepEqual(read({ desired: { families, sourceRanges } }).allowedCidrs, expected);
    });
  }

  it('an API that is older than a feature says so', () => {
    const old = (key: string, value: string, minor: number) =>
      told(read({ annotations: { [key]: value }, minor })).join();
    assert.match(old(keys.availabilityZone, 'a', 13), /Octavia API v2\.13 has no availability zones/);
    assert.match(old(keys.flavorId, uuid, 5), /has no flavors/);
    assert.match(old(keys.proxyProtocol, 'v2', 21), /has no PROXY protocol v2/);
    assert.match(old(keys.internal, 'true', 4), /no tags.*expected v2\.5/);
    assert.equal(minorOf(['v2.0', 'v2.9', 'v2.26', 'v1']), 26);
    assert.equal(minorOf([]), undefined);
  });

  it('a TLS reference of another store than barbican is passed on as it is', () => {
    const annotations = { [keys.tlsContainerRef]: 'vault/tls/web' };
    assert.equal(told(read({ annotations })).length, 1);
    const settings = read({ annotations, config: '[LoadBalancer]\ncontainer-store = external\n' });
    assert.deepEqual([told(settings), settings.tlsRef], [[], 'vault/tls/web']);
  });

  it('a node selector is that of the annotation or of the configuration; one that cannot be read is not known', () => {
    const { config } = loadBalancerConfigOf(parseGcfg('[LoadBalancer]\nnode-selector = a=b,c\n', 'cloud.conf'));
    const labels = nodeLabels(config);
    assert.deepEqual(labels({}), [
      { key: 'a', value: 'b' },
      { key: 'c', value: undefined },
    ]);
    assert.deepEqual(labels({ [keys.nodeSelector]: 'x=' }), [{ key: 'x', value: undefined }]);
    assert.deepEqual(labels({ [keys.nodeSelector]: '' }), []);
    assert.equal(labels({ [keys.nodeSelector]: '!' }), undefined);
  });

  it('a second family is told, and the first is served', () => {
    const settings = read({ desired: { families: ['IPv6', 'IPv4'] } });
    assert.equal(settings.family, 'IPv6');
    assert.deepEqual(told(settings), []);
    assert.match(settings.remarks[0]?.message ?? '', /IPv4/);
  });

  it('every key of the classic controller is described once', () => {
    const described = annotationDefinitions.map(({ key }) => key);
    assert.deepEqual(described.toSorted(), Object.values(keys).toSorted());
  });
});
