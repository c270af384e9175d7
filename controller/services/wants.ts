import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { LoadBalancers } from '../clouds/load-balancers.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isScopeOf } from '../model/scope-record.ts';
import { hasFinalizer, type ServiceView } from '../model/service-view.ts';
import { parseRecord } from './record.ts';

/** A configured cloud that has load balancers. */
export interface ServingCloud {
  readonly name: string;
  readonly scope: string;
  readonly formerScopes?: readonly string[] | undefined;
  readonly loadBalancers: LoadBalancers;
}

export function servingClouds(configured: readonly ConfiguredCloud[]): readonly ServingCloud[] {
  return configured.flatMap(({ name, scope, formerScopes, api }) =>
    api?.loadBalancers === undefined ? [] : [{ name, scope, formerScopes, loadBalancers: api.loadBalancers }],
  );
}

/**
 * - `ensure`: it wants a load balancer of ours
 * - `remove`: it has, or may have, one of ours and wants none any more
 * - `disown`: as `remove`, but its class has become somebody else's: their finalizer and status stay
 * - `none`: nothing of ours
 */
export type Demand = 'ensure' | 'remove' | 'disown' | 'none';

/**
 * What a Service asks of us. Services without a `loadBalancerClass` are ours, those with one only if `classes` has it. A terminating Service is never ensured. Pure.
 */
export function demandOf(service: ServiceView, classes: readonly string[]): Demand {
  const balanced = service.type === 'LoadBalancer';
  const recorded = parseRecord(service.annotations[annotationKeys.loadBalancer]) !== undefined;
  const ours = service.loadBalancerClass === '' || classes.includes(service.loadBalancerClass);
  if (balanced && !ours) return recorded ? 'disown' : 'none';
  if (balanced && !service.deleting) return 'ensure';
  return recorded || hasFinalizer(service) ? 'remove' : 'none';
}

export type Choice =
  | { readonly cloud: ServingCloud }
  | { readonly reason: 'CloudNotChosen' | 'ScopeNotServed'; readonly message: string };

/** Which cloud serves a Service: the recorded scope, else the only one there is, else the one that the annotation names. Pure. */
export function chooseCloud(service: ServiceView, clouds: readonly ServingCloud[]): Choice {
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  if (record !== undefined) {
    const recorded = clouds.find((cloud) => isScopeOf(record.scope, cloud));
    if (recorded !== undefined) return { cloud: recorded };
    const message = `its load balancer was made in ${record.scope}, which no configured cloud reaches`;
    return { reason: 'ScopeNotServed', message };
  }
  const [only, ...others] = clouds;
  if (only !== undefined && others.length === 0) return { cloud: only };
  const named = service.annotations[annotationKeys.cloud]?.trim();
  const names = clouds.map(({ name }) => name).join(', ');
  if (!named) {
    const message = `several clouds have load balancers (${names}): name one in the annotation ${annotationKeys.cloud}`;
    return { reason: 'CloudNotChosen', message };
  }
  const [match, ...more] = clouds.filter(({ name, scope }) => name === named || scope === named);
  if (match !== undefined && more.length === 0) return { cloud: match };
  const expected =
    match === undefined ? names : [match, ...more].map(({ scope }) => scope).join(' or ') || 'the name of one cloud';
  const message = `annotation ${annotationKeys.cloud}: ${JSON.stringify(named)}, expected ${match === undefined ? 'one of ' : 'a scope: '}${expected}`;
  return { reason: 'CloudNotChosen', message };
}
