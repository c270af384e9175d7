import type { Refusal, Want } from '../../../engine/resource.ts';
import { accessTo } from '../../access.ts';
import { ownerTags } from '../../load-balancers.ts';
import { type Context, ownListeners, serves } from './desire-context.ts';
import { ownWants } from './desire-own.ts';
import { hostWants, keepAll } from './desire-parts.ts';
import type { NetworkLoadBalancer } from './network-load-balancer.ts';

/** The Service asks for one that others made. */
export function attachedWants(context: Context, hosts: readonly NetworkLoadBalancer[]): readonly Want[] {
  const { input, settings, standing, refusals } = context;
  const { desired } = input;
  const { id, allowed } = desired.attach!;
  if (standing.balancer?.arn === id) return ownWants(context, hosts);
  const refuse = (reason: Refusal['reason'], message: string) => {
    refusals.push({ reason, message });
    return instead();
  };
  /** What it has goes on. */
  const instead = (): readonly Want[] => {
    if (standing.balancer !== undefined) return ownWants(context, hosts);
    const [current] = hosts.filter((one) => serves(input, one));
    return current === undefined ? keepAll(input) : hostWants(context, current, false);
  };
  const host = hosts.find(({ arn }) => arn === id);
  if (host === undefined) {
    const expected = 'expected the ARN of a network load balancer';
    return refuse('Unsupported', `load balancer ${JSON.stringify(id)} does not exist in this region, ${expected}`);
  }
  if (host.type !== 'network') return refuse('Unsupported', `load balancer ${id} is no network load balancer`);
  const numbers = new Set(ownListeners(input, host).map(({ body }) => body.port));
  const served = desired.ports.filter(({ port }) => numbers.has(port));
  const consent = host.tags[ownerTags.consent];
  const access = accessTo({ what: `load balancer ${id}`, consent, allowed, served }, desired);
  if (access.may !== 'use') refusals.push(access.refusal);
  if (access.may === 'nothing') return instead();
  const elsewhere = standing.balancer ?? hosts.find((one) => one !== host && serves(input, one));
  if (elsewhere !== undefined && !desired.mayChangeAddress && numbers.size === 0) {
    const message = `${desired.service} uses load balancer ${elsewhere.arn}, and ${id} has another address`;
    return refuse('AddressWouldChange', message);
  }
  if (desired.families.includes('IPv6') && host.addressType === 'ipv4')
    refusals.push({ reason: 'Unsupported', message: `spec.ipFamilies: load balancer ${id} has no IPv6 address` });
  if (settings.refusals.length > 0 && numbers.size === 0) return keepAll(input);
  return hostWants(context, host, access.may === 'use');
}
