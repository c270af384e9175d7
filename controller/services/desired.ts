import type { DesiredLoadBalancer, DesiredMember, IpFamily, LoadBalancerRef, Owner } from '../clouds/load-balancers.ts';
import { allowsAddressChange, attachTo, isRetained, type ServiceView } from './service-view.ts';
import { sourceRangesOf } from './source-ranges.ts';
import type { ServingCloud } from './wants.ts';

export interface ClusterIdentity {
  /** UID of the namespace kube-system. */
  readonly uid: string;
  /** `--cluster-name`. */
  readonly name: string;
}

/** Where kube-proxy says whether it is well; every member answers there. */
const kubeProxyHealth = { port: 10_256, path: '/healthz' };
/** The API server's own default. */
const defaultAffinitySeconds = 10_800;

export function ownerOf(cluster: ClusterIdentity, service: Pick<ServiceView, 'uid'>): Owner {
  return { cluster: cluster.uid, service: service.uid };
}

/** Upstream's default name. */
export function defaultName(uid: string): string {
  return `a${uid.replaceAll('-', '')}`.slice(0, 32);
}

/** @param id as recorded */
export function refOf(cluster: ClusterIdentity, service: ServiceView, id: string | undefined): LoadBalancerRef {
  return {
    owner: ownerOf(cluster, service),
    name: defaultName(service.uid),
    service: service.key,
    id,
    attachTo: attachTo(service),
    address: service.loadBalancerIP || undefined,
  };
}

export type Desired =
  | { readonly ok: true; readonly desired: DesiredLoadBalancer }
  | { readonly ok: false; readonly reason: 'InvalidSourceRanges' | 'InvalidSpec'; readonly message: string };

/**
 * What a Service asks of its load balancer, or which field cannot be worked with. `externalIPs` are kube-proxy's and are not looked at. Pure.
 *
 * @param attachable ids that the operator allows Services to name
 */
export function desiredOf(
  service: ServiceView,
  parts: {
    readonly cluster: ClusterIdentity;
    readonly cloud: ServingCloud;
    readonly members: readonly DesiredMember[];
    readonly attachable: ReadonlySet<string>;
  },
): Desired {
  const { cluster, cloud, members, attachable } = parts;
  const ranges = sourceRangesOf(service);
  if (!ranges.ok) return { ok: false, reason: 'InvalidSourceRanges', message: ranges.message };
  if (service.ports.length === 0)
    return { ok: false, reason: 'InvalidSpec', message: 'spec.ports: empty, expected at least one port' };
  const attach = attachTo(service);
  const local = service.externalTrafficPolicy === 'Local';
  return {
    ok: true,
    desired: {
      owner: ownerOf(cluster, service),
      service: service.key,
      clusterName: cluster.name,
      name: defaultName(service.uid),
      ports: service.ports.map(({ name, protocol, port, nodePort, appProtocol }) => ({
        name,
        protocol,
        port,
        nodePort,
        appProtocol,
      })),
      families: service.ipFamilies.length > 0 ? service.ipFamilies : (['IPv4'] satisfies IpFamily[]),
      sourceRanges: ranges.ranges,
      sessionAffinity:
        service.sessionAffinity === 'ClientIP'
          ? { timeoutSeconds: service.affinityTimeout ?? defaultAffinitySeconds }
          : undefined,
      trafficPolicy: local ? 'Local' : 'Cluster',
      healthCheck:
        local && service.healthCheckNodePort !== 0
          ? { port: service.healthCheckNodePort, path: '/healthz' }
          : kubeProxyHealth,
      address: service.loadBalancerIP || undefined,
      annotations: annotationsFor(service, cloud),
      members,
      attach: attach === undefined ? undefined : { id: attach, allowed: attachable.has(attach) },
      mayChangeAddress: allowsAddressChange(service),
      retain: isRetained(service),
    },
  };
}

function annotationsFor(service: ServiceView, cloud: ServingCloud): Record<string, string> {
  const read: Record<string, string> = {};
  for (const { key } of cloud.loadBalancers.annotations) {
    const value = service.annotations[key];
    if (value !== undefined) read[key] = value;
  }
  return read;
}
