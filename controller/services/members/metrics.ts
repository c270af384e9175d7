import { defineMetrics } from '../../../common/process/metrics.ts';

export const memberMetrics = defineMetrics({
  members: {
    name: 'mooring_load_balancer_members',
    type: 'gauge',
    help:
      'Nodes of a scope as members of its load balancers: active; leaving (drained, then removed); withheld (the ' +
      'Node vanished unexplained, and the member stays until the budget grants its removal).',
    labels: ['scope', 'state'],
  },
  batches: {
    name: 'mooring_member_set_changes_total',
    type: 'counter',
    help: 'Batches of changes to the members of a scope, each at most one update for each load balancer.',
    labels: ['scope'],
  },
});
