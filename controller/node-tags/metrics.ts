import { defineMetrics } from '../../common/process/metrics.ts';

export const nodeTagMetrics = defineMetrics({
  changes: {
    name: 'mooring_node_tag_changes_total',
    type: 'counter',
    help: 'Instances whose tags were set, and instances of deleted Nodes whose tags were removed.',
    labels: ['scope', 'action'],
  },
  waiting: {
    name: 'mooring_node_tags_waiting',
    type: 'gauge',
    help: 'Instances whose tags are to be set or removed and are not yet, by reason.',
    labels: ['scope', 'action', 'reason'],
  },
});
