import { keysOf, namedAnnotations } from '../../annotation-table.ts';
import { longest } from './names.ts';
import { octaviaTags, tag } from './tags.ts';

const prefix = 'loadbalancer.openstack.org/';
const legacyPrefix = 'service.beta.kubernetes.io/openstack-';

/** Annotations that begin so are meant for Octavia. */
export const annotationPrefixes: readonly string[] = [prefix, legacyPrefix];

/** It is kept in a tag. */
export const longestHostname = longest - tag(octaviaTags.hostname, '').length;

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
  hostname: `a DNS name of at most ${longestHostname} characters`,
  nodeSelector: 'labels such as role=ingress,gpu; one without a value may have any',
  container:
    'the URL of a container or secret of the key manager (any text unless container-store is barbican); ' +
    "empty = the cloud config's is not used",
  class: 'the name of a [LoadBalancerClass] of the cloud config',
  subnetName: 'a name, a glob, or ~ and a regular expression; ! in front negates',
  subnetTags: 'tags, separated by commas: any of them; & in front all, ! none, !& not all',
} as const;

/** The classic controller's annotations. */
const table = {
  internal: [
    `${legacyPrefix}internal-load-balancer`,
    values.flag,
    'Without a floating IP: the Service shows the VIP. A later change gives it another address.',
  ],
  loadBalancerId: [
    `${prefix}load-balancer-id`,
    'the id of its own load balancer, as the classic controller writes it',
    'Remembers the load balancer. To use a foreign one, name it in mooring.dev/load-balancer-id.',
  ],
  loadBalancerAddress: [
    `${prefix}load-balancer-address`,
    'any',
    'Written by the classic controller; not read. The address is in the status of the Service.',
  ],
  hostname: [`${prefix}hostname`, values.hostname, 'Shown in the status of the Service in place of the address.'],
  class: [`${prefix}class`, values.class, 'Takes networks and subnets from that section of the cloud config.'],
  floatingNetworkId: [
    `${prefix}floating-network-id`,
    `${values.id}; empty = the first external network`,
    'Network of a floating IP that is made.',
  ],
  floatingSubnetId: [`${prefix}floating-subnet-id`, values.id, 'Subnet of a floating IP that is made.'],
  floatingSubnet: [`${prefix}floating-subnet`, values.subnetName, 'Subnets of a floating IP that is made, by name.'],
  floatingSubnetTags: [
    `${prefix}floating-subnet-tags`,
    values.subnetTags,
    'Subnets of a floating IP that is made, by tags.',
  ],
  keepFloatingIp: [
    `${prefix}keep-floatingip`,
    values.flag,
    'The floating IP stays in the project when its Service goes.',
  ],
  subnetId: [`${prefix}subnet-id`, values.id, 'Subnet of the VIP. Used when the load balancer is made.'],
  networkId: [`${prefix}network-id`, values.id, 'Network of the VIP. Used when the load balancer is made.'],
  memberSubnetId: [`${prefix}member-subnet-id`, values.id, 'Subnet of the members; default that of the VIP.'],
  portId: [
    `${prefix}port-id`,
    values.id,
    'Existing port whose address becomes the VIP. Used when the load balancer is made.',
  ],
  method: [`${prefix}lb-method`, values.method, 'How pools choose a member.'],
  connectionLimit: [`${prefix}connection-limit`, values.limit, 'Connections at one time, for each listener.'],
  proxyProtocol: [
    `${prefix}proxy-protocol`,
    values.proxy,
    "Members get the client's address in a PROXY protocol header (true = v1), on TCP ports.",
  ],
  forwardedFor: [
    `${prefix}x-forwarded-for`,
    values.flag,
    "TCP ports are served as HTTP, with the client's address in X-Forwarded-For. Not together with proxy-protocol.",
  ],
  timeoutClientData: [`${prefix}timeout-client-data`, values.milliseconds, 'Silence of a client; default 50000.'],
  timeoutMemberConnect: [
    `${prefix}timeout-member-connect`,
    values.milliseconds,
    'Connecting to a member; default 5000.',
  ],
  timeoutMemberData: [`${prefix}timeout-member-data`, values.milliseconds, 'Silence of a member; default 50000.'],
  timeoutTcpInspect: [`${prefix}timeout-tcp-inspect`, values.milliseconds, 'Wait for content to inspect; default 0.'],
  healthMonitor: [
    `${prefix}enable-health-monitor`,
    values.flag,
    'Members are checked; default create-monitor of the cloud config.',
  ],
  monitorDelay: [`${prefix}health-monitor-delay`, values.seconds, 'Between two checks.'],
  monitorTimeout: [`${prefix}health-monitor-timeout`, values.seconds, 'For one check.'],
  monitorMaxRetries: [
    `${prefix}health-monitor-max-retries`,
    values.retries,
    'Checks that succeed until a member is used again.',
  ],
  monitorMaxRetriesDown: [
    `${prefix}health-monitor-max-retries-down`,
    values.retries,
    'Checks that fail until a member is not used.',
  ],
  flavorId: [`${prefix}flavor-id`, values.id, 'Flavor of Octavia. Used when the load balancer is made.'],
  availabilityZone: [
    `${prefix}availability-zone`,
    'the name of an availability zone of Octavia',
    'Used when the load balancer is made.',
  ],
  tlsContainerRef: [
    `${prefix}default-tls-container-ref`,
    values.container,
    'The load balancer ends TLS with it, on TCP ports.',
  ],
  nodeSelector: [
    `${prefix}node-selector`,
    values.nodeSelector,
    'Only Nodes with these labels are members; default node-selector of the cloud config.',
  ],
} as const;

export const keys = keysOf(table);
export const annotationDefinitions = namedAnnotations(table);
