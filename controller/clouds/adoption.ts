import ipaddr from 'ipaddr.js';
import { canonical } from './ip-address.ts';
import type { AdoptionProof } from './load-balancers.ts';

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
