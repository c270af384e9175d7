import ipaddr from 'ipaddr.js';
import { canonical } from './ip-address.ts';
import type { AdoptionProof, Ingress, ObservedMember } from './load-balancers.ts';

/** The name that Kubernetes gives a Service's load balancer by default. @param service UID */
export function classicName(service: string): string {
  return `a${service.replaceAll('-', '')}`.slice(0, 32);
}

/** The addresses that a Service's status shows. */
export interface ShownAddresses {
  has(ip: string | undefined): boolean;
  /** It shows hostnames alone: of a Service with the annotation for a hostname, it shows nothing else. */
  readonly isNamed: boolean;
}

export function shownAddresses({ addresses }: Pick<AdoptionProof, 'addresses'>): ShownAddresses {
  const shown = new Set(addresses.map(canonical));
  return {
    has: (ip) => ip !== undefined && shown.has(ip),
    isNamed: shown.size > 0 && ![...shown].some(ipaddr.isValid),
  };
}

/** What a Service's status shows: a hostname in place of the addresses, where it has one. Nothing without addresses. */
export function ingressOf(
  addresses: readonly (string | undefined)[],
  { hostname, isProxy }: { readonly hostname: string | undefined; readonly isProxy: boolean },
): readonly Ingress[] {
  const shown = addresses.flatMap((ip): Ingress[] =>
    ip === undefined ? [] : [{ ip, ipMode: isProxy ? 'Proxy' : 'VIP' }],
  );
  return hostname !== undefined && shown.length > 0 ? [{ hostname }] : shown;
}

/** The members of several sets, which have the same nodes but for those that were changed since. */
export function unionOfMembers(sets: readonly (readonly ObservedMember[])[]): readonly ObservedMember[] {
  const seen = new Map<string, ObservedMember>();
  for (const member of sets.flat())
    if (seen.get(member.providerID)?.draining !== false) seen.set(member.providerID, member);
  return [...seen.values()];
}
