import { defineMetrics } from '../../common/process/metrics.ts';

/** Upstream's: 1, 2, 4 ... 16384 s. */
const upstreamSeconds = Array.from({ length: 15 }, (_, power) => 2 ** power);
const seconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** The first four are upstream's, by name and buckets. */
export const serviceMetrics = defineMetrics({
  hostSyncs: {
    name: 'service_controller_loadbalancer_sync_total',
    type: 'counter',
    help: 'Load balancers whose members were changed.',
  },
  nodeSyncErrors: {
    name: 'service_controller_nodesync_error_total',
    type: 'counter',
    help: 'Failed changes of members.',
  },
  nodeSyncLatency: {
    name: 'service_controller_nodesync_latency_seconds',
    type: 'histogram',
    help: 'Seconds from a change of the members to the end of the first pass over all Services.',
    buckets: upstreamSeconds,
  },
  hostUpdateLatency: {
    name: 'service_controller_update_loadbalancer_host_latency_seconds',
    type: 'histogram',
    help: 'Seconds it took to change the members of one load balancer.',
    buckets: upstreamSeconds,
  },
  services: {
    name: 'mooring_services',
    type: 'gauge',
    help: 'Services that ask for or have a load balancer of ours, by the reason of their condition CloudLoadBalancer.',
    labels: ['reason'],
  },
  otherClass: {
    name: 'mooring_services_of_other_class',
    type: 'gauge',
    help: 'LoadBalancer Services without an address whose loadBalancerClass is left to another controller.',
  },
  ensureLatency: {
    name: 'mooring_load_balancer_ensure_seconds',
    type: 'histogram',
    help: 'Seconds from the first step of creating or changing a load balancer to the last.',
    buckets: seconds,
  },
  deleteLatency: {
    name: 'mooring_load_balancer_delete_seconds',
    type: 'histogram',
    help: 'Seconds from the first step of removing a load balancer to the proof that it is gone.',
    buckets: seconds,
  },
  steps: {
    name: 'mooring_load_balancer_steps_total',
    type: 'counter',
    help: 'Mutating calls for load balancers, by what was done to which kind of resource.',
    labels: ['action', 'resource'],
  },
  audits: {
    name: 'mooring_load_balancer_audits_total',
    type: 'counter',
    help: 'Reads of all load balancers of the cluster, by outcome: ok or the kind of failure.',
    labels: ['outcome'],
  },
  retained: {
    name: 'mooring_retained_load_balancers',
    type: 'gauge',
    help:
      'Load balancers and addresses that were retained when their Service was deleted ' +
      '(mooring.dev/load-balancer-retain), by the namespace of that Service.',
    labels: ['scope', 'namespace'],
  },
  orphans: {
    name: 'mooring_load_balancers_without_service',
    type: 'gauge',
    help:
      'Deprecated: mooring_orphaned_load_balancers. Load balancers of this cluster whose Service is gone, as of the ' +
      'last audit.',
    labels: ['scope'],
  },
});
