import type { Found } from '../../../engine/resource.ts';
import type { Scheme } from './forwarding-rule.ts';
import type { Shown, Subnet } from './project.ts';

/**
 * Why a load balancer cannot have IPv6 in that subnet. Undefined: it can, or the subnet was not read yet, and the cloud
 * refuses where it cannot.
 *
 * @param known subnets
 */
export function subnetProblem(name: string | undefined, scheme: Scheme, known: readonly Found[]): string | undefined {
  if (name === undefined) return 'subnetwork-name missing, expected a subnet with IPv6';
  const found = (known as readonly Found<Shown<Subnet>>[]).find(({ body }) => body.name === name);
  const { stackType = 'IPV4_ONLY', ipv6AccessType } = found?.body.wire ?? {};
  if (found === undefined || (stackType !== 'IPV4_ONLY' && ipv6AccessType === scheme)) return undefined;
  const access = stackType === 'IPV4_ONLY' ? '' : ` with ${ipv6AccessType} access`;
  return `subnet ${name} is ${stackType}${access}, expected IPV4_IPV6 with ${scheme} access`;
}
