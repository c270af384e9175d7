import { defineMetrics } from '../../common/process/metrics.ts';

/** The first is upstream's, by name and meaning. */
export const routeMetrics = defineMetrics({
  routeSync: {
    name: 'route_controller_route_sync_total',
    type: 'counter',
    help: 'Times that a route table was read and compared.',
  },
  routes: {
    name: 'mooring_routes',
    type: 'gauge',
    help: 'Routes by scope and state: kept, tolerated (stands, and would not be made today), missing, surplus (ours, to be removed), foreign (in the pod ranges, not ours).',
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
    help: 'Routes of vanished Nodes that are kept for now, by reason.',
    labels: ['scope', 'reason'],
  },
  changes: {
    name: 'mooring_route_changes_total',
    type: 'counter',
    help: 'Routes made and removed.',
    labels: ['action'],
  },
});
