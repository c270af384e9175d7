/**
 * Bodies that agents of each release send, as they were released: a controller has to accept those of the release
 * before its own. Nothing here is ever changed; a release adds what is new in its reports.
 */
export const releasedReports: Readonly<Record<string, readonly unknown[]>> = {
  '0.1.0': [
    {
      version: 1,
      agentVersion: '0.1.0',
      agentId: 'Zm9vYmFy',
      sequence: 0,
      observedAt: '2026-01-01T00:00:00.000Z',
      metadata: {
        ok: false,
        ageSeconds: 0,
        failures: 3,
        error: 'aws metadata: connect ECONNREFUSED 169.254.169.254:80',
      },
    },
    {
      version: 1,
      agentVersion: '0.1.0',
      agentId: 'Zm9vYmFy',
      sequence: 7,
      observedAt: '2026-01-01T00:01:00.000Z',
      bootId: '6b0e8a2c-6d0c-4a8c-9d5e-0f6c3b7a1e11',
      smbiosUuid: 'ec2e1916-9099-7caf-fd21-012345abcdef',
      instance: {
        cloud: 'aws',
        id: 'i-0abc',
        providerID: 'aws:///eu-west-1a/i-0abc',
        incarnation: 'i-0abc',
        name: 'worker-1',
        zone: 'eu-west-1a',
        region: 'eu-west-1',
        type: 'm5.large',
        addresses: [
          { type: 'InternalIP', address: '10.0.0.5' },
          { type: 'ExternalIP', address: '192.0.2.5' },
          { type: 'Hostname', address: 'worker-1' },
          { type: 'InternalDNS', address: 'ip-10-0-0-5.eu-west-1.compute.internal' },
          { type: 'ExternalDNS', address: 'ec2-192-0-2-5.eu-west-1.compute.amazonaws.com' },
        ],
        labels: { 'topology.k8s.aws/zone-id': 'euw1-az1' },
      },
      metadata: { ok: true, ageSeconds: 0, failures: 0 },
      notices: [{ kind: 'preemption', deadline: '2026-01-01T00:10:00Z', message: 'the spot instance ends' }],
      evidence: { cloud: 'aws', kind: 'identity-document-rsa2048', document: 'MIAGCSqGSIb3DQEHAqCAMIACAQE=' },
      leaving: true,
    },
  ],
};
