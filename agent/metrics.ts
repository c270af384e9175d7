import { defineMetrics, type MetricsOf } from '../common/process/metrics.ts';

/** The metrics of the agent, served at `/metrics` and listed in the reference. */
export const agentMetrics = defineMetrics({
  reports: {
    name: 'mooring_agent_reports_total',
    type: 'counter',
    help: 'Reports sent to a controller, by outcome.',
    labels: ['outcome'],
  },
  reportSeconds: {
    name: 'mooring_agent_report_duration_seconds',
    type: 'histogram',
    help: 'Time of one attempt to deliver a report, redirect included.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10],
  },
  lastAccepted: {
    name: 'mooring_agent_last_report_accepted_timestamp_seconds',
    type: 'gauge',
    help: 'When a controller last accepted a report, seconds since 1970; 0 before the first.',
  },
  reportAge: {
    name: 'mooring_agent_last_report_age_seconds',
    type: 'gauge',
    help:
      "Seconds since a controller last accepted a report, and since the agent's start before the first; the clock of " +
      'the node does not matter.',
  },
  initialized: {
    name: 'mooring_agent_node_initialized',
    type: 'gauge',
    help: 'Whether the Node of this agent has lost its uninitialized taint, as the controller answered last: 1 or 0.',
  },
  metadataReads: {
    name: 'mooring_agent_metadata_reads_total',
    type: 'counter',
    help: 'Reads of the metadata service, by outcome: ok or the kind of failure.',
    labels: ['cloud', 'outcome'],
  },
  metadataReadSeconds: {
    name: 'mooring_agent_metadata_read_duration_seconds',
    type: 'histogram',
    help: 'Time of one read of the metadata service, all its requests together.',
    buckets: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 20],
  },
  metadataAge: {
    name: 'mooring_agent_metadata_age_seconds',
    type: 'gauge',
    help:
      "Seconds since the instance was last read, and since the agent's start before the first; 0 while reads " +
      'succeed.',
  },
  metadataFailures: {
    name: 'mooring_agent_metadata_consecutive_failures',
    type: 'gauge',
    help: 'Failed reads of the metadata service in a row.',
  },
  evidence: {
    name: 'mooring_agent_evidence_total',
    type: 'counter',
    help:
      'Reads of the signed identity of the VM, which the controller asked for, by outcome: ok or the kind of ' +
      'failure.',
    labels: ['cloud', 'outcome'],
  },
  buildInfo: {
    name: 'mooring_agent_build_info',
    type: 'gauge',
    help: 'Always 1, labelled with version and cloud.',
    labels: ['version', 'cloud'],
  },
});

export type AgentMetrics = MetricsOf<typeof agentMetrics>;
