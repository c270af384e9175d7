import { defineMetrics } from '../../common/process/metrics.ts';

/** The first five have upstream's names (including the misspelling in the third), meanings and buckets. */
export const ipamMetrics = defineMetrics({
  allocations: {
    name: 'node_ipam_controller_cidrset_cidrs_allocations_total',
    type: 'counter',
    help: 'Pod ranges allocated to Nodes.',
    labels: ['clusterCIDR'],
  },
  releases: {
    name: 'node_ipam_controller_cidrset_cidrs_releases_total',
    type: 'counter',
    help: 'Pod ranges released.',
    labels: ['clusterCIDR'],
  },
  maxCidrs: {
    name: 'node_ipam_controller_cirdset_max_cidrs',
    type: 'gauge',
    help: 'Size of the pool of pod ranges.',
    labels: ['clusterCIDR'],
  },
  usage: {
    name: 'node_ipam_controller_cidrset_usage_cidrs',
    type: 'gauge',
    help: 'Share of the pod ranges that is allocated, 0 to 1.',
    labels: ['clusterCIDR'],
  },
  tries: {
    name: 'node_ipam_controller_cidrset_allocation_tries_per_request',
    type: 'histogram',
    help: 'Allocated pod ranges that were skipped before a free one was found.',
    labels: ['clusterCIDR'],
    buckets: [1, 5, 25, 125, 625],
  },
  waiting: {
    name: 'mooring_ipam_nodes_waiting',
    type: 'gauge',
    help: 'Nodes without a pod range because none is left, or their instance has none.',
  },
  invalidCidr: {
    name: 'mooring_ipam_nodes_invalid_cidr',
    type: 'gauge',
    help:
      'Nodes whose pod range is not as expected: outside (of --cluster-cidr), mask (not the configured one), ' +
      'overlaps (that of another Node or of Services).',
    labels: ['fault'],
  },
  /** The name of `invalidCidr` before it was renamed. */
  strange: {
    name: 'mooring_ipam_nodes_strange',
    type: 'gauge',
    help: 'Deprecated alias of mooring_ipam_nodes_invalid_cidr.',
    labels: ['fault'],
  },
});
