import { claimantOf, type Holder, includes, parseHolder } from '../clouds/consent.ts';
import type { ServiceView } from '../model/service-view.ts';

/** What the operator allows users of namespaces in addition to the needs of their own Services. */
export interface OperatorPolicy {
  /** `--attachable-load-balancers`. */
  readonly attachable: readonly AttachGrant[];
  /** `--allow-cluster-wide-attach`. */
  readonly clusterWideAttach: boolean;
  /** `--allow-retain`. */
  readonly retain: readonly RetainGrant[];
  /** `--allow-keep-address`; undefined = all Services, as with the classic controllers. */
  readonly keepAddress?: readonly RetainGrant[] | undefined;
  /** `--retained-load-balancers-limit`: of one namespace. */
  readonly retainLimit: number;
}

/** The part that desired load balancers depend on. */
export type DesirePolicy = Pick<OperatorPolicy, 'attachable' | 'clusterWideAttach' | 'keepAddress'>;

/** A load balancer that Services may name without a consent tag. */
export interface AttachGrant {
  readonly id: string;
  /** Undefined = Services of every namespace. */
  readonly holder: Holder | undefined;
}

/** Which Services may retain a load balancer or an address. */
export type RetainGrant =
  | { readonly to: 'all' }
  | { readonly to: 'namespace'; readonly namespace: string }
  | { readonly to: 'class'; readonly name: string };

/** Allows what every classic controller does, and nothing else. */
export const strictPolicy: OperatorPolicy = { attachable: [], clusterWideAttach: false, retain: [], retainLimit: 5 };

/** Reads `ID` or `ID=NAMESPACE[/NAME]`; undefined when it is neither. Ids hold no `=`. */
export function parseAttachGrant(text: string): AttachGrant | undefined {
  const [id = '', holder, ...more] = text.split('=');
  if (!/^\S+$/.test(id) || more.length > 0) return undefined;
  if (holder === undefined) return { id, holder: undefined };
  const parsed = parseHolder(holder);
  return parsed && { id, holder: parsed };
}

/** Reads `NAMESPACE`, `class:NAME` or `*`; undefined when it is none of them. */
export function parseRetainGrant(text: string): RetainGrant | undefined {
  if (text === '*') return { to: 'all' };
  const name = /^class:(\S+)$/.exec(text)?.[1];
  if (name !== undefined) return { to: 'class', name };
  const holder = parseHolder(text);
  return holder === undefined || holder.name !== undefined ? undefined : { to: 'namespace', namespace: text };
}

/** @param service `namespace/name` */
export function mayAttach({ attachable }: DesirePolicy, id: string, service: string): boolean {
  const claimant = claimantOf('', service);
  return attachable.some((grant) => grant.id === id && (!grant.holder || includes(grant.holder, claimant)));
}

type Claimant = Pick<ServiceView, 'namespace' | 'loadBalancerClass'>;

export function mayRetain({ retain }: OperatorPolicy, service: Claimant): boolean {
  return isGranted(retain, service);
}

/** Whether an annotation of the classic controller may keep its address. */
export function mayKeepAddress({ keepAddress }: DesirePolicy, service: Claimant): boolean {
  return keepAddress === undefined || isGranted(keepAddress, service);
}

function isGranted(grants: readonly RetainGrant[], { namespace, loadBalancerClass }: Claimant): boolean {
  return grants.some((grant) => {
    if (grant.to === 'namespace') return grant.namespace === namespace;
    return grant.to === 'all' || (loadBalancerClass !== '' && grant.name === loadBalancerClass);
  });
}
