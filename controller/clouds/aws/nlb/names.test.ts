import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { securityGroupName, type TargetGroupKey, targetGroupName } from './names.ts';

const key: TargetGroupKey = {
  port: 80,
  nodePort: 8080,
  protocol: 'TCP',
  targetType: 'instance',
  health: { protocol: '', interval: 0 },
};

describe('names of what belongs to a network load balancer', () => {
  // The classic controller's own cases.
  const cases: readonly (readonly [string, string, string, Partial<TargetGroupKey>, string])[] = [
    ['plain', 'cluster-a', 'default/service-a', {}, 'k8s-default-servicea-7fa2e07508'],
    ['another cluster', 'cluster-b', 'default/service-a', {}, 'k8s-default-servicea-719ee635da'],
    ['another namespace', 'cluster-a', 'another/service-a', {}, 'k8s-another-servicea-f66e09847d'],
    ['another Service', 'cluster-a', 'default/service-b', {}, 'k8s-default-serviceb-196c19c881'],
    ['another port', 'cluster-a', 'default/service-a', { port: 9090 }, 'k8s-default-servicea-06876706cb'],
    ['another node port', 'cluster-a', 'default/service-a', { nodePort: 9090 }, 'k8s-default-servicea-119f844ec0'],
    ['another protocol', 'cluster-a', 'default/service-a', { protocol: 'UDP' }, 'k8s-default-servicea-3868761686'],
    ['targets by address', 'cluster-a', 'default/service-a', { targetType: 'ip' }, 'k8s-default-servicea-0fa31f4b0f'],
    [
      'another health check',
      'cluster-a',
      'default/service-a',
      { targetType: 'ip', health: { protocol: 'HTTP', interval: 10 } },
      'k8s-default-servicea-4028e49618',
    ],
  ];
  for (const [what, cluster, service, fields, name] of cases) {
    it(`names a target group as the classic controller does: ${what}`, () =>
      assert.equal(targetGroupName(cluster, service, { ...key, ...fields }), name));
  }

  it('the security group is named by cluster name, Service and its UID', () => {
    const name = securityGroupName('kubernetes', 'kube-system/my-ingress', '6a1c8a3e-0000-4000-8000-000000000001');
    assert.match(name, /^k8s-kubesyst-myingres-[0-9a-f]{10}$/);
    assert.notEqual(name, securityGroupName('kubernetes', 'kube-system/my-ingress', 'another'));
    assert.notEqual(name, securityGroupName('other', 'kube-system/my-ingress', '6a1c8a3e-0000-4000-8000-000000000001'));
  });
});
