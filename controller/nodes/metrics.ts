import { defineMetrics } from '../../common/process/metrics.ts';

const sinceCreation = [1, 4, 16, 64, 256, 1024];

/** The first two have upstream's names, meanings and buckets. */
export const nodeMetrics = defineMetrics({
  taintRemovalDelay: {
    name: 'node_controller_cloud_provider_taint_removal_delay_seconds',
    type: 'histogram',
    help: 'Seconds from the creation of a Node to the removal of its uninitialized taint.',
    buckets: sinceCreation,
  },
  initialSyncDelay: {
    name: 'node_controller_initial_node_sync_delay_seconds',
    type: 'histogram',
    help: 'Seconds from the creation of a Node to the end of its initialisation.',
    buckets: sinceCreation,
  },
  uninitialized: {
    name: 'mooring_nodes_uninitialized',
    type: 'gauge',
    help: 'Nodes that wait for initialisation, by the reason of their condition CloudInitialized.',
    labels: ['reason'],
  },
  deletionsWithheld: {
    name: 'mooring_node_deletions_withheld',
    type: 'gauge',
    help:
      'Nodes that are kept although their instance is missing or the cloud does not tell, by the reason of their ' +
      'condition CloudInstanceMissing.',
    labels: ['reason'],
  },
  deletions: {
    name: 'mooring_node_deletions_total',
    type: 'counter',
    help: 'Nodes deleted, by the evidence: gone or absent.',
    labels: ['evidence'],
  },
  nodeWrites: {
    name: 'mooring_node_writes_total',
    type: 'counter',
    help: 'Patches of Nodes that changed something.',
  },
});
