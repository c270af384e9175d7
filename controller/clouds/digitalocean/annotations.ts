import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';
import type { AnnotationDefinition } from '../load-balancers.ts';

export const prefix = 'service.beta.kubernetes.io/do-loadbalancer-';
/** Written by the classic controller. */
export const idAnnotation = 'kubernetes.digitalocean.com/load-balancer-id';
export const disownAnnotation = 'service.kubernetes.io/do-loadbalancer-disown';

const flag = 'true or false';
const ports = 'port numbers, separated by commas: 443,8443';
const rules = 'ip:ADDRESS or cidr:RANGE, separated by commas';
const needsOverride = 'only beside override-health-check';

/** Values and meaning of each, by its name without the prefix. */
export const annotationTable = {
  name: [
    "letters, digits, '.' and '-'",
    'begins the name of the load balancer; the rest says whose it is. With --adopt: the name of the one to take over',
  ],
  hostname: ['a DNS name', "stands in the Service's status instead of the addresses"],
  type: [
    'REGIONAL or REGIONAL_NETWORK',
    'of the load balancer; default: DEFAULT_LB_TYPE. Another type is another address',
  ],
  network: ['EXTERNAL or INTERNAL', 'INTERNAL: reached inside the VPC alone. Another network is another address'],
  'network-stack': ['IPV4 or DUALSTACK', 'DUALSTACK: with an IPv6 address'],
  ip: ['an IPv4 address', 'of the account, that the load balancer is made with'],
  'subnet-uuid': ['a UUID', 'subnet of the VPC that the load balancer is made in'],
  'size-unit': ['a whole number, 1 to 200', 'nodes of the load balancer; without it the size of one that stands stays'],
  'size-slug': ['lb-small, lb-medium or lb-large', 'the same, in the regions that have no size units'],
  algorithm: ['round_robin or least_connections', 'ignored: the cloud chooses'],
  protocol: ['tcp, http, https or http2', 'of all TCP ports that no other annotation names; default tcp'],
  'http-ports': [ports, 'served as HTTP'],
  'tls-ports': [
    ports,
    'served as HTTPS; with a certificate or tls-passthrough, 443 where neither this nor http2-ports says',
  ],
  'http2-ports': [ports, 'served as HTTP/2'],
  'http3-port': ['a port number', 'served as HTTP/3, too; it needs a certificate'],
  'tls-passthrough': [flag, 'TLS ends at the nodes'],
  'certificate-id': ['a UUID', 'certificate of the HTTPS and HTTP/2 ports'],
  'certificate-name': ['a name', 'the same, by its name, which stays when the cloud renews the certificate'],
  'disable-lets-encrypt-dns-records': [flag, "no DNS records for certificates of Let's Encrypt; default false"],
  'redirect-http-to-https': [flag, 'HTTP on port 80 is redirected; default false'],
  'enable-proxy-protocol': [flag, 'nodes get the PROXY protocol; default false'],
  'enable-backend-keepalive': [flag, 'connections to nodes are kept; default false'],
  'http-idle-timeout-seconds': ['a whole number, 30 to 600', 'after which an idle HTTP connection ends'],
  'sticky-sessions-type': ['none or cookies', 'cookies: a client stays with its node; default none'],
  'sticky-sessions-cookie-name': ['a name', 'of the cookie; needed for cookies'],
  'sticky-sessions-cookie-ttl': ['a whole number', 'seconds that the cookie lives; needed for cookies'],
  'deny-rules': [rules, 'from where nothing is taken'],
  'allow-rules': [rules, 'from where alone traffic is taken; spec.loadBalancerSourceRanges win'],
  'override-health-check': ['anything', "health checks are those of the annotations, instead of kube-proxy's"],
  'healthcheck-port': [
    'a port of the Service',
    `whose node port is checked; default the first TCP port; ${needsOverride}`,
  ],
  'healthcheck-protocol': ['tcp, http or https', `default http with a path, otherwise tcp; ${needsOverride}`],
  'healthcheck-path': ['a path', `of the request; ${needsOverride}`],
  'healthcheck-check-interval-seconds': ['a whole number, 3 to 300', 'between two checks; default 3'],
  'healthcheck-response-timeout-seconds': ['a whole number, 3 to 300', 'of one check; default 5'],
  'healthcheck-unhealthy-threshold': ['a whole number, 2 to 10', 'failures until a node is unhealthy; default 3'],
  'healthcheck-healthy-threshold': ['a whole number, 2 to 10', 'successes until it is healthy; default 5'],
} as const satisfies AnnotationTable;

export type AnnotationName = keyof typeof annotationTable;

export const annotations: readonly AnnotationDefinition[] = [
  ...annotationsOf(prefix, annotationTable),
  { key: idAnnotation, values: 'a UUID', meaning: 'with --adopt: the load balancer to take over' },
  {
    key: disownAnnotation,
    values: flag,
    meaning: 'refused: everything stays as it is; to keep a load balancer, see mooring.dev/load-balancer-retain',
  },
];
