import { defineMetrics } from '../../common/process/metrics.ts';

/** The first has upstream's name and meaning. */
export const routeMetrics = defineMetrics({
  routeSync: {
    name: 'route_controller_route_sync_total',
    type: 'counter',
    help: 'Times that a route table was read and compared.',
  },
  routes: {
    name: 'mooring_routes',
    type: 'gauge',
    help:
      'Routes by scope and state: kept, tolerated (exists, but would not be created today), missing, surplus ' +
      '(ours, to be deleted), foreign (in the pod ranges, not ours).',
    labels: ['scope', 'state'],
  },
  blocked: {
    name: 'mooring_routes_blocked',
    type: 'gauge',
    help: 'Pod ranges without a route, by the reason of the condition NetworkUnavailable.',
    labels: ['scope', 'reason'],
  },
  withheld: {
    name: 'mooring_route_removals_withheld',
    type: 'gauge',
    help: 'Routes of deleted Nodes that are kept for now, by reason.',
    labels: ['scope', 'reason'],
  },
  changes: {
    name: 'mooring_route_changes_total',
    type: 'counter',
    help: 'Routes created and deleted.',
    labels: ['action'],
  },
});
