import type { JsonObject } from '../json.ts';
import type { Registry } from '../kinds/registry.ts';
import { groupVersion, type Resource } from '../store/resource.ts';

function prefix(version: string): string {
  return version.includes('/') ? `apis/${version}` : `api/${version}`;
}

/** `/openapi/v3`: where the document of each group version lies. */
export function openApiIndex(registry: Registry): JsonObject {
  const paths = registry.groupVersions.map((version) => [
    prefix(version),
    { serverRelativeURL: `/openapi/v3/${prefix(version)}?hash=1` },
  ]);
  return { paths: Object.fromEntries(paths) };
}

/**
 * What kubectl looks for before it creates or applies: that writes take `fieldValidation` and `dryRun`, and the type of
 * each object. Bodies are left open, so the server alone judges them. Strategic merge is not listed, so that kubectl
 * takes merge keys from its built-in types; the server accepts it all the same.
 */
export function openApiDocument(registry: Registry, version: string): JsonObject | undefined {
  if (!registry.groupVersions.includes(version)) return undefined;
  const resources = registry.all.filter((one) => groupVersion(one) === version);
  const paths: JsonObject = {};
  const schemas: JsonObject = {};
  for (const resource of resources) {
    const home = resource.namespaced ? '/namespaces/{namespace}' : '';
    const collection = `/${prefix(version)}${home}/${resource.plural}`;
    paths[collection] = { get: operation(resource, 'list'), post: operation(resource, 'post') };
    paths[`${collection}/{name}`] = {
      get: operation(resource, 'get'),
      put: operation(resource, 'put'),
      patch: operation(resource, 'patch'),
      delete: operation(resource, 'delete'),
    };
    schemas[schemaName(resource)] = {
      type: 'object',
      properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: open },
      'x-kubernetes-preserve-unknown-fields': true,
      'x-kubernetes-group-version-kind': [typeOf(resource)],
    };
  }
  const info = { title: 'Kubernetes', version: 'v1.36.2' };
  return { openapi: '3.0.0', info, paths, components: { schemas } };
}

const open: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function typeOf({ group, version, kind }: Resource): JsonObject {
  return { group, version, kind };
}

function schemaName(resource: Resource): string {
  const group = resource.group === '' ? 'core' : resource.group.replace(/\..*$/, '');
  return `io.k8s.api.${group}.${resource.version}.${resource.kind}`;
}

function operation(resource: Resource, action: string): JsonObject {
  const parameters = ['dryRun', 'fieldManager', 'fieldValidation'].map((name) => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  }));
  const schema = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const writes = action === 'post' || action === 'put' || action === 'patch';
  const types =
    action === 'patch'
      ? ['application/json-patch+json', 'application/merge-patch+json']
      : ['application/json', 'application/yaml'];
  const content = Object.fromEntries(types.map((type) => [type, { schema: action === 'patch' ? open : schema }]));
  return {
    ...(writes ? { parameters, requestBody: { content, required: true } } : {}),
    responses: { 200: { description: 'OK', content: { 'application/json': { schema } } } },
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': typeOf(resource),
  };
}
