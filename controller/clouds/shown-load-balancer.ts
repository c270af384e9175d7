import type { Ingress, ObservedMember } from './load-balancers.ts';

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
