import type {
  Listener as ElbListener,
  LoadBalancer as ElbLoadBalancer,
  TargetGroup as ElbTargetGroup,
  TargetHealthDescription,
} from '@aws-sdk/client-elastic-load-balancing-v2';
import type { Tags } from '../load-balancer-tags.ts';
import type { Listener, NetworkLoadBalancer, Place, TargetGroup } from './network-load-balancer.ts';

/** What AWS says about a load balancer, as ours; listeners and attributes are read apart. */
export function loadBalancerOf(answer: ElbLoadBalancer, tags: Tags): NetworkLoadBalancer {
  return {
    arn: answer.LoadBalancerArn ?? '',
    name: answer.LoadBalancerName ?? '',
    type: answer.Type ?? '',
    hostname: answer.DNSName ?? '',
    scheme: answer.Scheme ?? 'internet-facing',
    state: stateOf(answer.State?.Code),
    vpcId: answer.VpcId ?? '',
    addressType: answer.IpAddressType ?? 'ipv4',
    places: (answer.AvailabilityZones ?? []).map(({ ZoneName = '', SubnetId = '', LoadBalancerAddresses }): Place => {
      const [address] = LoadBalancerAddresses ?? [];
      return {
        zone: ZoneName,
        subnet: SubnetId,
        eip: address?.AllocationId,
        privateAddress: address?.PrivateIPv4Address,
      };
    }),
    securityGroups: answer.SecurityGroups ?? [],
    createdAtMs: answer.CreatedTime?.getTime(),
    tags,
  };
}

/** `active_impaired` serves, with less than it should have; AWS looks after that. */
function stateOf(code: string | undefined): NetworkLoadBalancer['state'] {
  return code === 'provisioning' || code === 'failed' ? code : 'active';
}

export function listenerOf(answer: ElbListener, tags: Tags): Listener {
  const forward = answer.DefaultActions?.find(({ Type }) => Type === 'forward');
  const forwarded = forward?.ForwardConfig?.TargetGroups;
  return {
    arn: answer.ListenerArn ?? '',
    port: answer.Port ?? 0,
    protocol: answer.Protocol ?? '',
    policy: answer.SslPolicy,
    certificate: answer.Certificates?.[0]?.CertificateArn,
    group: forward?.TargetGroupArn ?? (forwarded?.length === 1 ? forwarded[0]?.TargetGroupArn : undefined),
    tags,
  };
}

/** Targets and attributes are read apart. */
export function targetGroupOf(answer: ElbTargetGroup, tags: Tags): TargetGroup {
  const protocol = answer.HealthCheckProtocol ?? '';
  return {
    arn: answer.TargetGroupArn ?? '',
    name: answer.TargetGroupName ?? '',
    protocol: answer.Protocol ?? '',
    port: answer.Port ?? 0,
    targetType: answer.TargetType === 'ip' ? 'ip' : 'instance',
    ipType: answer.IpAddressType === 'ipv6' ? 'ipv6' : 'ipv4',
    health: {
      protocol,
      port: answer.HealthCheckPort ?? '',
      path: protocol === 'TCP' ? undefined : answer.HealthCheckPath,
      healthy: answer.HealthyThresholdCount ?? 0,
      unhealthy: answer.UnhealthyThresholdCount ?? 0,
      interval: answer.HealthCheckIntervalSeconds ?? 0,
      timeout: answer.HealthCheckTimeoutSeconds,
    },
    loadBalancers: answer.LoadBalancerArns ?? [],
    tags,
  };
}

/** Those that are or shall be served; one that drains has been let go already, and AWS drops it by itself. */
export function targetsOf(
  answers: readonly TargetHealthDescription[] | undefined,
): { readonly id: string; readonly healthy: boolean | undefined }[] {
  return (answers ?? []).flatMap(({ Target, TargetHealth }) => {
    const id = Target?.Id;
    const { State: state, Reason: reason } = TargetHealth ?? {};
    if (id === undefined || state === 'draining') return [];
    if (state === 'unused' && reason === 'Target.NotRegistered') return [];
    // AWS probes no target that no listener uses.
    const unprobed = state === undefined || state === 'initial' || state === 'unavailable';
    const unknown = unprobed || reason === 'Target.NotInUse';
    return [{ id, healthy: unknown ? undefined : state === 'healthy' }];
  });
}
