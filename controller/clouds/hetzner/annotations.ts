import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';

export const prefix = 'load-balancer.hetzner.cloud/';

const flag = 'true or false';
const whole = 'a whole number';
const duration = "a duration in Go's syntax, in whole seconds: 15s, 1m30s";
const protocols = 'tcp, http or https';

/** Values and meaning of each, by its name without the prefix. */
export const annotationTable = {
  name: [
    'a name',
    'of the load balancer; default: a and the UID of the Service. With consent, one that others made is used',
  ],
  hostname: ['a DNS name of at most 63 characters', "stands in the Service's status instead of the addresses"],
  'node-selector': [
    'a label selector: pool=web,disk!=hdd,zone in (a,b),gpu,!old',
    'only Nodes with these labels become targets',
  ],
  location: [
    'the name of a location',
    'where it stands; wins over network-zone. One elsewhere is made again, with consent to another address',
  ],
  'network-zone': [
    'the name of a network zone',
    'where the load balancer stands, in a location that the cloud chooses',
  ],
  type: [
    'the name of a type',
    'of the load balancer; default lb11. Without it the type of one that stands is left as it is',
  ],
  'algorithm-type': ['round_robin or least_connections', 'how connections are spread; default round_robin'],
  'disable-public-network': [flag, 'the load balancer is reached by its private address alone'],
  'disable-private-ingress': [flag, "private addresses are left out of the Service's status"],
  'use-private-ip': [flag, 'targets are reached in the network of HCLOUD_NETWORK'],
  'ipv6-disabled': [flag, "the IPv6 address is left out of the Service's status"],
  'private-ipv4': ['an IPv4 address', 'of the load balancer in the network'],
  'private-subnet-ip-range': ['a CIDR', 'subnet of the network in which the load balancer gets its private address'],
  'ipv4-rdns': ['a DNS name', 'reverse DNS of the IPv4 address'],
  'ipv6-rdns': ['a DNS name', 'reverse DNS of the IPv6 address'],
  'uses-proxyprotocol': [flag, 'targets get the PROXY protocol'],
  protocol: [protocols, 'of all ports; default tcp'],
  'http-cookie-name': ['a name', 'of the cookie for sticky sessions'],
  'http-cookie-lifetime': [duration, 'of that cookie'],
  'http-timeout-idle': [duration, 'after which an idle connection ends'],
  'http-sticky-sessions': [flag, 'a client stays with its target'],
  'http-redirect-http': [flag, 'HTTP on port 80 is redirected to HTTPS'],
  'certificate-type': [
    'uploaded or managed',
    'uploaded: those of http-certificates; managed: one is made for the domains; default uploaded',
  ],
  'http-certificates': ['ids or names, separated by commas', 'certificates of the project'],
  'http-managed-certificate-name': [
    'a name',
    'of the managed certificate; default: ccm-managed-certificate- and the UID of the Service',
  ],
  'http-managed-certificate-domains': ['DNS names, separated by commas', 'of the managed certificate'],
  'http-managed-certificate-acme-staging': [flag, 'the managed certificate is one for tests'],
  'health-check-protocol': [
    protocols,
    'default: that of the ports where another annotation of health checks is there, otherwise tcp',
  ],
  'health-check-port': [whole, 'default: the node port'],
  'health-check-interval': [duration, 'between two checks; 15s where the port is new'],
  'health-check-timeout': [duration, 'of one check; 10s where the port is new'],
  'health-check-retries': [whole, 'failures until a target is unhealthy; 3 where the port is new'],
  'health-check-http-domain': ['a DNS name', 'host of the request'],
  'health-check-http-path': ['a path', 'of the request'],
  'health-check-http-validate-certificate': [flag, 'the check speaks TLS'],
  'http-status-codes': ['codes, separated by commas; ? and * are wildcards', 'that are healthy'],
  id: ['ignored', 'written by old versions of the classic controller'],
  ipv4: ['ignored', 'written by old versions of the classic controller'],
  ipv6: ['ignored', 'written by old versions of the classic controller'],
} as const satisfies AnnotationTable;

export type AnnotationName = keyof typeof annotationTable;

export const annotations = annotationsOf(prefix, annotationTable);
