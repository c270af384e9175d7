import { type AnnotationTable, annotationsOf } from '../annotation-table.ts';
import { type AnnotationDefinition, portPlace } from '../load-balancers.ts';

export const prefix = 'service.beta.kubernetes.io/azure-';
/** Of the annotations for one port. */
export const portPrefix = 'service.beta.kubernetes.io/port_';

const flag = 'true or false';
const names = 'names, separated by commas';
const refused = 'refused: everything stays as it is';

/** Values and meaning of each, by its name without the prefix. */
export const known = {
  'load-balancer-internal': [flag, 'true: an address of a subnet, in the load balancer with -internal in its name'],
  'load-balancer-internal-subnet': ['the name of a subnet', 'of the internal address; default subnetName'],
  'load-balancer-ipv4': ['an IPv4 address', 'as spec.loadBalancerIP, and before it'],
  'load-balancer-resource-group': ['the name of a resource group', "of the public address; default the cluster's"],
  'pip-name': ['the name of a public address', 'that exists, and carries the tag mooring.dev-attachable-by'],
  'pip-prefix-id': ['the resource id of a public IP prefix', 'that a new public address is taken from'],
  'pip-tags': ['NAME=VALUE, separated by commas', 'tags of the public address'],
  'pip-ip-tags': ['TYPE=TAG, separated by commas', 'IP tags that a new public address is made with'],
  'dns-label-name': ['a DNS label, or nothing', 'of the public address; an empty one takes it away'],
  'allowed-service-tags': [names, 'service tags as sources in the security group, beside ranges'],
  'allowed-ip-ranges': ['ranges, separated by commas', 'as spec.loadBalancerSourceRanges; not both'],
  'deny-all-except-load-balancer-source-ranges': [flag, 'true: with ranges, others in the virtual network are denied'],
  'disable-load-balancer-nsg-rule': [flag, 'true: the security group is left alone'],
  'disable-load-balancer-floating-ip': [
    flag,
    'true: rules lead to node ports. With disable-load-balancer-nsg-rule alone',
  ],
  'load-balancer-tcp-idle-timeout': ['minutes, 4 to 100', 'until an idle connection ends; default 4'],
  'load-balancer-disable-tcp-reset': [flag, 'true: no reset when an idle connection ends'],
  'load-balancer-enable-high-availability-ports': [flag, 'true: one rule for all ports of an internal address'],
  'load-balancer-health-probe-protocol': ['tcp, http or https', 'each TCP port is probed by it at its node port'],
  'load-balancer-health-probe-request-path': ['a path', 'of http and https probes; default /'],
  'load-balancer-health-probe-interval': ['seconds, at least 5', 'between probes; default 5'],
  'load-balancer-health-probe-num-of-probe': ['a number, at least 2', 'of failures; with the interval under 120 s'],
  'load-balancer-mode': ['none', `${refused}: basic load balancers are no more`],
  'shared-securityrule': ['anything', 'ignored: rules are always shared'],
  'load-balancer-configurations': ['none', `${refused}: one load balancer serves all Services`],
  'additional-public-ips': ['none', refused],
  'load-balancer-ipv6': ['an IPv6 address', 'as load-balancer-ipv4, for IPv6'],
  'pip-name-ipv6': ['the name of a public address', 'as pip-name, for IPv6 of a dual-stack Service'],
  'pip-prefix-id-ipv6': ['the resource id of a public IP prefix', 'as pip-prefix-id, for IPv6 of a dual-stack Service'],
  'pls-create': ['none, or false', `${refused}: no private link service is made`],
} as const satisfies AnnotationTable;

export type AnnotationName = keyof typeof known;

/** By their names behind the number of a port of the Service. */
export const knownOfPorts = {
  no_lb_rule: [flag, 'true: that port is not served'],
  no_probe_rule: [flag, 'true: the rule of that port has no probe'],
  'health-probe_protocol': ['tcp, http or https', 'of a probe of its own, before appProtocol and all ports'],
  'health-probe_port': ['a number, or the name of a port', 'that is probed: at its node port where the Service has it'],
  'health-probe_interval': ['seconds, at least 5', 'as for all ports'],
  'health-probe_num-of-probe': ['a number, at least 2', 'as for all ports'],
  'health-probe_request-path': ['a path', 'as for all ports'],
} as const satisfies AnnotationTable;

export type PortAnnotationName = keyof typeof knownOfPorts;

/** The rest of the private link service's, which say nothing without `pls-create`. */
const privateLink = [
  'resource-group',
  'name',
  'ip-configuration-subnet',
  'ip-configuration-ip-address-count',
  'ip-configuration-ip-address',
  'fqdns',
  'proxy-protocol',
  'visibility',
  'auto-approval',
];

export const annotations: readonly AnnotationDefinition[] = [
  ...annotationsOf(prefix, known),
  ...annotationsOf(`${portPrefix}${portPlace}_`, knownOfPorts),
  ...privateLink.map((name) => {
    return { key: `${prefix}pls-${name}`, values: 'anything', meaning: 'ignored: pls-create is refused' };
  }),
];
