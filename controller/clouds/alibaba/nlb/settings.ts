import { isIPv4 } from 'node:net';
import { listOf, matching, numberIn, oneOf } from '../../annotation-reader.ts';
import type { DesiredLoadBalancer, DesiredPort } from '../../load-balancers.ts';
import type { AnnotationName } from '../annotations.ts';
import { readerOf, set, tagPairs } from '../clb/settings.ts';
import type { AlibabaConfig } from '../config.ts';
import type { Zone } from './balancers.ts';

const flag = (text: string) => (oneOf('on', 'off')(text) === undefined ? undefined : text === 'on');
const id = matching(/^[\w-]+$/);
const ownChecks: readonly AnnotationName[] = [
  ...(['health-check-flag', 'health-check-type', 'health-check-uri'] as const),
  ...(['health-check-connect-port', 'health-check-httpcode'] as const),
];

/** What the annotations of a Service say. Undefined: what stands is left as it is. Pure. */
export function networkSettingsOf(
  { annotations, families, ports }: Pick<DesiredLoadBalancer, 'annotations' | 'families' | 'ports'>,
  { isPublicRefused, resourceGroup }: Pick<AlibabaConfig, 'isPublicRefused' | 'resourceGroup'>,
) {
  const { read, wrong, has, problems, remarks } = readerOf(annotations, 'NLB');
  const type = read('address-type', oneOf('internet', 'intranet')) ?? (isPublicRefused ? 'intranet' : 'internet');
  if (type === 'internet' && isPublicRefused) wrong('address-type', 'intranet: disablePublicSLB is set');
  read('ip-version', oneOf('ipv4'));
  if (families.length === 1 && families[0] === 'IPv6')
    problems.push('spec.ipFamilies: "IPv6", expected IPv4: the instances of a Network Load Balancer are of IPv4');
  const zones = read('zone-maps', listOf(zoneOf)) ?? [];
  if (!has('zone-maps') || zones.length === 1) wrong('zone-maps', 'two zones or more: ZONE:VSWITCH,ZONE:VSWITCH');
  const protocols = new Map(
    read('protocol-port', listOf(protocolPort))?.map(([protocol, port]) => [port, protocol] as const),
  );
  const protocolOf = ({ port, protocol }: DesiredPort) => (protocol === 'TCP' ? (protocols.get(port) ?? 'TCP') : 'UDP');
  const isSecure = ports.some((port) => protocolOf(port) === 'TCPSSL');
  if (isSecure && !has('cert-id')) wrong('cert-id', 'it, beside tcpssl');
  const listOfOne = (text: string | undefined) => (text === undefined ? undefined : [text]);
  const secure = {
    CertificateIds: listOfOne(read('cert-id', id)),
    CaCertificateIds: listOfOne(read('cacert-id', id)),
    CaEnabled: read('cacert', flag),
    SecurityPolicyId: read('tls-cipher-policy', matching(/^tls_cipher_policy_1_\w+$/)),
  };
  const config = set({
    Ppv2PrivateLinkEpIdEnabled: read('ppv2-pvl-ep-id-enabled', flag),
    Ppv2PrivateLinkEpsIdEnabled: read('ppv2-pvl-eps-id-enabled', flag),
    Ppv2VpcIdEnabled: read('ppv2-pvl-vpc-id-enabled', flag),
  });
  const fields = {
    IdleTimeout: read('idle-timeout', numberIn(10, 900)),
    Cps: read('cps', numberIn(0, 1_000_000)),
    ProxyProtocolEnabled: read('proxy-protocol', flag),
    ProxyProtocolV2Config: Object.keys(config).length > 0 ? config : undefined,
  };
  const check = set({
    HealthCheckEnabled: read('health-check-flag', flag),
    HealthCheckType: read('health-check-type', oneOf('tcp', 'http', 'udp'))?.toUpperCase(),
    HealthCheckUrl: read('health-check-uri', matching(/^\/\S*$/)),
    HealthCheckConnectPort: read('health-check-connect-port', numberIn(0, 65_535)),
    HealthCheckHttpCode: read('health-check-httpcode', listOf(oneOf('http_2xx', 'http_3xx', 'http_4xx', 'http_5xx'))),
    HealthCheckDomain: read('health-check-domain', matching(/^\S+$/)),
    HttpCheckMethod: read('health-check-method', oneOf('get', 'head'))?.toUpperCase(),
    HealthyThreshold: read('healthy-threshold', numberIn(2, 10)),
    UnhealthyThreshold: read('unhealthy-threshold', numberIn(2, 10)),
    HealthCheckInterval: read('health-check-interval', numberIn(1, 50)),
    HealthCheckConnectTimeout: read('health-check-connect-timeout', numberIn(1, 300)),
  });
  const isOwn = ownChecks.some(has);

  return {
    name: read('name', matching(/^[A-Za-z\u4e00-\u9fa5][\w.\u4e00-\u9fa5-]{1,127}$/)),
    hostname: read('hostname', matching(/^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/))?.toLowerCase(),
    tags: Object.fromEntries(read('additional-resource-tags', tagPairs) ?? []),
    addressType: type === 'internet' ? 'Internet' : 'Intranet',
    ipVersion: 'ipv4',
    zones,
    /** `TCP`, `UDP` or `TCPSSL`. */
    protocolOf,
    securityGroups: read('security-group-ids', listOf(matching(/^sg-[0-9a-z]+$/))),
    isProtected: read('delete-protection', flag),
    modification: read('modification-protection', oneOf('ConsoleProtection', 'NonProtection')),
    resourceGroup: read('resource-group-id', matching(/^rg-[0-9a-z]+$/)) ?? resourceGroup,
    bandwidthPackage: read('bandwidth-package-id', id),
    /** In the wire's fields, of a listener of that protocol. */
    listenerFieldsOf: (protocol: string) => set({ ...fields, ...(protocol === 'TCPSSL' ? secure : {}) }),
    /** In the wire's fields, without health checks. */
    groupFields: set({
      Scheduler: read('scheduler', oneOf('wrr', 'wlc', 'rr', 'sch', 'tch', 'qch')),
      ConnectionDrainEnabled: read('connection-drain', flag),
      ConnectionDrainTimeout: read('connection-drain-timeout', numberIn(0, 900)),
      PreserveClientIpEnabled: read('preserve-client-ip', flag),
    }),
    /** Undefined: kube-proxy is asked. */
    healthCheck: isOwn ? check : undefined,
    problems,
    remarks,
  };
}

/** `ZONE:VSWITCH[:ADDRESS[:EIP]]`. */
function zoneOf(text: string): Zone | undefined {
  const [, ZoneId, VSwitchId, address = '', eip = ''] =
    /^([a-z0-9-]+):(vsw-[0-9a-z]+)(?::([\d.]*))?(?::(eip-[0-9a-z]+))?$/.exec(text) ?? [];
  if (ZoneId === undefined || VSwitchId === undefined || (address !== '' && !isIPv4(address))) return undefined;
  return {
    ZoneId,
    VSwitchId,
    ...(address !== '' && { PrivateIPv4Address: address }),
    ...(eip !== '' && { AllocationId: eip }),
  };
}

function protocolPort(value: string): readonly [string, number] | undefined {
  const [, protocol, port] = /^(tcp|udp|tcpssl):(\d{1,5})$/.exec(value) ?? [];
  return protocol === undefined ? undefined : [protocol.toUpperCase(), Number(port)];
}
