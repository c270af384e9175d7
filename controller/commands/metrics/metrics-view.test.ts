import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseSamples, viewMetrics } from './metrics-view.ts';
import { metricsAt } from './read-metrics.ts';

const metrics = (calls: number, waits: number, waited: number) => `# HELP mooring_cloud_calls_total Calls.
# TYPE mooring_cloud_calls_total counter
mooring_cloud_calls_total{cloud="aws",operation="DescribeInstances",code="200"} ${calls}
mooring_cloud_calls_total{cloud="aws",operation="DescribeInstances",code="RequestLimitExceeded"} 3
mooring_cloud_calls_total{cloud="aws",operation="CreateLoadBalancer",code="429"} 2
mooring_cloud_calls_total{cloud="aws",operation="CreateLoadBalancer",code="AccessDenied"} 4
mooring_cloud_calls_total{cloud="aws",operation="DescribeLoadBalancers",code="LoadBalancerNotFound"} 7
mooring_cloud_call_waiting_seconds_bucket{le="0.1",cloud="aws",urgency="need"} 9
mooring_cloud_call_waiting_seconds_sum{cloud="aws",urgency="need"} ${waited}
mooring_cloud_call_waiting_seconds_count{cloud="aws",urgency="need"} ${waits}
leader_election_master_status{name="cloud-controller-manager"} 1
mooring_load_balancer_members{scope="a\\"b",state="active"} 5
mooring_load_balancer_members{scope="a\\"b",state="leaving"} 1
mooring_routes{scope="s",state="missing"} 2
`;

describe('the metrics of a controller', () => {
  const first = viewMetrics(parseSamples(metrics(100, 10, 1)), undefined, 0);

  it('tells calls, those that the rate limit of the cloud refused, and failures, which no absence is', () => {
    assert.deepEqual(first.view, {
      leads: true,
      clouds: [{ cloud: 'aws', calls: 116, throttled: 5, failed: 4, perMinute: null, waitedSeconds: null }],
      members: { 'a"b': { active: 5, leaving: 1 } },
      routes: { s: { missing: 2 } },
    });
  });

  it('tells the rate and the wait since the reading before', () => {
    const { view } = viewMetrics(parseSamples(metrics(130, 14, 3)), first.reading, 30_000);
    assert.ok('clouds' in view);
    assert.deepEqual([view.clouds[0]?.perMinute, view.clouds[0]?.waitedSeconds], [60, 0.5]);
  });

  it('tells no rate after the counters began again', () => {
    const { view } = viewMetrics(parseSamples(metrics(1, 0, 0)), first.reading, 30_000);
    assert.ok('clouds' in view);
    assert.equal(view.clouds[0]?.perMinute, null);
  });

  it('asks this machine alone, since the certificate proves nothing and the token goes there', () => {
    for (const url of [
      'https://10.0.0.1:10258/metrics',
      'http://127.0.0.1:10258/metrics',
      'https://evil.example/',
      'x',
    ])
      assert.throws(() => metricsAt(url, async () => 't'), /--metrics-url: .*expected https:\/\/127\.0\.0\.1/);
    metricsAt('https://127.0.0.1:10258/metrics', async () => 't');
  });
});
