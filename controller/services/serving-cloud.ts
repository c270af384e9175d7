import { annotations as annotationKeys } from '../../common/well-known.ts';
import type { LoadBalancers } from '../clouds/load-balancers.ts';
import type { ConfiguredCloud } from '../model/configured-cloud.ts';
import { isScopeOf } from '../model/scope-record.ts';
import type { ServiceView } from '../model/service-view.ts';
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

export type Choice =
  | { readonly cloud: ServingCloud }
  | { readonly reason: 'CloudNotChosen' | 'ScopeNotServed'; readonly message: string };

/**
 * Which cloud serves a Service: the recorded scope, else the one that the annotation names, else the only one there is.
 * Pure.
 */
export function chooseCloud(service: ServiceView, clouds: readonly ServingCloud[]): Choice {
  const record = parseRecord(service.annotations[annotationKeys.loadBalancer]);
  if (record !== undefined) {
    const recorded = clouds.find((cloud) => isScopeOf(record.scope, cloud));
    if (recorded !== undefined) return { cloud: recorded };
    const message = `its load balancer was created in ${record.scope}, which no configured cloud reaches`;
    return { reason: 'ScopeNotServed', message };
  }
  const named = service.annotations[annotationKeys.cloud]?.trim();
  const [only, ...others] = clouds;
  if (only !== undefined && others.length === 0 && !named) return { cloud: only };
  const names = clouds.map(({ name }) => name).join(', ');
  if (!named) {
    const message = `several clouds have load balancers (${names}): name one in the annotation ${annotationKeys.cloud}`;
    return { reason: 'CloudNotChosen', message };
  }
  const [match, ...more] = clouds.filter(({ name, scope }) => name === named || scope === named);
  if (match !== undefined && more.length === 0) return { cloud: match };
  const scopes = match === undefined ? [] : [match, ...more].map(({ scope }) => scope);
  const expected = scopes.length === 0 ? `one of ${names}` : `a scope: ${scopes.join(' or ')}`;
  const message = `annotation ${annotationKeys.cloud}: ${JSON.stringify(named)}, expected ${expected}`;
  return { reason: 'CloudNotChosen', message };
}
