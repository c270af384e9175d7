import { keysOf, namedAnnotations } from '../annotation-table.ts';

const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';

/** Annotations that begin so are meant for load balancers of AWS. */
export const annotationPrefix = prefix;

/** Of both kinds of load balancers; names and meanings are the classic controller's. */
const table = {
  type: [
    `${prefix}type`,
    'nlb; anything else or none = classic; nlb-ip and external = of another controller, refused',
    'Kind of load balancer.',
  ],
  internal: [
    `${prefix}internal`,
    'empty or false = internet-facing, anything else = internal',
    'Where its addresses are reached from.',
  ],
  scheme: [
    `${prefix}scheme`,
    'internal or internet-facing',
    "The same, by the name that AWS's own load balancer controller has for it. Refused where it contradicts the " +
      'one above.',
  ],
  subnets: [
    `${prefix}subnets`,
    'subnet ids or values of their Name tags, separated by commas, one for each zone',
    'Where it stands; otherwise they are discovered.',
  ],
  crossZone: [
    `${prefix}cross-zone-load-balancing-enabled`,
    'true or false',
    'Whether each zone serves members of all zones. Default false.',
  ],
  securityGroups: [
    `${prefix}security-groups`,
    'security group ids, separated by commas',
    'Used instead of a group of its own, and left as they are. Of a network one only with NLBSecurityGroupMode. ' +
      'Groups that the operator allows: --allowed-security-groups, or a consent tag on the group.',
  ],
  extraSecurityGroups: [
    `${prefix}extra-security-groups`,
    'security group ids, separated by commas',
    'Classic: added to its own. Groups that the operator allows, as above.',
  ],
  sslCertificate: [`${prefix}ssl-cert`, 'ARN of a certificate in ACM or IAM', 'Ends TLS.'],
  sslPorts: [
    `${prefix}ssl-ports`,
    'numbers or names of ports, separated by commas, or *',
    'Which ports end TLS. Default all (UDP excepted).',
  ],
  sslPolicy: [
    `${prefix}ssl-negotiation-policy`,
    'name of a security policy',
    'What TLS negotiates. Default: that of AWS.',
  ],
  backendProtocol: [
    `${prefix}backend-protocol`,
    'network: ssl or tcp; classic: http, https, ssl or tcp',
    'Spoken to members where TLS ends.',
  ],
  additionalTags: [
    `${prefix}additional-resource-tags`,
    'key=value pairs, separated by commas',
    'Put on everything that is made for the Service.',
  ],
  healthProtocol: [
    `${prefix}healthcheck-protocol`,
    'HTTP, HTTPS or TCP (classic: SSL too)',
    'How members are probed. Without effect where the cloud config says Shared and the traffic policy is Cluster.',
  ],
  healthPort: [`${prefix}healthcheck-port`, 'a port, 1 to 65535, or traffic-port', 'Where members are probed.'],
  healthPath: [`${prefix}healthcheck-path`, 'a path', 'Asked for by HTTP and HTTPS probes.'],
  healthyThreshold: [`${prefix}healthcheck-healthy-threshold`, '2 to 10', 'Probes in a row until a member is healthy.'],
  unhealthyThreshold: [
    `${prefix}healthcheck-unhealthy-threshold`,
    '2 to 10',
    'Failed probes in a row until it is not.',
  ],
  healthTimeout: [`${prefix}healthcheck-timeout`, 'seconds, 2 to 120 (classic: to 60)', 'How long a probe may take.'],
  healthInterval: [`${prefix}healthcheck-interval`, 'seconds, 5 to 300', 'From probe to probe.'],
  accessLogEnabled: [
    `${prefix}access-log-enabled`,
    'true or false',
    'Whether access logs are written to S3. Default false.',
  ],
  accessLogEmitInterval: [
    `${prefix}access-log-emit-interval`,
    '5 or 60 (minutes)',
    'Classic: how often they are written.',
  ],
  accessLogBucket: [`${prefix}access-log-s3-bucket-name`, 'name of a bucket', 'Where to.'],
  accessLogPrefix: [`${prefix}access-log-s3-bucket-prefix`, 'a prefix, or none', 'How their keys begin.'],
  proxyProtocol: [`${prefix}proxy-protocol`, '*', 'Classic: members get the PROXY protocol on every port.'],
  drainingEnabled: [
    `${prefix}connection-draining-enabled`,
    'true or false',
    'Classic: whether connections of leaving members live on.',
  ],
  drainingTimeout: [`${prefix}connection-draining-timeout`, 'seconds, 1 to 3600', 'Classic: how long.'],
  idleTimeout: [
    `${prefix}connection-idle-timeout`,
    'seconds, 1 to 4000',
    'Classic: when a silent connection ends. Default 60.',
  ],
  targetGroupAttributes: [
    `${prefix}target-group-attributes`,
    'preserve_client_ip.enabled=true|false, proxy_protocol_v2.enabled=true|false',
    'Network: what members learn of clients.',
  ],
  targetType: [
    `${prefix}nlb-target-type`,
    'instance or ip',
    "Network: members by instance id (the default) or by their Nodes' addresses. The name is that of AWS's own " +
      'load balancer controller.',
  ],
  eipAllocations: [
    `${prefix}eip-allocations`,
    'allocation ids of Elastic IPs, separated by commas, as many as subnets, in the order of their zones',
    'Network, internet-facing: its addresses.',
  ],
  privateAddresses: [
    `${prefix}private-ipv4-addresses`,
    'IPv4 addresses, separated by commas, as many as subnets, in the order of their zones',
    'Network, internal: its addresses.',
  ],
  targetNodeLabels: [
    `${prefix}target-node-labels`,
    'key=value pairs, separated by commas; an empty value = any',
    'Only Nodes that carry all of these labels are members.',
  ],
} as const;

export const keys = keysOf(table);
export const annotationDefinitions = namedAnnotations(table);
