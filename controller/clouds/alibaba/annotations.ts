import type { AnnotationTable } from '../annotation-table.ts';
import type { AnnotationDefinition } from '../load-balancers.ts';

export const prefix = 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-';
export const legacyPrefix = 'service.beta.kubernetes.io/alicloud-loadbalancer-';

const onOff = 'on or off';
const whole = (least: number, most: number) => `a whole number, ${least} to ${most}`;
const seconds = (least: number, most: number) => `seconds, ${least} to ${most}`;
const refused = (instead: string) => [`refused: ${instead}`, 'of the classic controller'] as const;
const ignored = (why: string) => ['ignored', why] as const;

/** Of both types. */
const ofBoth = {
  'address-type': ['internet or intranet', 'default internet. Another type is another address'],
  name: ['a name', 'of the load balancer; default: a and the UID of the Service'],
  hostname: ['a DNS name', "stands in the Service's status instead of the address"],
  'resource-group-id': ['an id', 'of a new load balancer; default: resourceGroupID of the cloud config'],
  'additional-resource-tags': [
    'key=value, separated by commas, no key of Mooring or the classic controller',
    'more tags of the load balancer',
  ],
  'delete-protection': [onOff, 'of the load balancer; switched off when its Service goes'],
  'modification-protection': ['ConsoleProtection or NonProtection', 'against changes at the console'],
  'ip-version': ['ipv4 or ipv6', 'default ipv4, or ipv6 where the Service has that family alone; of an NLB ipv4'],
  'protocol-port': ['PROTOCOL:PORT, separated by commas', 'tcp, udp, http or https; of an NLB tcp, udp or tcpssl'],
  scheduler: ['wrr, wlc, rr, sch, tch or qch', 'how connections are spread; rr where the port is new'],
  'connection-drain': [onOff, 'connections of removed nodes go on for a while, of TCP'],
  'connection-drain-timeout': [seconds(10, 900), 'for how long'],
  'proxy-protocol': [onOff, 'nodes get the PROXY protocol, of TCP and UDP'],
  'idle-timeout': [seconds(1, 900), 'of HTTP and HTTPS up to 60; of an NLB from 10'],
  'cert-id': ['an id', 'certificate of HTTPS and TCPSSL, which need it'],
  'tls-cipher-policy': ['tls_cipher_policy_1_0, ..._1_1, ..._1_2, ..._1_2_strict', 'of HTTPS and TCPSSL'],
  'health-check-flag': [onOff, 'health checks of HTTP and HTTPS, and of NLBs'],
  'health-check-type': [
    'tcp or http, of an NLB udp',
    'of TCP ports; without this and the next three kube-proxy is asked on each node, and pods on their port',
  ],
  'health-check-uri': ['a path', 'of the request'],
  'health-check-connect-port': [whole(1, 65_535), 'that is checked; default the port of the node or pod'],
  'health-check-httpcode': ['http_2xx, http_3xx, ..., separated by commas', 'that are healthy'],
  'health-check-domain': ['a DNS name', 'host of the request'],
  'health-check-method': ['get or head', 'of the request, of HTTP and HTTPS'],
  'healthy-threshold': [whole(2, 10), 'successes until a node is healthy'],
  'unhealthy-threshold': [whole(2, 10), 'failures until a node is unhealthy'],
  'health-check-interval': [seconds(1, 50), 'between two checks'],
  'health-check-connect-timeout': [seconds(1, 300), 'of one check, of TCP and UDP'],
  'backend-label': [
    'labels, separated by commas: a=b,c=d',
    'only Nodes with these labels become members; says nothing of pods',
  ],
  'backend-type': ['ecs or eni', 'whether Nodes or pods are members; default serviceBackendType of the cloud config'],
  'backend-ip-version': ['ipv4', 'ipv6 is refused: members are reached by IPv4'],
  'remove-unscheduled-backend': ignored('which Nodes are members is decided for all clouds alike'),
  'ignore-weight-update': ignored('weights say which members drain'),
  'force-override-listeners': ignored('it needs id, which is refused'),
  id: refused('mooring.dev/load-balancer-id says which one to use, on clouds that can; here none is shared'),
  'vgroup-port': refused('it needs id'),
  weight: refused('it needs id'),
  'external-ip-type': refused('no elastic address is bound to a load balancer'),
  'domain-extensions': refused('one certificate serves a port'),
  'ipv6-address-type': refused('only the addresses of IPv4 may be public'),
  'preserve-lb-on-delete': refused('mooring.dev/load-balancer-retain keeps a load balancer'),
  'listener-port-range': refused('a listener serves one port'),
} as const satisfies AnnotationTable;

const ofClassic = {
  'vswitch-id': ['an id', 'of a load balancer with a private address. Another one is another address'],
  ip: ['an address', 'private address that the load balancer is made with'],
  'master-zoneid': ['a zone', 'of the load balancer. Another one is another address'],
  'slave-zoneid': ['a zone', 'its standby. Another one is another address'],
  'charge-type': ['paybytraffic or paybybandwidth', 'how traffic is charged; paybybandwidth needs PayBySpec'],
  bandwidth: [whole(1, 5000), 'Mbit/s, without effect unless beside paybybandwidth'],
  'instance-charge-type': [
    'PayBySpec or PayByCLCU',
    'how the load balancer is charged; back to PayBySpec has no effect',
  ],
  spec: ['slb.s1.small, slb.s2.small, ...', 'size of a load balancer that is PayBySpec: no new ones are'],
  'forward-port': ['PORT:PORT, separated by commas', 'HTTP on the first port is redirected to the second'],
  'persistence-timeout': [seconds(0, 3600), 'for which a client stays with its node, of TCP'],
  'established-timeout': [seconds(10, 900), 'after which an idle TCP connection ends'],
  'request-timeout': [seconds(1, 180), 'of HTTP and HTTPS'],
  'sticky-session': [onOff, 'a client stays with its node, of HTTP and HTTPS'],
  'sticky-session-type': ['insert or server', 'who sets the cookie'],
  cookie: ['a name', 'of the cookie, with server'],
  'cookie-timeout': [seconds(1, 86_400), 'for which the cookie lives, with insert'],
  'xforwardedfor-proto': [onOff, 'header X-Forwarded-Proto'],
  'xforwardedfor-slbport': [onOff, 'header XForwardedFor_SLBPORT'],
  'xforwardedfor-clientsrcport': [onOff, 'header XForwardedFor_ClientSrcPort'],
  'http2-enabled': [onOff, 'of HTTPS'],
  'acl-id': ['an id', 'access list that others made; wins over spec.loadBalancerSourceRanges'],
  'acl-type': ['white or black', 'of acl-id: what it names alone, or all but it, is let in'],
  'acl-status': [onOff, 'whether acl-id is used'],
  'health-check-switch': [onOff, 'health checks of TCP and UDP'],
  'health-check-timeout': [seconds(1, 300), 'of one check, of HTTP and HTTPS'],
  'slb-network-type': ['vpc', 'classic networks are refused'],
} as const satisfies AnnotationTable;

const ofNetwork = {
  'zone-maps': ['ZONE:VSWITCH[:ADDRESS[:EIP]], separated by commas', 'zones of the load balancer, two or more; needed'],
  'security-group-ids': [
    'ids, separated by commas',
    'security groups that say who is let in; none are changed without',
  ],
  'bandwidth-package-id': ['an id', 'of a new load balancer'],
  'cacert-id': ['an id', 'certificate authority of clients, of TCPSSL'],
  cacert: [onOff, 'clients need a certificate of cacert-id, of TCPSSL'],
  cps: [whole(0, 1_000_000), 'new connections a second'],
  'preserve-client-ip': [onOff, 'nodes see the address of the client'],
  'server-group-type': ['instance', 'ip is refused: members are instances, or network interfaces with pods'],
  'ppv2-pvl-ep-id-enabled': [onOff, 'the PROXY protocol has the id of the PrivateLink endpoint'],
  'ppv2-pvl-eps-id-enabled': [onOff, 'the PROXY protocol has the id of the PrivateLink endpoint service'],
  'ppv2-pvl-vpc-id-enabled': [onOff, 'the PROXY protocol has the id of the VPC'],
} as const satisfies AnnotationTable;

/** Values and meaning of each, by its name without the prefix. */
export const annotationTable = { ...ofBoth, ...ofClassic, ...ofNetwork };

export type AnnotationName = keyof typeof annotationTable;

/** The type of load balancers that alone has it; undefined: both. */
export function onlyTypeOf(name: AnnotationName): 'CLB' | 'NLB' | undefined {
  if (name in ofClassic) return 'CLB';
  return name in ofNetwork ? 'NLB' : undefined;
}

/** The classic controller's own name for the type of members. */
export const backendAnnotation = 'service.beta.kubernetes.io/backend-type';
export const classAnnotation = 'service.beta.kubernetes.io/class';
/** Of `spec.loadBalancerClass`, and of the annotation. */
export const networkClass = 'alibabacloud.com/nlb';

export const annotations: readonly AnnotationDefinition[] = [
  ...(Object.keys(annotationTable) as AnnotationName[]).flatMap((name) => {
    const [values, meaning] = annotationTable[name];
    const type = onlyTypeOf(name);
    return [
      { key: prefix + name, values, meaning: type === undefined ? meaning : `${meaning} (${type} alone)` },
      { key: legacyPrefix + name, values, meaning: `the former name of ${prefix}${name}` },
    ];
  }),
  {
    key: backendAnnotation,
    values: annotationTable['backend-type'][0],
    meaning: `as ${prefix}backend-type, and wins`,
  },
  {
    key: classAnnotation,
    values: networkClass,
    meaning: 'a Network Load Balancer, as with that spec.loadBalancerClass. Another type is another address',
  },
];
