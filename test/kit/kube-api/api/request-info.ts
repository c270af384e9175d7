import { parseFieldSelector } from '../selectors/field-selector.ts';
import { readFlag } from './write-options.ts';

export type RequestInfo = ResourceRequest | PathRequest;

export interface PathRequest {
  readonly kind: 'path';
  readonly verb: string;
  readonly path: string;
}

export interface ResourceRequest {
  readonly kind: 'resource';
  /** get, list, watch, create, update, patch, delete, deletecollection. */
  readonly verb: string;
  readonly method: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

const verbs: Record<string, string> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** What a method and path ask for. Nothing is looked up: unknown resources are resource requests too. */
export function readRequest(method: string, path: string, query: URLSearchParams): RequestInfo {
  const parts = path.split('/').slice(1);
  if (parts.at(-1) === '') parts.pop();
  const plain: PathRequest = { kind: 'path', verb: (method === 'GET' ? 'get' : method).toLowerCase(), path };
  const core = parts[0] === 'api';
  if ((!core && parts[0] !== 'apis') || parts.includes('')) return plain;
  const rest = parts.slice(core ? 2 : 3).map(decodeURIComponent);
  if (rest.length === 0) return plain;
  const group = core ? '' : (parts[1] ?? '');
  const version = (core ? parts[1] : parts[2]) ?? '';
  let namespace = '';
  let [resource = '', name = '', subresource = ''] = rest;
  // A namespace's own subresources look like a namespaced collection.
  if (resource === 'namespaces' && rest.length > 1) {
    namespace = name;
    if (rest.length > 2 && !['status', 'finalize'].includes(rest[2] ?? '')) {
      [, , resource = '', name = '', subresource = ''] = rest;
    }
  }
  let verb = verbs[method] ?? (method === 'GET' || method === 'HEAD' ? 'get' : method.toLowerCase());
  if (name === '' && (verb === 'get' || verb === 'delete')) {
    verb = verb === 'delete' ? 'deletecollection' : readFlag(query, 'watch') ? 'watch' : 'list';
    // Selecting one object by name counts as naming it.
    const selected = nameSelected(query);
    if (selected !== undefined) name = selected;
  } else if (verb === 'get' && readFlag(query, 'watch')) verb = 'watch';
  return { kind: 'resource', verb, method, group, version, namespace, resource, name, subresource };
}

function nameSelected(query: URLSearchParams): string | undefined {
  const selector = query.get('fieldSelector') ?? '';
  if (!selector.includes('metadata.name')) return undefined;
  try {
    return parseFieldSelector(selector).find((term) => term.field === 'metadata.name' && term.equal)?.value;
  } catch {
    return undefined;
  }
}
