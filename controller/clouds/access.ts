import type { Refusal } from '../engine/resource.ts';
import { claimantOf, consentFor, printConsent } from './consent.ts';
import { type DesiredLoadBalancer, type DesiredPort, ownerTags, type Protocol } from './load-balancers.ts';

/**
 * What a Service may do with a resource that it did not create.
 *
 * - `use`: everything
 * - `keep`: what it already has there stays and is kept up to date, but nothing is added: it was added when a tag for
 *   the whole cluster was enough
 * - `nothing`
 */
export type Access = { readonly may: 'use' } | { readonly may: 'keep' | 'nothing'; readonly refusal: Refusal };

export interface ConsentRequest {
  /** For messages: `load balancer lb-1`. */
  readonly what: string;
  /** Values of its consent tag. */
  readonly consent: string | readonly string[] | undefined;
  /** Whether the operator's allow-list names it for this Service; undefined where there is no such list. */
  readonly allowed?: boolean;
  /** The ports that the Service already has on it. */
  readonly served?: readonly { readonly port: number; readonly protocol: Protocol }[];
}

type ConsentContext = Pick<DesiredLoadBalancer, 'owner' | 'service' | 'clusterWideConsent' | 'ports'>;

/** Whether its consent tag, the operator's list or the operator's flag lets the Service use it. Pure. */
export function accessTo({ what, consent, allowed, served = [] }: ConsentRequest, desired: ConsentContext): Access {
  const claimant = claimantOf(desired.owner.cluster, desired.service);
  const kind = consentFor(consent, claimant);
  if (allowed === true || kind === 'named' || (kind === 'cluster-wide' && desired.clusterWideConsent))
    return { may: 'use' };
  const whole = printConsent({ ...claimant, name: undefined });
  if (kind === 'none') {
    const unlisted =
      allowed === undefined ? '' : `, and --attachable-load-balancers does not name it for ${desired.service}`;
    const message = `${what} has no tag ${ownerTags.consent} with ${whole} or ${printConsent(claimant)}${unlisted}`;
    return { may: 'nothing', refusal: { reason: 'ForeignLoadBalancer', message } };
  }
  const remedy = `make it ${whole}, or run the controller with --allow-cluster-wide-attach`;
  const message = `${what}: its tag ${ownerTags.consent} names the whole cluster; ${remedy}`;
  const isServed = ({ port, protocol }: DesiredPort) =>
    served.some((one) => one.port === port && one.protocol === protocol);
  const ports = desired.ports.filter((port) => !isServed(port));
  if (ports.length === desired.ports.length)
    return { may: 'nothing', refusal: { reason: 'ForeignLoadBalancer', message } };
  if (ports.length > 0)
    return {
      may: 'keep',
      refusal: { reason: 'ForeignLoadBalancer', message: `${message}; until then no port is added`, ports },
    };
  return { may: 'keep', refusal: { reason: 'ClusterWideConsent', message: `${message}; what is there stays` } };
}

/**
 * Names the holder of a requested resource in a message for a Service: in full within its namespace, otherwise the
 * namespace alone.
 *
 * @param holder `namespace/name` as tagged; undefined where the tags do not contain it
 */
export function nameHolder(holder: string | undefined, { service }: Pick<DesiredLoadBalancer, 'service'>): string {
  if (holder === undefined || !holder.includes('/')) return 'another owner';
  const [namespace = ''] = holder.split('/');
  return namespace === service.split('/')[0] ? `Service ${holder}` : `a Service of namespace ${namespace}`;
}

/** Why a load balancer with the name of this Service's is not its own, and what would make it so. */
export function whyNotOwn({ owner, service }: ConsentContext, isRetained: boolean | undefined): string {
  const why = `its tags do not say that it is of ${service}`;
  if (!isRetained) return why;
  const remedy = `give it and what belongs to it the tag ${ownerTags.service} with ${owner.service} again`;
  return `${why} any more: it was kept on purpose; ${remedy}, or delete it`;
}

/**
 * Whether a retained resource may be used by this Service: only by one of the same namespace.
 *
 * @param keptFor `namespace/name` of its former Service; undefined where it is not known
 */
export function isKeptFor(keptFor: string | undefined, service: string): boolean {
  if (keptFor === undefined || !keptFor.includes('/')) return false;
  return keptFor.split('/')[0] === service.split('/')[0];
}
