import { defineMetrics } from '../../common/process/metrics.ts';

export const volumeMetrics = defineMetrics({
  waiting: {
    name: 'mooring_volumes_waiting',
    type: 'gauge',
    help: 'PersistentVolumes of a configured cloud that do not get zone and region, by reason of their event.',
    labels: ['reason'],
  },
  labelled: {
    name: 'mooring_volumes_labelled_total',
    type: 'counter',
    help: 'PersistentVolumes that got labels or a node affinity.',
  },
});
