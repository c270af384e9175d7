import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredFor, newOwner, port } from '../../../test/clouds/suite/desired.ts';
import { type AnnotationName, annotationTable, onlyTypeOf, prefix } from './annotations.ts';
import { settingsOf } from './clb/settings.ts';
import type { Params } from './client.ts';
import { networkSettingsOf } from './nlb/settings.ts';

/** A value, the fields of the cloud's API that it sets, and the protocol of the listener that has them. */
type Effect = readonly [value: string, sends: Params, protocol?: string];
/** Said by another test, or by none: refused and ignored ones say so themselves. */
type Elsewhere = 'elsewhere';

const http = 'http';
/** Of Classic Load Balancers. One for each annotation, so that a new one needs a line here. */
const classic: Readonly<Partial<Record<AnnotationName, Effect | Elsewhere>>> = {
  'address-type': ['intranet', { AddressType: 'intranet' }],
  name: 'elsewhere',
  hostname: 'elsewhere',
  'resource-group-id': ['rg-1', { ResourceGroupId: 'rg-1' }],
  'additional-resource-tags': 'elsewhere',
  'delete-protection': ['on', { DeleteProtection: 'on' }],
  'modification-protection': ['ConsoleProtection', { ModificationProtectionStatus: 'ConsoleProtection' }],
  'vswitch-id': 'elsewhere',
  ip: ['192.168.7.9', { Address: '192.168.7.9' }],
  'ip-version': ['ipv6', { AddressIPVersion: 'ipv6' }],
  'master-zoneid': ['cn-hangzhou-h', { MasterZoneId: 'cn-hangzhou-h' }],
  'slave-zoneid': ['cn-hangzhou-i', { SlaveZoneId: 'cn-hangzhou-i' }],
  'charge-type': ['paybytraffic', { InternetChargeType: 'paybytraffic' }],
  bandwidth: 'elsewhere',
  'instance-charge-type': ['PayBySpec', { InstanceChargeType: 'PayBySpec' }],
  spec: ['slb.s2.small', { LoadBalancerSpec: 'slb.s2.small' }],
  'protocol-port': 'elsewhere',
  'forward-port': 'elsewhere',
  scheduler: ['wlc', { Scheduler: 'wlc' }],
  'persistence-timeout': ['61', { PersistenceTimeout: 61 }],
  'established-timeout': ['62', { EstablishedTimeout: 62 }],
  'connection-drain': ['on', { ConnectionDrain: 'on' }],
  'connection-drain-timeout': ['63', { ConnectionDrainTimeout: 63 }],
  'proxy-protocol': ['on', { ProxyProtocolV2Enabled: true }],
  'idle-timeout': ['51', { IdleTimeout: 51 }, http],
  'request-timeout': ['52', { RequestTimeout: 52 }, http],
  'sticky-session': ['on', { StickySession: 'on' }, http],
  'sticky-session-type': ['server', { StickySessionType: 'server' }, http],
  cookie: ['sid', { Cookie: 'sid' }, http],
  'cookie-timeout': ['64', { CookieTimeout: 64 }, http],
  'xforwardedfor-proto': ['on', { XForwardedFor_proto: 'on' }, http],
  'xforwardedfor-slbport': ['on', { XForwardedFor_SLBPORT: 'on' }, http],
  'xforwardedfor-clientsrcport': ['on', { XForwardedFor_ClientSrcPort: 'on' }, http],
  'cert-id': ['cert-1', { ServerCertificateId: 'cert-1' }, 'https'],
  'tls-cipher-policy': ['tls_cipher_policy_1_2', { TLSCipherPolicy: 'tls_cipher_policy_1_2' }, 'https'],
  'http2-enabled': ['off', { EnableHttp2: 'off' }, 'https'],
  'acl-id': ['acl-1', { AclId: 'acl-1' }],
  'acl-type': ['black', { AclType: 'black' }],
  'acl-status': ['on', { AclStatus: 'on' }],
  'health-check-switch': ['off', { HealthCheck: 'off' }],
  'health-check-flag': ['off', { HealthCheck: 'off' }, http],
  'health-check-type': ['http', { HealthCheckType: 'http' }],
  'health-check-uri': ['/ready', { HealthCheckURI: '/ready' }],
  'health-check-connect-port': ['8081', { HealthCheckConnectPort: 8081 }],
  'health-check-httpcode': ['http_2xx', { HealthCheckHttpCode: 'http_2xx' }],
  'health-check-domain': ['example.com', { HealthCheckDomain: 'example.com' }],
  'health-check-method': ['head', { HealthCheckMethod: 'head' }, http],
  'healthy-threshold': ['4', { HealthyThreshold: 4 }],
  'unhealthy-threshold': ['5', { UnhealthyThreshold: 5 }],
  'health-check-interval': ['7', { HealthCheckInterval: 7 }],
  'health-check-connect-timeout': ['8', { HealthCheckConnectTimeout: 8 }],
  'health-check-timeout': ['9', { HealthCheckTimeout: 9 }, http],
  'backend-label': 'elsewhere',
  'backend-type': 'elsewhere',
  'backend-ip-version': 'elsewhere',
  'slb-network-type': 'elsewhere',
};

/** Of Network Load Balancers. */
const network: Readonly<Partial<Record<AnnotationName, Effect | Elsewhere>>> = {
  'address-type': ['intranet', { addressType: 'Intranet' }],
  name: ['web-1', { name: 'web-1' }],
  hostname: ['web.example.com', { hostname: 'web.example.com' }],
  'resource-group-id': ['rg-1', { resourceGroup: 'rg-1' }],
  'additional-resource-tags': ['team=shop', { tags: { team: 'shop' } }],
  'delete-protection': ['on', { isProtected: true }],
  'modification-protection': ['ConsoleProtection', { modification: 'ConsoleProtection' }],
  'ip-version': 'elsewhere',
  'protocol-port': 'elsewhere',
  scheduler: ['wlc', { Scheduler: 'wlc' }],
  'connection-drain': ['on', { ConnectionDrainEnabled: true }],
  'connection-drain-timeout': ['63', { ConnectionDrainTimeout: 63 }],
  'proxy-protocol': ['on', { ProxyProtocolEnabled: true }],
  'idle-timeout': ['51', { IdleTimeout: 51 }],
  'cert-id': ['cert-1', { CertificateIds: ['cert-1'] }, 'TCPSSL'],
  'tls-cipher-policy': ['tls_cipher_policy_1_2', { SecurityPolicyId: 'tls_cipher_policy_1_2' }, 'TCPSSL'],
  'health-check-flag': ['off', { HealthCheckEnabled: false }],
  'health-check-type': ['udp', { HealthCheckType: 'UDP' }],
  'health-check-uri': ['/ready', { HealthCheckUrl: '/ready' }],
  'health-check-connect-port': ['8081', { HealthCheckConnectPort: 8081 }],
  'health-check-httpcode': ['http_2xx,http_3xx', { HealthCheckHttpCode: ['http_2xx', 'http_3xx'] }],
  'health-check-domain': ['example.com', { HealthCheckDomain: 'example.com' }],
  'health-check-method': ['head', { HttpCheckMethod: 'HEAD' }],
  'healthy-threshold': ['4', { HealthyThreshold: 4 }],
  'unhealthy-threshold': ['5', { UnhealthyThreshold: 5 }],
  'health-check-interval': ['7', { HealthCheckInterval: 7 }],
  'health-check-connect-timeout': ['8', { HealthCheckConnectTimeout: 8 }],
  'backend-label': 'elsewhere',
  'backend-type': 'elsewhere',
  'backend-ip-version': 'elsewhere',
  'zone-maps': 'elsewhere',
  'security-group-ids': ['sg-1,sg-2', { securityGroups: ['sg-1', 'sg-2'] }],
  'bandwidth-package-id': ['cbwp-1', { bandwidthPackage: 'cbwp-1' }],
  'cacert-id': ['ca-1', { CaCertificateIds: ['ca-1'] }, 'TCPSSL'],
  cacert: ['on', { CaEnabled: true }, 'TCPSSL'],
  cps: ['71', { Cps: 71 }],
  'preserve-client-ip': ['off', { PreserveClientIpEnabled: false }],
  'server-group-type': 'elsewhere',
  'ppv2-pvl-ep-id-enabled': ['on', { ProxyProtocolV2Config: { Ppv2PrivateLinkEpIdEnabled: true } }],
  'ppv2-pvl-eps-id-enabled': ['on', { ProxyProtocolV2Config: { Ppv2PrivateLinkEpsIdEnabled: true } }],
  'ppv2-pvl-vpc-id-enabled': ['on', { ProxyProtocolV2Config: { Ppv2VpcIdEnabled: true } }],
};

const options = { isPublicRefused: false, resourceGroup: undefined };
const desired = (name: string, value: string) =>
  desiredFor(newOwner('11111111-2222-4333-8444-555555555555'), [], {
    annotations: { [prefix + name]: value },
    ports: [port(80, 30_080)],
  });

/** What it asks of a Classic Load Balancer and a listener of that protocol. */
function classicFields(name: string, value: string, protocol = 'tcp'): Params {
  const { fixed, settings, atCreation, fieldsOf } = settingsOf(desired(name, value), options);
  return { ...fixed, ...Object.assign({}, ...Object.values(settings)), ...atCreation, ...fieldsOf(protocol) };
}

/** The same of a Network Load Balancer, whose health checks are read beside an annotation that makes them its own. */
function networkFields(name: string, value: string, protocol = 'TCP'): Params {
  const checked = { ...desired(name, value) };
  const annotations = { [`${prefix}health-check-uri`]: '/', ...checked.annotations };
  const { listenerFieldsOf, groupFields, healthCheck, ...rest } = networkSettingsOf(
    { ...checked, annotations },
    options,
  );
  return { ...(rest as unknown as Params), ...listenerFieldsOf(protocol), ...groupFields, ...healthCheck };
}

const types = [
  ['Classic', classic, classicFields],
  ['Network', network, networkFields],
] as const;
for (const [type, effects, fieldsOf] of types)
  describe(`an annotation of Alibaba Cloud for a ${type} Load Balancer`, () => {
    for (const [name, effect] of Object.entries(effects))
      if (effect !== 'elsewhere')
        it(`sets the fields of the API that mean it: ${name}`, () => {
          const [value, sends, protocol] = effect;
          const fields = fieldsOf(name, value, protocol);
          for (const [field, sent] of Object.entries(sends)) assert.deepEqual(fields[field], sent, field);
        });

    it('stands in the table of this test, if it is served', () => {
      const served = (Object.keys(annotationTable) as AnnotationName[]).filter(
        (name) =>
          !/^(refused|ignored)/.test(annotationTable[name][0]) &&
          onlyTypeOf(name) !== (type === 'Network' ? 'CLB' : 'NLB'),
      );
      assert.deepEqual(Object.keys(effects).sort(), served.sort());
    });
  });
