import type { compute_v1 } from '@googleapis/compute';
import type { FakeCall } from './fake-api.ts';

type Body = compute_v1.Schema$ForwardingRule &
  compute_v1.Schema$BackendService &
  compute_v1.Schema$TargetPool &
  compute_v1.Schema$Address &
  compute_v1.Schema$Route;

/**
 * The permissions that a call needs, as the reference of each method of the API lists them.
 *
 * @param addressType of the address that the call is about, by its path or its IP
 */
export function permissionsOf(
  { method, path, text }: FakeCall,
  addressType: (pathOrIp: string) => string | undefined,
): readonly string[] {
  const [root, , , project, place, ...below] = path.split('/').slice(1);
  if (root !== 'compute' || project === undefined) return [];
  if (place === undefined) return ['compute.projects.get'];
  const isGlobal = place === 'aggregated' || place === 'global';
  const scope = isGlobal ? 'global' : place.slice(0, -1);
  const [collection = '', name, verb] = isGlobal ? below : below.slice(1);
  const body: Body = method === 'GET' || method === 'DELETE' || text === '' ? {} : JSON.parse(text);
  if (collection === 'operations') return [`compute.${scope}Operations.get`];
  const isRegional = scope === 'region' && ['backendServices', 'healthChecks'].includes(collection);
  const resource = isRegional ? `region${collection[0]!.toUpperCase()}${collection.slice(1)}` : collection;
  const needs = (...names: readonly string[]) => names.map((one) => `compute.${one}`);
  const own = (...verbs: readonly string[]) => verbs.map((one) => `compute.${resource}.${one}`);
  if (method === 'GET') return own(name === undefined ? 'list' : 'get');
  if (verb === 'listInstances') return own('list');
  if (collection === 'addresses') {
    const type = method === 'DELETE' ? addressType(`${place}/${below[0]}/addresses/${name}`) : body.addressType;
    const suffix = type === 'INTERNAL' ? 'Internal' : '';
    return [
      ...own(`${method === 'DELETE' ? 'delete' : 'create'}${suffix}`),
      ...(body.subnetwork ? needs('subnetworks.use') : []),
    ];
  }
  const policy = collection === 'firewalls' || collection === 'routes' ? needs('networks.updatePolicy') : [];
  if (method === 'DELETE') return [...own('delete'), ...policy];
  if (verb === 'setLabels') return own('setLabels');
  if (verb === 'addInstances' || verb === 'removeInstances') return [...own('update'), ...needs('instances.use')];
  if (verb === 'addInstance' || verb === 'removeInstance') return [...own(verb), ...needs('instances.use')];
  if (verb !== undefined) return [...own(verb), ...needs('httpHealthChecks.useReadOnly')];
  const reserved = body.IPAddress ? addressType(body.IPAddress) : undefined;
  const checks = (body.healthChecks ?? []).map((link) => {
    const kind = link.includes('/httpHealthChecks/') ? 'httpHealthChecks' : 'healthChecks';
    return link.includes('/regions/') ? 'regionHealthChecks' : kind;
  });
  return [
    ...own(method === 'PATCH' ? 'update' : 'create'),
    ...policy,
    ...(body.nextHopInstance || (body.instances ?? []).length > 0 ? needs('instances.use') : []),
    ...(body.backendService ? needs('regionBackendServices.use') : []),
    ...(body.target ? needs('targetPools.use') : []),
    ...(collection === 'forwardingRules' && body.network ? needs('networks.use') : []),
    ...(body.subnetwork ? needs('subnetworks.use') : []),
    ...(reserved === undefined ? [] : needs(reserved === 'INTERNAL' ? 'addresses.useInternal' : 'addresses.use')),
    ...needs(...checks.map((one) => `${one}.useReadOnly`)),
    ...((body.backends ?? []).length > 0 ? needs('instanceGroups.use') : []),
  ];
}
