import type { Found } from '../../../engine/resource.ts';
import { portsOverlap, type RuleSpec, subnetOf } from './forwarding-rule.ts';
import { ipOf } from './found.ts';
import type { Address, ForwardingRule, Shown } from './project.ts';

/**
 * Why a forwarding rule cannot have the address that it is to move to. The rule that stands has the same name and goes
 * before the next one is made: a refusal of the cloud would come too late. Undefined: no reason is known. Pure.
 *
 * @param spec with the requested address
 * @param addresses reserved ones
 */
export function whyUnusable(
  spec: RuleSpec,
  standing: Found<Shown<ForwardingRule>>,
  addresses: readonly Found<Shown<Address>>[],
  rules: readonly Found<Shown<ForwardingRule>>[],
): string | undefined {
  const { ip, scheme, subnet } = spec;
  const address = addresses.find(({ consentForAnyCluster: lent, body }) => lent && ipOf(body) === ip)?.body.wire;
  const isInternal = scheme === 'INTERNAL';
  if (address === undefined && !isInternal) return `${ip} is no reserved address of the region`;
  const { addressType = 'EXTERNAL', networkTier = 'PREMIUM' } = address ?? { addressType: scheme };
  if (addressType !== scheme) return `${ip} is ${addressType}, expected ${scheme}`;
  const { loadBalancingScheme, networkTier: standingTier } = standing.body.wire;
  const tier = spec.tier ?? (loadBalancingScheme === 'EXTERNAL' ? standingTier : undefined) ?? 'PREMIUM';
  if (!isInternal && networkTier !== tier) return `${ip} is ${networkTier}, expected network tier ${tier}`;
  const place = address && subnetOf(address);
  if (isInternal && subnet !== undefined && place !== undefined && place !== subnet)
    return `${ip} is of subnet ${place}, expected ${subnet}`;
  const taken = rules.find(({ id, body }) => id !== standing.id && ipOf(body) === ip && portsOverlap(body.wire, spec));
  return taken && `${ip} is taken by forwarding rule ${taken.body.name}, on the same ports`;
}
