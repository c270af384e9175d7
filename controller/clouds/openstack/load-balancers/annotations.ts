import type { AnnotationDefinition } from '../../load-balancers.ts';

const prefix = 'loadbalancer.openstack.org/';
const legacyPrefix = 'service.beta.kubernetes.io/openstack-';

/** Annotations that begin so are meant for Octavia. */
export const annotationPrefixes: readonly string[] = [prefix, legacyPrefix];

/** The classic controller's annotations. */
export const keys = {
  internal: `${legacyPrefix}internal-load-balancer`,
  loadBalancerId: `${prefix}load-balancer-id`,
  loadBalancerAddress: `${prefix}load-balancer-address`,
  hostname: `${prefix}hostname`,
  class: `${prefix}class`,
  floatingNetworkId: `${prefix}floating-network-id`,
  floatingSubnetId: `${prefix}floating-subnet-id`,
  floatingSubnet: `${prefix}floating-subnet`,
  floatingSubnetTags: `${prefix}floating-subnet-tags`,
  keepFloatingIp: `${prefix}keep-floatingip`,
  subnetId: `${prefix}subnet-id`,
  networkId: `${prefix}network-id`,
  memberSubnetId: `${prefix}member-subnet-id`,
  portId: `${prefix}port-id`,
  method: `${prefix}lb-method`,
  connectionLimit: `${prefix}connection-limit`,
  proxyProtocol: `${prefix}proxy-protocol`,
  forwardedFor: `${prefix}x-forwarded-for`,
  timeoutClientData: `${prefix}timeout-client-data`,
  timeoutMemberConnect: `${prefix}timeout-member-connect`,
  timeoutMemberData: `${prefix}timeout-member-data`,
  timeoutTcpInspect: `${prefix}timeout-tcp-inspect`,
  healthMonitor: `${prefix}enable-health-monitor`,
  monitorDelay: `${prefix}health-monitor-delay`,
  monitorTimeout: `${prefix}health-monitor-timeout`,
  monitorMaxRetries: `${prefix}health-monitor-max-retries`,
  monitorMaxRetriesDown: `${prefix}health-monitor-max-retries-down`,
  flavorId: `${prefix}flavor-id`,
  availabilityZone: `${prefix}availability-zone`,
  tlsContainerRef: `${prefix}default-tls-container-ref`,
  nodeSelector: `${prefix}node-selector`,
} as const;

/** Accepted values, for people; refusals repeat them. */
export const values = {
  flag: 'true or false',
  id: 'a UUID',
  proxy: 'true, v1, v2 or false',
  limit: 'a whole number, -1 = no limit',
  milliseconds: 'milliseconds, 0 to 2073600000',
  seconds: 'whole seconds, at least 1',
  retries: 'a whole number, 1 to 10',
  method: 'ROUND_ROBIN, LEAST_CONNECTIONS or SOURCE_IP; SOURCE_IP_PORT with provider ovn',
  hostname: 'a DNS name',
  nodeSelector: 'labels such as role=ingress,gpu; one without a value may have any',
  container:
    'the URL of a container or secret of the key manager (any text unless container-store is barbican); ' +
    "empty = the cloud config's is not used",
  class: 'the name of a [LoadBalancerClass] of the cloud config',
  subnetName: 'a name, a glob, or ~ and a regular expression; ! in front negates',
  subnetTags: 'tags, separated by commas: any of them; & in front all, ! none, !& not all',
} as const;

export const annotationDefinitions: readonly AnnotationDefinition[] = [
  {
    key: keys.internal,
    values: values.flag,
    meaning: 'Without a floating IP: the Service shows the VIP. A later change gives it another address.',
  },
  {
    key: keys.loadBalancerId,
    values: 'the id of its own load balancer, as the classic controller writes it',
    meaning: 'Remembers the load balancer. To use a foreign one, name it in mooring.dev/load-balancer-id.',
  },
  {
    key: keys.loadBalancerAddress,
    values: 'any',
    meaning: 'Written by the classic controller; not read. The address is in the status of the Service.',
  },
  {
    key: keys.hostname,
    values: values.hostname,
    meaning: 'Shown in the status of the Service in place of the address.',
  },
  {
    key: keys.class,
    values: values.class,
    meaning: 'Takes networks and subnets from that section of the cloud config.',
  },
  {
    key: keys.floatingNetworkId,
    values: `${values.id}; empty = the first external network`,
    meaning: 'Network of a floating IP that is made.',
  },
  { key: keys.floatingSubnetId, values: values.id, meaning: 'Subnet of a floating IP that is made.' },
  { key: keys.floatingSubnet, values: values.subnetName, meaning: 'Subnets of a floating IP that is made, by name.' },
  {
    key: keys.floatingSubnetTags,
    values: values.subnetTags,
    meaning: 'Subnets of a floating IP that is made, by tags.',
  },
  {
    key: keys.keepFloatingIp,
    values: values.flag,
    meaning: 'The floating IP stays in the project when its Service goes.',
  },
  { key: keys.subnetId, values: values.id, meaning: 'Subnet of the VIP. Used when the load balancer is made.' },
  { key: keys.networkId, values: values.id, meaning: 'Network of the VIP. Used when the load balancer is made.' },
  { key: keys.memberSubnetId, values: values.id, meaning: 'Subnet of the members; default that of the VIP.' },
  {
    key: keys.portId,
    values: values.id,
    meaning: 'Existing port whose address becomes the VIP. Used when the load balancer is made.',
  },
  { key: keys.method, values: values.method, meaning: 'How pools choose a member.' },
  { key: keys.connectionLimit, values: values.limit, meaning: 'Connections at one time, for each listener.' },
  {
    key: keys.proxyProtocol,
    values: values.proxy,
    meaning: "Members get the client's address in a PROXY protocol header (true = v1), on TCP ports.",
  },
  {
    key: keys.forwardedFor,
    values: values.flag,
    meaning:
      "TCP ports are served as HTTP, with the client's address in X-Forwarded-For. Not together with proxy-protocol.",
  },
  { key: keys.timeoutClientData, values: values.milliseconds, meaning: 'Silence of a client; default 50000.' },
  { key: keys.timeoutMemberConnect, values: values.milliseconds, meaning: 'Connecting to a member; default 5000.' },
  { key: keys.timeoutMemberData, values: values.milliseconds, meaning: 'Silence of a member; default 50000.' },
  { key: keys.timeoutTcpInspect, values: values.milliseconds, meaning: 'Wait for content to inspect; default 0.' },
  {
    key: keys.healthMonitor,
    values: values.flag,
    meaning: 'Members are checked; default create-monitor of the cloud config.',
  },
  { key: keys.monitorDelay, values: values.seconds, meaning: 'Between two checks.' },
  { key: keys.monitorTimeout, values: values.seconds, meaning: 'For one check.' },
  { key: keys.monitorMaxRetries, values: values.retries, meaning: 'Checks that succeed until a member is used again.' },
  { key: keys.monitorMaxRetriesDown, values: values.retries, meaning: 'Checks that fail until a member is not used.' },
  { key: keys.flavorId, values: values.id, meaning: 'Flavor of Octavia. Used when the load balancer is made.' },
  {
    key: keys.availabilityZone,
    values: 'the name of an availability zone of Octavia',
    meaning: 'Used when the load balancer is made.',
  },
  { key: keys.tlsContainerRef, values: values.container, meaning: 'The load balancer ends TLS with it, on TCP ports.' },
  {
    key: keys.nodeSelector,
    values: values.nodeSelector,
    meaning: 'Only Nodes with these labels are members; default node-selector of the cloud config.',
  },
];
