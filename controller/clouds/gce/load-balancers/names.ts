import type { IpFamily, Owner } from '../../load-balancers.ts';

/** Of almost everything of one Service. */
export { classicName as loadBalancerName } from '../../adoption.ts';

/**
 * What the classic controller calls its cluster: the ConfigMap kube-system/ingress-uid. Where the configuration does
 * not say it, 16 digits of the cluster's UID take its place.
 */
export function clusterIdOf(cluster: string, configured: string | undefined): string {
  return configured ?? cluster.replaceAll('-', '').slice(0, 16);
}

/** Of what all Services share. */
export const sharedNames = {
  group: (clusterId: string) => `k8s-ig--${clusterId}`,
  check: (clusterId: string) => `k8s-${clusterId}-node`,
  /** For the health checks of backend services. */
  checkFirewall: (clusterId: string) => `k8s-${clusterId}-node-hc`,
  checkFirewallIpv6: (clusterId: string) => nameFor('IPv6', `k8s-${clusterId}-node-hc`),
  /** For those of target pools. */
  legacyCheckFirewall: (clusterId: string) => `k8s-${clusterId}-node-http-hc`,
} as const;

/** Of one Service, beside its load balancer's name itself. */
export const ownNames = {
  firewall: (loadBalancer: string) => `k8s-fw-${loadBalancer}`,
  checkFirewall: (loadBalancer: string) => `${loadBalancer}-hc`,
  legacyCheckFirewall: (loadBalancer: string) => `k8s-${loadBalancer}-http-hc`,
  /** The classic controller's alone, with --enable-l4-deny-firewall. */
  denial: (loadBalancer: string) => `k8s-fw-${loadBalancer}-deny`,
} as const;

/** Of what each family has for itself: a forwarding rule, its address, firewall rules. */
export function nameFor(family: IpFamily, name: string): string {
  return family === 'IPv6' ? `${name}-ipv6` : name;
}

export function familyOf(name: string): IpFamily {
  return name.endsWith('-ipv6') ? 'IPv6' : 'IPv4';
}

/** Names that the classic controller and Mooring give, of any cluster; RE2. */
export const anyName =
  '(k8s-fw-|k8s-)?a[0-9a-f]{31}(-hc|-http-hc|-deny)?(-ipv6)?|k8s-.*-node(-hc|-http-hc)?(-ipv6)?|k8s-ig--.*';

/** The classic controller's rule that denies all traffic to a load balancer's address. */
export const isDenial = (name: string) => /-deny(-ipv6)?$/.test(name);

/** The load balancer in a name of one Service's resource; undefined: it is no such name. */
export function loadBalancerIn(name: string): string | undefined {
  return /^(?:k8s-fw-|k8s-)?(a[0-9a-f]{31})(?:-hc|-http-hc|-deny)?(?:-ipv6)?$/.exec(name)?.[1];
}

export function isShared(name: string, clusterId: string): boolean {
  return Object.values(sharedNames).some((nameOf) => nameOf(clusterId) === name);
}

/** What a description of ours says. The first fields are the classic controller's. */
export interface Description {
  readonly 'kubernetes.io/service-name'?: string;
  readonly 'kubernetes.io/service-ip'?: string;
  readonly 'kubernetes.io/cluster-id'?: string;
  readonly 'mooring.dev/cluster'?: string;
  readonly 'mooring.dev/service-uid'?: string;
}

/** Nothing where it is of others. */
export function parseDescription(text: string): Description {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Most descriptions cannot be changed later, so they are made with what says whose the resource is. */
export function describe(owner: Owner, service: string, ip?: string): string {
  return JSON.stringify({
    'kubernetes.io/service-name': service,
    ...(ip !== undefined && { 'kubernetes.io/service-ip': ip }),
    'mooring.dev/cluster': owner.cluster,
    'mooring.dev/service-uid': owner.service,
  } satisfies Description);
}

export function describeShared(cluster: string, clusterId: string): string {
  return JSON.stringify({
    'kubernetes.io/cluster-id': clusterId,
    'mooring.dev/cluster': cluster,
  } satisfies Description);
}

/** Labels of a forwarding rule that was taken over: its description cannot be changed. */
export const labels = {
  cluster: 'mooring-cluster',
  service: 'mooring-service-uid',
  /** It stayed when its Service went. */
  retained: 'mooring-retained',
} as const;
