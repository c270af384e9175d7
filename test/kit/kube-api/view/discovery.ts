import { reviewKinds } from '../auth/reviews.ts';
import type { JsonObject } from '../json.ts';
import type { Registry } from '../kinds/registry.ts';
import { groupVersion, type Resource } from '../store/resource.ts';

const objectVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const statusVerbs = ['get', 'patch', 'update'];

interface Row {
  readonly plural: string;
  readonly singular: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Name, kind and verbs of each subresource; `version` where its type is of another group. */
  readonly subresources: readonly { name: string; kind: string; verbs: readonly string[]; version: string }[];
}

function rowsOf(registry: Registry, version: string): Row[] {
  const rows = registry.all.filter((one) => groupVersion(one) === version).map(resourceRow);
  for (const [plural, { group, kind, namespaced }] of Object.entries(reviewKinds)) {
    if (`${group}/v1` !== version) continue;
    const singular = kind.toLowerCase();
    rows.push({
      plural,
      singular,
      kind,
      namespaced,
      verbs: ['create'],
      shortNames: [],
      categories: [],
      subresources: [],
    });
  }
  return rows.sort((left, right) => (left.plural < right.plural ? -1 : 1));
}

function resourceRow(resource: Resource): Row {
  const verbs =
    resource.plural === 'namespaces' ? objectVerbs.filter((verb) => verb !== 'deletecollection') : objectVerbs;
  const subresources = resource.subresources.map((name) => {
    if (name === 'token') {
      return { name, kind: 'TokenRequest', verbs: ['create'], version: 'authentication.k8s.io/v1' };
    }
    const own = name === 'finalize' ? ['update'] : statusVerbs;
    return { name, kind: resource.kind, verbs: own, version: groupVersion(resource) };
  });
  const { plural, singular, kind, namespaced, shortNames, categories } = resource;
  return { plural, singular, kind, namespaced, verbs, shortNames, categories, subresources };
}

function split(version: string): { group: string; version: string } {
  const [first = '', second] = version.split('/');
  return second === undefined ? { group: '', version: first } : { group: first, version: second };
}

/** `/api/v1` and `/apis/<group>/<version>`; undefined for a version that is not served. */
export function resourceList(registry: Registry, version: string): JsonObject | undefined {
  if (!registry.groupVersions.includes(version)) return undefined;
  const resources: JsonObject[] = [];
  for (const row of rowsOf(registry, version)) {
    const { plural, singular, kind, namespaced, verbs, shortNames, categories } = row;
    resources.push({
      name: plural,
      singularName: singular,
      namespaced,
      kind,
      verbs: [...verbs],
      ...(shortNames.length === 0 ? {} : { shortNames: [...shortNames] }),
      ...(categories.length === 0 ? {} : { categories: [...categories] }),
    });
    for (const sub of row.subresources) {
      const other = sub.version === version ? {} : split(sub.version);
      const name = `${plural}/${sub.name}`;
      resources.push({ name, singularName: '', namespaced, ...other, kind: sub.kind, verbs: [...sub.verbs] });
    }
  }
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: version, resources };
}

function groupEntry(version: string): JsonObject {
  const one = { groupVersion: version, version: split(version).version };
  return { name: split(version).group, versions: [one], preferredVersion: one };
}

function named(registry: Registry): string[] {
  return registry.groupVersions.filter((version) => version.includes('/'));
}

/** `/apis`. */
export function groupList(registry: Registry): JsonObject {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named(registry).map(groupEntry) };
}

/** `/apis/<group>`; undefined for a group that is not served. */
export function apiGroup(registry: Registry, group: string): JsonObject | undefined {
  const version = named(registry).find((one) => split(one).group === group);
  return version === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(version) };
}

/** `/api`. */
export function coreVersions(address: string): JsonObject {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress: address }];
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs };
}

/** Everything of `/api` (core) or `/apis` in one answer. @param version `v2` or `v2beta1` of apidiscovery.k8s.io */
export function aggregatedDiscovery(registry: Registry, core: boolean, version: string): JsonObject {
  const versions = core ? ['v1'] : named(registry);
  const items = versions.map((one) => {
    const { group, version: short } = split(one);
    const metadata = { ...(group === '' ? {} : { name: group }), creationTimestamp: null };
    const resources = rowsOf(registry, one).map((row) => aggregatedRow(row, one));
    return { metadata, versions: [{ version: short, resources, freshness: 'Current' }] };
  });
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function kindOf(version: string, kind: string): JsonObject {
  return { ...split(version), kind };
}

function aggregatedRow(row: Row, version: string): JsonObject {
  return {
    resource: row.plural,
    responseKind: kindOf(version, row.kind),
    scope: row.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: row.singular,
    verbs: [...row.verbs],
    ...(row.shortNames.length === 0 ? {} : { shortNames: [...row.shortNames] }),
    ...(row.categories.length === 0 ? {} : { categories: [...row.categories] }),
    ...(row.subresources.length === 0
      ? {}
      : {
          subresources: row.subresources.map((sub) => ({
            subresource: sub.name,
            responseKind: kindOf(sub.version, sub.kind),
            verbs: [...sub.verbs],
          })),
        }),
  };
}
