import { defineMetrics } from '../../../common/process/metrics.ts';

export const orphanMetrics = defineMetrics({
  orphaned: {
    name: 'mooring_orphaned_load_balancers',
    type: 'gauge',
    help: 'Load balancers of this cluster whose Service does not exist, as a list of all Services proved.',
    labels: ['scope'],
  },
  deleted: {
    name: 'mooring_orphaned_load_balancers_deleted_total',
    type: 'counter',
    help: 'Orphaned load balancers that were deleted (--delete-orphans).',
    labels: ['scope'],
  },
});
