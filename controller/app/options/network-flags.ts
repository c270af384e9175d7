import { defineFlags } from '../../../common/process/flags.ts';
import {
  ofAttachGrants,
  ofBudget,
  ofClass,
  ofClusterName,
  ofKeepGrant,
  ofRanges,
  ofRetainGrant,
} from './expectations.ts';

/** Flags of the commands that compare Services with their clouds. */
export const adoptFlags = defineFlags({
  adopt: {
    kind: 'bool',
    default: false,
    help:
      "Adopt load balancers that the cloud's classic controller created, where name, tags and the address in " +
      "the Service's status match. The adoption itself changes nothing of them.",
  },
});

const noMask =
  '0: 24 for IPv4 and 64 for IPv6 where this controller allocates the ranges; else unknown, and routes are created ' +
  'for any mask.';

/** Flags of the commands that need to know which cloud resources belong to this cluster. */
export const clusterFlags = defineFlags({
  'cluster-name': {
    kind: 'string',
    default: 'kubernetes',
    help: 'Name of the cluster, for descriptions of cloud resources; it does not prove ownership.',
    check: ofClusterName,
  },
  'load-balancer-class': {
    kind: 'repeat',
    help:
      'A `loadBalancerClass` that is ours. Repeatable. Services without a class are always ours, those with ' +
      'another class never.',
    check: ofClass,
  },
  'attachable-load-balancers': {
    kind: 'list',
    help:
      'Existing load balancers that Services may name in mooring.dev/load-balancer-id without a consent tag: ' +
      'ID=NAMESPACE or ID=NAMESPACE/NAME for those Services alone, ID for Services of every namespace.',
    check: ofAttachGrants,
  },
  'allow-cluster-wide-attach': {
    kind: 'bool',
    default: false,
    help:
      'A consent tag mooring.dev/attachable-by with the UID of the cluster alone is enough for Services of ' +
      'every namespace. Without this flag it has to name a namespace.',
  },
  'allow-retain': {
    kind: 'repeat',
    help:
      'Which Services may retain their load balancer after their deletion with ' +
      'mooring.dev/load-balancer-retain: NAMESPACE, class:NAME for those with that loadBalancerClass, or * for ' +
      'all. Repeatable; none: the annotation is refused, as the condition shows.',
    check: ofRetainGrant,
  },
  'allow-keep-address': {
    kind: 'repeat',
    help:
      "Which Services may retain their address after their deletion with an annotation of the cloud's classic " +
      'controller (openstack: keep-floatingip): NAMESPACE, class:NAME or *. Repeatable. Not given: Services of ' +
      'every namespace, as with that controller; empty: none.',
    check: ofKeepGrant,
  },
  'retained-load-balancers-limit': {
    kind: 'int',
    default: 5,
    min: 0,
    max: 10_000,
    help:
      'How many load balancers one namespace may retain in one cloud without a Service, where --allow-retain ' +
      'allows it.',
  },
  'cluster-cidr': {
    kind: 'string',
    default: '',
    help: 'Range of pod addresses, one or one of each family: no route is created outside it; empty: routes are off.',
    check: ofRanges,
  },
  'configure-cloud-routes': {
    kind: 'bool',
    default: true,
    help: 'Maintain routes to the pods of every node in the cloud.',
  },
  'allocate-node-cidrs': {
    kind: 'bool',
    default: false,
    help:
      'Allocate a range of pod addresses inside --cluster-cidr to every node. Only with `nodeipam` in ' +
      '--controllers.',
  },
  'service-cluster-ip-range': {
    kind: 'string',
    default: '',
    help: 'Range of Service addresses, one or one of each family; never allocated to a node, and never routed to one.',
    check: ofRanges,
  },
  'node-cidr-mask-size': {
    kind: 'int',
    default: 0,
    min: 0,
    max: 128,
    help: `Mask of a node's pod range, single stack. ${noMask}`,
  },
  'node-cidr-mask-size-ipv4': {
    kind: 'int',
    default: 0,
    min: 0,
    max: 32,
    help: `Mask of a node's IPv4 pod range. ${noMask}`,
  },
  'node-cidr-mask-size-ipv6': {
    kind: 'int',
    default: 0,
    min: 0,
    max: 128,
    help: `Mask of a node's IPv6 pod range. ${noMask}`,
  },
});

/** Flags of `run` about Services, routes and pod ranges. Names and meanings are upstream's where upstream has them. */
export const networkFlags = defineFlags({
  ...adoptFlags,
  'concurrent-service-syncs': { kind: 'int', default: 100, min: 1, max: 1000, help: 'Services reconciled at once.' },
  'member-drain-time': {
    kind: 'duration',
    default: '30s',
    min: 0,
    help: 'How long a leaving node drains, without new connections, before it is removed from the load balancers.',
  },
  'member-removal-budget': {
    kind: 'string',
    default: '10%/10m',
    help:
      'How many members and routes may be removed because their Node was deleted unexpectedly, as a share or a ' +
      'count, within a moving window; at least one.',
    check: ofBudget,
  },
  'load-balancer-audit-period': {
    kind: 'duration',
    default: '5m',
    help: 'How often all load balancers of the cluster are read and compared.',
    min: 1000,
  },
  'delete-orphans': {
    kind: 'bool',
    default: false,
    help: 'Delete load balancers of this cluster whose Service is gone, once two sweeps a day apart have found them.',
  },
  'route-reconciliation-period': {
    kind: 'duration',
    default: '5m',
    help:
      'How often the route table is read and compared; changes in the cluster take effect at once. Below a ' +
      'minute counts as a minute.',
    min: 1000,
  },
  'concurrent-route-syncs': { kind: 'int', default: 200, min: 1, max: 1000, help: 'Routes changed at once.' },
  'cidr-allocator-type': {
    kind: 'string',
    default: 'RangeAllocator',
    choices: ['RangeAllocator', 'CloudAllocator'],
    help:
      'RangeAllocator: each node gets a part of --cluster-cidr; CloudAllocator: each node gets the ranges inside ' +
      'it that the cloud has given to its instance (alias ranges of gce).',
  },
});
