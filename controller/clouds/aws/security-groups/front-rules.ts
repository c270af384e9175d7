import type { IngressRule } from './ingress-rule.ts';

/**
 * Rules of the group in front of a load balancer: each port from the source ranges, and what tells a sender that its
 * packets are too large.
 */
export function frontRules(
  ports: readonly { readonly protocol: string; readonly port: number }[],
  sources: readonly string[],
): IngressRule[] {
  const rules = ports.flatMap(({ protocol, port }) =>
    sources.map((source) => ({ protocol: protocol.toLowerCase(), fromPort: port, toPort: port, source })),
  );
  return [...rules, ...sources.map(mtuRule)];
}

/** Destination unreachable, fragmentation needed; in IPv6 packet too big. */
export function mtuRule(source: string): IngressRule {
  if (source.includes(':')) return { protocol: 'icmpv6', fromPort: 2, toPort: 0, source };
  return { protocol: 'icmp', fromPort: 3, toPort: 4, source };
}
