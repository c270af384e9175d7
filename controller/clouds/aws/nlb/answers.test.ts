import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listenerOf, loadBalancerOf, targetGroupOf, targetsOf } from './answers.ts';

describe('what AWS says of a network load balancer', () => {
  const states: readonly (readonly [string | undefined, string | undefined, boolean | undefined | 'left out'])[] = [
    ['healthy', undefined, true],
    ['initial', 'Elb.RegistrationInProgress', undefined],
    ['initial', 'Elb.InitialHealthChecking', undefined],
    ['unhealthy', 'Target.FailedHealthChecks', false],
    ['unused', 'Target.NotInUse', undefined],
    ['unused', 'Target.InvalidState', false],
    ['unused', 'Target.NotRegistered', 'left out'],
    ['draining', 'Target.DeregistrationInProgress', 'left out'],
    ['unavailable', 'Target.HealthCheckDisabled', undefined],
  ];
  for (const [state, reason, healthy] of states) {
    it(`a target that is ${state} for ${reason} is ${healthy}`, () => {
      const seen = targetsOf([
        {
          Target: { Id: 'i-1', Port: 30080 },
          TargetHealth: { State: state as 'healthy', Reason: reason as 'Target.NotInUse' },
        },
      ]);
      assert.deepEqual(seen, healthy === 'left out' ? [] : [{ id: 'i-1', healthy }]);
    });
  }

  it('reads state, places, address type and tags of a load balancer', () => {
    const one = loadBalancerOf(
      {
        LoadBalancerArn: 'arn',
        LoadBalancerName: 'a1',
        DNSName: 'a1.elb',
        Type: 'network',
        Scheme: 'internal',
        State: { Code: 'active_impaired' },
        VpcId: 'vpc-1',
        IpAddressType: 'dualstack',
        AvailabilityZones: [
          {
            ZoneName: 'eu-west-1a',
            SubnetId: 'subnet-1',
            LoadBalancerAddresses: [{ AllocationId: 'eipalloc-1', IpAddress: '198.51.100.1' }],
          },
          { ZoneName: 'eu-west-1b', SubnetId: 'subnet-2', LoadBalancerAddresses: [{ PrivateIPv4Address: '10.0.1.5' }] },
        ],
      },
      { a: 'b' },
    );
    assert.equal(one.state, 'active');
    assert.deepEqual(one.places, [
      { zone: 'eu-west-1a', subnet: 'subnet-1', eip: 'eipalloc-1', privateAddress: undefined },
      { zone: 'eu-west-1b', subnet: 'subnet-2', eip: undefined, privateAddress: '10.0.1.5' },
    ]);
    assert.deepEqual([one.addressType, one.securityGroups, one.tags], ['dualstack', [], { a: 'b' }]);
    assert.equal(loadBalancerOf({ State: { Code: 'failed' } }, {}).state, 'failed');
  });

  it('a listener forwards to the one group of either form, and to none where it splits', () => {
    const of = (...TargetGroups: string[]) =>
      listenerOf(
        {
          DefaultActions: [
            {
              Type: 'forward',
              ForwardConfig: { TargetGroups: TargetGroups.map((TargetGroupArn) => ({ TargetGroupArn })) },
            },
          ],
        },
        {},
      ).group;
    assert.equal(of('one'), 'one');
    assert.equal(of('one', 'two'), undefined);
    assert.equal(listenerOf({ DefaultActions: [{ Type: 'forward', TargetGroupArn: 'g' }] }, {}).group, 'g');
  });

  it('a probe by TCP has no path', () => {
    const probe = { HealthCheckPort: 'traffic-port', HealthCheckPath: '/', HealthCheckIntervalSeconds: 30 };
    assert.equal(targetGroupOf({ ...probe, HealthCheckProtocol: 'TCP' }, {}).health.path, undefined);
    assert.equal(targetGroupOf({ ...probe, HealthCheckProtocol: 'HTTP' }, {}).health.path, '/');
  });
});
