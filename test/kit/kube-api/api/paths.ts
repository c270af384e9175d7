import { methodNotAllowed, noSuchPath } from '../api-error.ts';
import { headerOf } from '../auth/authenticate.ts';
import type { JsonObject } from '../json.ts';
import type { Registry } from '../kinds/registry.ts';
import { aggregatedDiscovery, apiGroup, coreVersions, groupList, resourceList } from '../view/discovery.ts';
import { openApiDocument, openApiIndex } from '../view/openapi.ts';
import type { ApiAnswer, ApiRequest } from './answer.ts';

const version: JsonObject = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.2+mooring-sandbox',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'none',
  platform: 'linux/amd64',
};

function json(body: JsonObject, type = 'application/json'): ApiAnswer {
  return { status: 200, headers: { 'content-type': type }, warnings: [], body: JSON.stringify(body) };
}

function discovery(registry: Registry, core: boolean, accept: string): ApiAnswer {
  for (const entry of accept.split(',')) {
    const wanted = /v=(v2|v2beta1)(?:;|$)/.exec(entry.replaceAll(' ', ''))?.[1];
    if (wanted === undefined || !entry.includes('as=APIGroupDiscoveryList')) continue;
    const type = `application/json;g=apidiscovery.k8s.io;v=${wanted};as=APIGroupDiscoveryList`;
    return json(aggregatedDiscovery(registry, core, wanted), type);
  }
  return json(core ? coreVersions('127.0.0.1') : groupList(registry));
}

function bodyOf(registry: Registry, path: string): JsonObject | undefined {
  if (path === '/version') return version;
  if (path === '/api/v1') return resourceList(registry, 'v1');
  if (path === '/openapi/v3') return openApiIndex(registry);
  const document = /^\/openapi\/v3\/apis?\/(.+)$/.exec(path)?.[1];
  if (document !== undefined) return openApiDocument(registry, document);
  const [, group, rest] = /^\/apis\/([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
  if (group === undefined) return undefined;
  return rest === undefined ? apiGroup(registry, group) : resourceList(registry, `${group}/${rest}`);
}

/** Answers the paths that are no resources: health, version, discovery, OpenAPI. Throws 404 and 405. */
export function answerPath(registry: Registry, request: ApiRequest): ApiAnswer {
  const path = request.path.length > 1 ? request.path.replace(/\/$/, '') : request.path;
  if (/^\/(livez|readyz|healthz)(\/|$)/.test(path)) {
    return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, warnings: [], body: 'ok' };
  }
  if (request.method !== 'GET') throw methodNotAllowed();
  if (path === '/api' || path === '/apis') {
    return discovery(registry, path === '/api', headerOf(request.headers, 'accept') ?? '');
  }
  const body = bodyOf(registry, path);
  if (body === undefined) throw noSuchPath();
  return json(body);
}
