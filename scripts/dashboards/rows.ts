import { agentMetrics } from '../../agent/metrics.ts';
import { processMetrics } from '../../controller/app/process-metrics.ts';
import { nodeMetrics } from '../../controller/nodes/metrics.ts';
import { reportMetrics } from '../../controller/reports/metrics.ts';
import { routeMetrics } from '../../controller/routes/metrics.ts';
import { memberMetrics } from '../../controller/services/members/metrics.ts';
import { serviceMetrics } from '../../controller/services/metrics.ts';
import { orphanMetrics } from '../../controller/services/orphans/metrics.ts';
import { largest, type Row, rate, slowest, sum } from './panel.ts';

const cpu = { name: 'process_cpu_seconds_total', help: 'Processor time of the process.' };
const memory = { name: 'process_resident_memory_bytes', help: 'Memory of the process.' };
const heap = { name: 'nodejs_heap_size_used_bytes', help: 'Part of the heap that is in use.' };
const lag = { name: 'nodejs_eventloop_lag_p99_seconds', help: 'How long the process was late for its timers.' };

/** What an operator asks first: who leads, what waits, what is kept, what is slow. */
export const clusterRows: readonly Row[] = [
  {
    title: 'The cluster',
    panels: [
      sum(processMetrics.leading, { title: 'Leaders' }),
      sum(nodeMetrics.uninitialized, { title: 'Nodes that wait', by: ['reason'] }),
      sum(nodeMetrics.deletionsWithheld, { title: 'Nodes kept without an instance', by: ['reason'] }),
      rate(nodeMetrics.deletions, { title: 'Nodes deleted', by: ['evidence'] }),
      sum(serviceMetrics.services, { title: 'Services', by: ['reason'] }),
      sum(memberMetrics.members, { title: 'Members of load balancers', by: ['scope', 'state'] }),
      sum(routeMetrics.routes, { title: 'Routes', by: ['scope', 'state'] }),
      sum(orphanMetrics.orphaned, { title: 'Load balancers without a Service', by: ['scope'] }),
    ],
  },
  {
    title: 'How fast',
    panels: [
      slowest(nodeMetrics.initialSyncDelay, { title: 'From a Node to its initialisation, p99' }),
      slowest(serviceMetrics.ensureLatency, { title: 'Load balancers made or changed, p99' }),
      slowest(serviceMetrics.nodeSyncLatency, { title: 'Members changed everywhere, p99' }),
      sum(processMetrics.depth, { title: 'Keys that wait', by: ['name'] }),
      slowest(processMetrics.waiting, { title: 'Wait of a key, p99', by: ['name'] }),
      largest(processMetrics.longest, { title: 'Longest reconcile that runs', by: ['name'] }),
    ],
  },
  {
    title: 'The API server',
    panels: [
      rate(processMetrics.apiCalls, { title: 'Requests', by: ['verb', 'resource'] }),
      rate(processMetrics.apiCalls, { title: 'Refused and failed requests', by: ['code'], where: '{code!~"2.."}' }),
      slowest(processMetrics.apiSeconds, { title: 'Requests, p99', by: ['verb'] }),
      largest(processMetrics.cacheAge, { title: 'Age of the caches', by: ['resource'] }),
    ],
  },
  {
    title: 'Agents',
    panels: [
      rate(reportMetrics.reports, { title: 'Reports', by: ['outcome'] }),
      slowest(reportMetrics.handling, { title: 'Reports handled, p99' }),
      rate(agentMetrics.metadataReads, { title: 'Reads of the metadata service', by: ['cloud', 'outcome'] }),
      largest(agentMetrics.metadataAge, { title: 'Oldest read of the metadata service' }),
    ],
  },
  {
    title: 'Processes',
    panels: [
      rate(cpu, { title: 'Processors in use', by: ['instance'] }),
      largest(memory, { title: 'Memory', by: ['instance'] }),
      largest(heap, { title: 'Heap', by: ['instance'] }),
      largest(lag, { title: 'Lag of the event loop, p99', by: ['instance'] }),
      largest(processMetrics.loopAge, { title: 'Since the last round of a loop', by: ['loop'] }),
    ],
  },
];

const where = '{cloud="$cloud"}';

/** What one cloud is asked, and how it answers. */
export const cloudRows: readonly Row[] = [
  {
    title: 'The API of $cloud',
    panels: [
      largest(processMetrics.reportOnly, { title: 'Report-only', where }),
      rate(processMetrics.cloudCalls, { title: 'Calls', by: ['operation'], where }),
      rate(processMetrics.cloudCalls, {
        title: 'Refused and failed calls',
        by: ['operation', 'code'],
        where: '{cloud="$cloud", code!~"ok|2.."}',
      }),
      slowest(processMetrics.cloudSeconds, { title: 'Calls, p99', by: ['operation'], where }),
      slowest(processMetrics.cloudWaiting, { title: 'Wait for the rate limit, p99', by: ['urgency'], where }),
      rate(processMetrics.credentialReloads, { title: 'Reloads of the credential', by: ['result'], where }),
    ],
  },
  {
    title: 'The metadata service of $cloud',
    panels: [
      rate(agentMetrics.metadataReads, { title: 'Reads', by: ['outcome'], where }),
      rate(agentMetrics.evidence, { title: 'Reads of the signed identity', by: ['outcome'], where }),
    ],
  },
];
