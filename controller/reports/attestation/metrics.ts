import { defineMetrics, type MetricRegistry } from '../../../common/process/metrics.ts';
import type { Assurance } from '../../model/verified-instance.ts';
import type { TrustedRoot } from './trust.ts';
import { assurances } from './verdict.ts';

export const attestationMetrics = defineMetrics({
  evidence: {
    name: 'mooring_attestation_evidence_total',
    type: 'counter',
    help: "Evidence of a VM's identity that agents sent, by cloud and outcome: verified, or the code of the refusal.",
    labels: ['cloud', 'outcome'],
  },
  nodes: {
    name: 'mooring_attestation_nodes',
    type: 'gauge',
    help:
      'Nodes that have reported to this leader, by the proof of their VM: psat (the token alone, which proves ' +
      'the Node), psat+doc (a signed document too), psat+fresh (one that answers a challenge).',
    labels: ['assurance'],
  },
  unproved: {
    name: 'mooring_attestation_nodes_without_proof',
    type: 'gauge',
    help:
      'Initialised Nodes of a cloud under --require-attestation whose agents have never given evidence: they ' +
      'join no load balancer.',
    labels: ['cloud'],
  },
  rootExpiry: {
    name: 'mooring_attestation_root_expiry_timestamp_seconds',
    type: 'gauge',
    help: 'Expiry of a certificate that evidence is verified with, in seconds since 1970.',
    labels: ['cloud', 'name'],
  },
});

export interface AttestationMetrics {
  judged(cloud: string, outcome: string): void;
}

/** Registers the metrics of attestation. Once per registry. */
export function createAttestationMetrics(
  registry: MetricRegistry,
  parts: {
    readonly roots: readonly TrustedRoot[];
    /** Of every Node that has reported. */
    assurances(): Iterable<Assurance>;
    /** How many Nodes of each such cloud are initialised and unproved. */
    unproved(): ReadonlyMap<string, number>;
  },
): AttestationMetrics {
  const metrics = registry.define(attestationMetrics);
  for (const { cloud, name, certificate } of parts.roots) {
    metrics.rootExpiry.set({ cloud, name }, certificate.validToDate.getTime() / 1000);
  }
  metrics.nodes.collect(() => {
    const counts = new Map<Assurance, number>(assurances.map((each) => [each, 0]));
    for (const each of parts.assurances()) counts.set(each, (counts.get(each) ?? 0) + 1);
    for (const [assurance, count] of counts) metrics.nodes.set({ assurance }, count);
  });
  metrics.unproved.collect(() => {
    for (const [cloud, count] of parts.unproved()) metrics.unproved.set({ cloud }, count);
  });
  return { judged: (cloud, outcome) => metrics.evidence.add({ cloud, outcome }) };
}
