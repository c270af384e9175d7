import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewLeader } from './leader-view.ts';

const metrics = (leads: number) => `
leader_election_master_status{name="cloud-controller-manager"} ${leads}
mooring_cloud_calls_total{cloud="aws",operation="DescribeInstances",code="ok"} 40
mooring_cloud_calls_total{cloud="aws",operation="DescribeInstances",code="Throttling"} 2
mooring_cloud_calls_total{cloud="aws",operation="CreateRoute",code="500"} 1
mooring_cloud_report_only{cloud="aws"} 0
mooring_cloud_report_only{cloud="gce"} 1
mooring_orphaned_load_balancers{scope="aws:1/eu"} 3
mooring_attestation_nodes{assurance="psat"} 5
mooring_attestation_nodes{assurance="psat+doc"} 2
`;

describe('the metrics of the leader', () => {
  it('tells the health of each cloud, orphans and agents', () => {
    assert.deepEqual(viewLeader(metrics(1)), {
      clouds: [
        { cloud: 'aws', reportOnly: false, calls: 43, throttled: 2, failed: 1 },
        { cloud: 'gce', reportOnly: true, calls: 0, throttled: 0, failed: 0 },
      ],
      orphans: { 'aws:1/eu': 3 },
      agents: 7,
    });
  });

  it('returns undefined for the metrics of a standby', () => {
    assert.equal(viewLeader(metrics(0)), undefined);
  });
});
