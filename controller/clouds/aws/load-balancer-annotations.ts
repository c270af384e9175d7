import type { AnnotationDefinition } from '../load-balancers.ts';

const prefix = 'service.beta.kubernetes.io/';

/** Annotations that begin so are meant for load balancers of AWS. */
export const annotationPrefix = `${prefix}aws-load-balancer-`;

/** Keys of the annotations of AWS load balancers of both kinds; names and meanings are the classic controller's. */
export const keys = {
  type: `${prefix}aws-load-balancer-type`,
  internal: `${prefix}aws-load-balancer-internal`,
  scheme: `${prefix}aws-load-balancer-scheme`,
  proxyProtocol: `${prefix}aws-load-balancer-proxy-protocol`,
  accessLogEnabled: `${prefix}aws-load-balancer-access-log-enabled`,
  accessLogEmitInterval: `${prefix}aws-load-balancer-access-log-emit-interval`,
  accessLogBucket: `${prefix}aws-load-balancer-access-log-s3-bucket-name`,
  accessLogPrefix: `${prefix}aws-load-balancer-access-log-s3-bucket-prefix`,
  drainingEnabled: `${prefix}aws-load-balancer-connection-draining-enabled`,
  drainingTimeout: `${prefix}aws-load-balancer-connection-draining-timeout`,
  idleTimeout: `${prefix}aws-load-balancer-connection-idle-timeout`,
  crossZone: `${prefix}aws-load-balancer-cross-zone-load-balancing-enabled`,
  securityGroups: `${prefix}aws-load-balancer-security-groups`,
  extraSecurityGroups: `${prefix}aws-load-balancer-extra-security-groups`,
  sslCertificate: `${prefix}aws-load-balancer-ssl-cert`,
  sslPorts: `${prefix}aws-load-balancer-ssl-ports`,
  sslPolicy: `${prefix}aws-load-balancer-ssl-negotiation-policy`,
  backendProtocol: `${prefix}aws-load-balancer-backend-protocol`,
  additionalTags: `${prefix}aws-load-balancer-additional-resource-tags`,
  healthProtocol: `${prefix}aws-load-balancer-healthcheck-protocol`,
  healthPort: `${prefix}aws-load-balancer-healthcheck-port`,
  healthPath: `${prefix}aws-load-balancer-healthcheck-path`,
  healthyThreshold: `${prefix}aws-load-balancer-healthcheck-healthy-threshold`,
  unhealthyThreshold: `${prefix}aws-load-balancer-healthcheck-unhealthy-threshold`,
  healthTimeout: `${prefix}aws-load-balancer-healthcheck-timeout`,
  healthInterval: `${prefix}aws-load-balancer-healthcheck-interval`,
  targetGroupAttributes: `${prefix}aws-load-balancer-target-group-attributes`,
  targetType: `${prefix}aws-load-balancer-nlb-target-type`,
  eipAllocations: `${prefix}aws-load-balancer-eip-allocations`,
  privateAddresses: `${prefix}aws-load-balancer-private-ipv4-addresses`,
  targetNodeLabels: `${prefix}aws-load-balancer-target-node-labels`,
  subnets: `${prefix}aws-load-balancer-subnets`,
} as const;

/** All of them, for both kinds. */
export const annotationDefinitions: readonly AnnotationDefinition[] = [
  {
    key: keys.type,
    values: 'nlb; anything else or none = classic; nlb-ip and external = of another controller, refused',
    meaning: 'Kind of load balancer.',
  },
  {
    key: keys.internal,
    values: 'empty or false = internet-facing, anything else = internal',
    meaning: 'Where its addresses are reached from.',
  },
  {
    key: keys.scheme,
    values: 'internal or internet-facing',
    meaning:
      "The same, by the name that AWS's own load balancer controller has for it. Refused where it contradicts the " +
      'one above.',
  },
  {
    key: keys.subnets,
    values: 'subnet ids or values of their Name tags, separated by commas, one for each zone',
    meaning: 'Where it stands; otherwise they are discovered.',
  },
  {
    key: keys.crossZone,
    values: 'true or false',
    meaning: 'Whether each zone serves members of all zones. Default false.',
  },
  {
    key: keys.securityGroups,
    values: 'security group ids, separated by commas',
    meaning:
      'Used instead of a group of its own, and left as they are. Of a network one only with NLBSecurityGroupMode. ' +
      'Groups that the operator allows: --allowed-security-groups, or a consent tag on the group.',
  },
  {
    key: keys.extraSecurityGroups,
    values: 'security group ids, separated by commas',
    meaning: 'Classic: added to its own. Groups that the operator allows, as above.',
  },
  { key: keys.sslCertificate, values: 'ARN of a certificate in ACM or IAM', meaning: 'Ends TLS.' },
  {
    key: keys.sslPorts,
    values: 'numbers or names of ports, separated by commas, or *',
    meaning: 'Which ports end TLS. Default all (UDP excepted).',
  },
  { key: keys.sslPolicy, values: 'name of a security policy', meaning: 'What TLS negotiates. Default: that of AWS.' },
  {
    key: keys.backendProtocol,
    values: 'network: ssl or tcp; classic: http, https, ssl or tcp',
    meaning: 'Spoken to members where TLS ends.',
  },
  {
    key: keys.additionalTags,
    values: 'key=value pairs, separated by commas',
    meaning: 'Put on everything that is made for the Service.',
  },
  {
    key: keys.healthProtocol,
    values: 'HTTP, HTTPS or TCP (classic: SSL too)',
    meaning:
      'How members are probed. Without effect where the cloud config says Shared and the traffic policy is Cluster.',
  },
  { key: keys.healthPort, values: 'a port, 1 to 65535, or traffic-port', meaning: 'Where members are probed.' },
  { key: keys.healthPath, values: 'a path', meaning: 'Asked for by HTTP and HTTPS probes.' },
  { key: keys.healthyThreshold, values: '2 to 10', meaning: 'Probes in a row until a member is healthy.' },
  { key: keys.unhealthyThreshold, values: '2 to 10', meaning: 'Failed probes in a row until it is not.' },
  { key: keys.healthTimeout, values: 'seconds, 2 to 120 (classic: to 60)', meaning: 'How long a probe may take.' },
  { key: keys.healthInterval, values: 'seconds, 5 to 300', meaning: 'From probe to probe.' },
  {
    key: keys.accessLogEnabled,
    values: 'true or false',
    meaning: 'Whether access logs are written to S3. Default false.',
  },
  { key: keys.accessLogEmitInterval, values: '5 or 60 (minutes)', meaning: 'Classic: how often they are written.' },
  { key: keys.accessLogBucket, values: 'name of a bucket', meaning: 'Where to.' },
  { key: keys.accessLogPrefix, values: 'a prefix, or none', meaning: 'How their keys begin.' },
  { key: keys.proxyProtocol, values: '*', meaning: 'Classic: members get the PROXY protocol on every port.' },
  {
    key: keys.drainingEnabled,
    values: 'true or false',
    meaning: 'Classic: whether connections of leaving members live on.',
  },
  { key: keys.drainingTimeout, values: 'seconds, 1 to 3600', meaning: 'Classic: how long.' },
  {
    key: keys.idleTimeout,
    values: 'seconds, 1 to 4000',
    meaning: 'Classic: when a silent connection ends. Default 60.',
  },
  {
    key: keys.targetGroupAttributes,
    values: 'preserve_client_ip.enabled=true|false, proxy_protocol_v2.enabled=true|false',
    meaning: 'Network: what members learn of clients.',
  },
  {
    key: keys.targetType,
    values: 'instance or ip',
    meaning:
      "Network: members by instance id (the default) or by their Nodes' addresses. The name is that of AWS's own " +
      'load balancer controller.',
  },
  {
    key: keys.eipAllocations,
    values: 'allocation ids of Elastic IPs, separated by commas, as many as subnets, in the order of their zones',
    meaning: 'Network, internet-facing: its addresses.',
  },
  {
    key: keys.privateAddresses,
    values: 'IPv4 addresses, separated by commas, as many as subnets, in the order of their zones',
    meaning: 'Network, internal: its addresses.',
  },
  {
    key: keys.targetNodeLabels,
    values: 'key=value pairs, separated by commas; an empty value = any',
    meaning: 'Only Nodes that carry all of these labels are members.',
  },
];
