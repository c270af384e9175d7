import type { IngressRule } from './ingress-rule.ts';

/**
 * A rule on a group of the nodes says in its description whose it is, since rules themselves cannot be told by tags in
 * one read of their groups. Those of one network load balancer are spelt as the classic controller spells them, so that
 * either takes them for its own; the shared ones name the cluster.
 */
const nlbPrefix = 'kubernetes.io/rule/nlb/';
const clientPrefix = `${nlbPrefix}client=`;
const mtu = `${nlbPrefix}mtu`;

export const descriptions = {
  client: (loadBalancer: string) => `${clientPrefix}${loadBalancer}`,
  health: (loadBalancer: string) => `${nlbPrefix}health=${loadBalancer}`,
  mtu,
  /** Everything from a security group of load balancers. */
  traffic: (cluster: string) => `mooring.dev/traffic cluster=${cluster}`,
  /** Health checks of network load balancers that have no security group. */
  sharedHealth: (cluster: string) => `mooring.dev/health cluster=${cluster}`,
} as const;

/** The load balancer whose clients a rule lets in. */
export function clientOf({ description }: IngressRule): string | undefined {
  return description?.startsWith(clientPrefix) ? description.slice(clientPrefix.length) : undefined;
}

/** The load balancer whose health checks alone a rule lets in. */
export function healthOf({ description }: IngressRule): string | undefined {
  const prefix = descriptions.health('');
  return description?.startsWith(prefix) ? description.slice(prefix.length) : undefined;
}

/** Whether a rule serves this one load balancer alone. */
export function isOf({ description }: IngressRule, loadBalancer: string): boolean {
  return description === descriptions.client(loadBalancer) || description === descriptions.health(loadBalancer);
}

/** Whether a rule goes with a load balancer that is not this one. */
export function isOfAnother({ description }: IngressRule, loadBalancer: string): boolean {
  if (description === undefined || description === mtu) return false;
  return description.startsWith(nlbPrefix) && !isOf({ description } as IngressRule, loadBalancer);
}
