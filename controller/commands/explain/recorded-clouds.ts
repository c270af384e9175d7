import { cloudOf, codecOf } from '../../../common/provider-id/registry.ts';
import { annotations } from '../../../common/well-known.ts';
import type { NodeView } from '../../model/node-view.ts';
import type { Claimant } from '../../model/ownership.ts';
import { cloudOfReportScope, parseRecord } from '../../model/scope-record.ts';

/** A cloud as the records of Nodes show it. */
export type Place = Pick<Claimant, 'name' | 'scope'>;

/** Where the Node's instance was found; undefined: it was not. Pure. */
export function placeOf(node: NodeView, moduleNames: readonly string[]): Place | undefined {
  const scope = parseRecord(node.annotations[annotations.instance])?.scope;
  if (scope === undefined) return undefined;
  const name = cloudOfReportScope(scope) ?? cloudOf(node.providerID, moduleNames);
  return name === undefined ? undefined : { name, scope };
}

/**
 * The configured clouds of the controller, as far as its records on Nodes tell. Their selectors are not known, nor
 * where attestation is required. A cloud that once was report-only has Nodes of both records for a while. Pure.
 */
export function recordedClouds(places: Iterable<Place | undefined>): readonly Claimant[] {
  const byScope = new Map<string, Place>();
  for (const place of places) if (place !== undefined && !byScope.has(place.scope)) byScope.set(place.scope, place);
  const called = new Set([...byScope.values()].filter(isCalled).map(({ name }) => name));
  return [...byScope.values()]
    .filter((place) => isCalled(place) || !called.has(place.name))
    .map((place) => ({
      ...place,
      accepts: (providerID) => codecOf(place.name).parse(providerID) !== undefined,
      selector: undefined,
      api: isCalled(place) ? place : undefined,
    }));
}

function isCalled({ scope }: Place): boolean {
  return cloudOfReportScope(scope) === undefined;
}
