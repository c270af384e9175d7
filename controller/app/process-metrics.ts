import { defineMetrics, type MetricRegistry } from '../../common/process/metrics.ts';
import type { CloudCall } from '../clouds/cloud.ts';
import type { CallWait } from '../clouds/rate-limiter.ts';
import type { CallRecord } from '../kube/client.ts';
import type { QueueMetrics, RunningWork } from '../runtime/work-queue.ts';
import { type ReloadResult, reloadResults } from './reload/reloading-cloud.ts';

const latency = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const queueing = [0.0001, 0.001, 0.01, 0.1, 1, 10, 60, 300, 1000];

/** Metrics of the process itself: queues, loops, calls, election. Names are upstream's where upstream has one. */
export const processMetrics = defineMetrics({
  adds: { name: 'workqueue_adds_total', type: 'counter', help: 'Keys added to the queue.', labels: ['name'] },
  depth: { name: 'workqueue_depth', type: 'gauge', help: 'Keys that are due and wait.', labels: ['name'] },
  retries: {
    name: 'workqueue_retries_total',
    type: 'counter',
    help: 'Keys that are repeated after a failure.',
    labels: ['name'],
  },
  waiting: {
    name: 'workqueue_queue_duration_seconds',
    type: 'histogram',
    help: 'Seconds a key waited after it was due.',
    labels: ['name'],
    buckets: queueing,
  },
  working: {
    name: 'workqueue_work_duration_seconds',
    type: 'histogram',
    help: 'Seconds one reconcile took, lookups included.',
    labels: ['name'],
    buckets: queueing,
  },
  longest: {
    name: 'workqueue_longest_running_processor_seconds',
    type: 'gauge',
    help: 'Seconds that the longest reconcile of the queue has run until now.',
    labels: ['name'],
  },
  unfinished: {
    name: 'workqueue_unfinished_work_seconds',
    type: 'gauge',
    help: 'Seconds that all reconciles of the queue that run now have run, added up.',
    labels: ['name'],
  },
  leading: {
    name: 'leader_election_master_status',
    type: 'gauge',
    help: '1 while this replica leads.',
    labels: ['name'],
  },
  slowPath: {
    name: 'leader_election_slowpath_total',
    type: 'counter',
    help: 'Renewals that had to read the Lease first.',
    labels: ['name'],
  },
  loops: {
    name: 'running_managed_controllers',
    type: 'gauge',
    help: '1 while the loop runs in this replica.',
    labels: ['name', 'manager'],
  },
  apiCalls: {
    name: 'rest_client_requests_total',
    type: 'counter',
    help: 'Requests to the Kubernetes API, by server, HTTP method, verb, resource and HTTP status or reason.',
    labels: ['host', 'method', 'verb', 'resource', 'code'],
  },
  apiSeconds: {
    name: 'rest_client_request_duration_seconds',
    type: 'histogram',
    help: 'Seconds a request to the Kubernetes API took.',
    labels: ['host', 'verb', 'resource'],
    buckets: latency,
  },
  cloudCalls: {
    name: 'mooring_cloud_calls_total',
    type: 'counter',
    help:
      "Calls to a cloud's API, by its own name of the operation and the HTTP status or error code; what does not " +
      'exist is 404 or ends in NotFound.',
    labels: ['cloud', 'operation', 'code'],
  },
  cloudSeconds: {
    name: 'mooring_cloud_call_duration_seconds',
    type: 'histogram',
    help: "Seconds a call to a cloud's API took.",
    labels: ['cloud', 'operation'],
    buckets: latency,
  },
  cloudWaiting: {
    name: 'mooring_cloud_call_waiting_seconds',
    type: 'histogram',
    help: "Seconds a call waited under the account's rate limit, by urgency: change, need, refresh.",
    labels: ['cloud', 'urgency'],
    buckets: latency,
  },
  credentialReloads: {
    name: 'mooring_cloud_credential_reloads_total',
    type: 'counter',
    help:
      'Reloads of a changed configuration or credential of a cloud: ok, refused (by the cloud), invalid, ' +
      'restart-needed (another scope), reverted (the files are again what is in use).',
    labels: ['cloud', 'result'],
  },
  credentialNotTaken: {
    name: 'mooring_cloud_credential_not_taken',
    type: 'gauge',
    help: '1 while a changed configuration or credential of a cloud is not in use, by the result of the last attempt.',
    labels: ['cloud', 'result'],
  },
  reportOnly: {
    name: 'mooring_cloud_report_only',
    type: 'gauge',
    help: '1 while a cloud whose API Mooring calls has no credential, or its account is not known.',
    labels: ['cloud'],
  },
  loopAge: {
    name: 'mooring_loop_progress_age_seconds',
    type: 'gauge',
    help: 'Seconds since the last round of the loop; a failed round counts.',
    labels: ['loop'],
  },
  cacheAge: {
    name: 'mooring_cache_staleness_seconds',
    type: 'gauge',
    help: 'Seconds since the last sign of the API server for this cache.',
    labels: ['resource'],
  },
  reportApi: {
    name: 'mooring_report_api_up',
    type: 'gauge',
    help: '1 while this replica takes reports.',
  },
  paused: {
    name: 'mooring_paused',
    type: 'gauge',
    help: '1 while everything is paused by the ConfigMap mooring-ca.',
  },
  shippedMissing: {
    name: 'mooring_shipped_object_missing',
    type: 'gauge',
    help: '1 while an object of the manifests is missing; the log has the command that restores it.',
    labels: ['kind', 'name'],
  },
  eventsDropped: {
    name: 'mooring_events_dropped_total',
    type: 'counter',
    help: 'Events that were not written: too many alike, too many at once, or refused by the API server.',
    labels: ['why'],
  },
  buildInfo: { name: 'mooring_build_info', type: 'gauge', help: '1, labelled with the version.', labels: ['version'] },
});

/** The metrics of the process, and the callbacks that update them. */
export function createProcessMetrics(registry: MetricRegistry) {
  const metrics = registry.define(processMetrics);
  const queues = new Map<string, RunningWork>();
  metrics.longest.collect(() => {
    for (const [name, { longestRunningSeconds }] of queues) metrics.longest.set({ name }, longestRunningSeconds);
  });
  metrics.unfinished.collect(() => {
    for (const [name, { unfinishedSeconds }] of queues) metrics.unfinished.set({ name }, unfinishedSeconds);
  });
  const queue: QueueMetrics = {
    added: (name) => metrics.adds.add({ name }),
    depth: (name, keys) => metrics.depth.set({ name }, keys),
    waited: (name, seconds) => metrics.waiting.observe({ name }, seconds),
    worked: (name, seconds) => metrics.working.observe({ name }, seconds),
    retried: (name) => metrics.retries.add({ name }),
    started: (name, running) => void queues.set(name, running),
    stopped(name, running) {
      if (queues.get(name) !== running) return;
      queues.delete(name);
      for (const gauge of [metrics.longest, metrics.unfinished]) gauge.remove({ name });
    },
  };
  return {
    ...metrics,
    queue,
    onApiCall({ host, method, verb, resource, code, seconds }: CallRecord) {
      metrics.apiCalls.add({ host, method, verb, resource, code });
      metrics.apiSeconds.observe({ host, verb, resource }, seconds);
    },
    onCloudCall({ cloud, operation, code, seconds }: CloudCall) {
      metrics.cloudCalls.add({ cloud, operation, code });
      metrics.cloudSeconds.observe({ cloud, operation }, seconds);
    },
    /** Shows the counter of reloads from 0 on: an increase from nothing is none to Prometheus. */
    watchReloads(cloud: string) {
      for (const result of reloadResults) metrics.credentialReloads.add({ cloud, result }, 0);
    },
    onReload(cloud: string, result: ReloadResult) {
      metrics.credentialReloads.add({ cloud, result });
      for (const each of ['refused', 'invalid', 'restart-needed'])
        metrics.credentialNotTaken.set({ cloud, result: each }, each === result ? 1 : 0);
    },
    onCloudWait({ cloud, urgency, seconds }: CallWait) {
      metrics.cloudWaiting.observe({ cloud, urgency }, seconds);
    },
  };
}
export type ProcessMetrics = ReturnType<typeof createProcessMetrics>;
