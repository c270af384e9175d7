import type { Report } from '../../../common/report.ts';

/** A report as an agent sends it, for tests. */
export function exampleReport(changes: Partial<Report> = {}): Report {
  return {
    version: 1,
    agentVersion: '0.1.0',
    agentId: 'agent-1',
    sequence: 1,
    observedAt: '2026-01-01T00:00:00.000Z',
    bootId: '6b0e8a2c-6d0c-4a8c-9d5e-0f6c3b7a1e11',
    smbiosUuid: 'ec2e1916-9099-7caf-fd21-012345abcdef',
    instance: {
      cloud: 'aws',
      id: 'i-0abc',
      providerID: 'aws:///eu-west-1a/i-0abc',
      incarnation: 'i-0abc',
      zone: 'eu-west-1a',
      region: 'eu-west-1',
      type: 'm5.large',
      addresses: [
        { type: 'InternalIP', address: '10.0.0.5' },
        { type: 'InternalIP', address: '2001:db8::5' },
        { type: 'InternalDNS', address: 'ip-10-0-0-5.eu-west-1.compute.internal' },
      ],
      labels: { 'topology.k8s.aws/zone-id': 'euw1-az1' },
    },
    metadata: { ok: true, ageSeconds: 0, failures: 0 },
    notices: [{ kind: 'rebalance', deadline: '2026-01-01T00:10:00Z' }],
    ...changes,
  };
}
