import type { Page } from '../api/list.ts';
import { ApiError } from '../api-error.ts';
import { type JsonObject, objectOf } from '../json.ts';
import { groupVersion, type Resource } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import { columnDefinitions, tableRow } from './table.ts';
import type { View } from './view.ts';

/** Chooses by `Accept` and `includeObject`. Throws 406 when no entry, or the first known form, can be served. */
export function chooseView(accept: string | undefined, query: URLSearchParams, verb: string): View {
  const asked = query.get('includeObject');
  const include = asked === 'Object' || asked === 'None' ? asked : 'Metadata';
  if (accept === undefined || accept.trim() === '') return { as: 'object', include };
  for (const entry of accept.split(',')) {
    const [type = '', ...parameters] = entry.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(type.toLowerCase())) continue;
    const as = parameters.find((one) => one.startsWith('as='))?.slice(3);
    if (as === undefined) return { as: 'object', include };
    const ours = parameters.includes('g=meta.k8s.io') && parameters.includes('v=v1');
    if (!ours) continue;
    if (as === 'Table') return { as: 'table', include };
    // The first known form decides, whether it fits or not.
    if (as === (verb === 'list' ? 'PartialObjectMetadataList' : 'PartialObjectMetadata'))
      return { as: 'partial', include };
    if (as.startsWith('PartialObjectMetadata')) break;
  }
  const forms = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
  throw new ApiError(
    406,
    'NotAcceptable',
    `406: Not Acceptable

Available representations: ${forms.join(', ')}`,
    {
      details: {},
    },
  );
}

function body(resource: Resource, stored: Stored): string {
  return resource.conversion ? JSON.stringify(resource.conversion.fromStored(stored.value)) : stored.json;
}

/** One object with its type. */
export function encodeObject(resource: Resource, stored: Stored, as?: 'PartialObjectMetadata'): string {
  if (as !== undefined) {
    const metadata = objectOf(stored.value['metadata']);
    return JSON.stringify({ kind: as, apiVersion: 'meta.k8s.io/v1', metadata });
  }
  return `{"kind":"${resource.kind}","apiVersion":"${groupVersion(resource)}",${body(resource, stored).slice(1)}`;
}

/** The answer to a get or a write. */
export function encodeOne(resource: Resource, stored: Stored, view: View, now: number): string {
  if (view.as === 'object') return encodeObject(resource, stored);
  if (view.as === 'partial') return encodeObject(resource, stored, 'PartialObjectMetadata');
  return table(resource, { resourceVersion: String(stored.revision) }, [stored], view, now);
}

function table(resource: Resource, metadata: JsonObject, items: readonly Stored[], view: View, now: number): string {
  return JSON.stringify({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columnDefinitions(resource),
    rows: items.map((item) => tableRow(resource, item, view, now)),
  });
}

/** The answer to a list: items carry no type of their own, and are not serialised again. */
export function encodeList(resource: Resource, page: Page, view: View, now: number): string {
  const metadata: JsonObject = { resourceVersion: String(page.revision) };
  if (page.next !== undefined) metadata['continue'] = page.next;
  if (page.remaining !== undefined) metadata['remainingItemCount'] = page.remaining;
  if (view.as === 'table') return table(resource, metadata, page.items, view, now);
  if (view.as === 'partial') {
    const items = page.items.map((item) => ({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: objectOf(item.value['metadata']),
    }));
    return JSON.stringify({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items });
  }
  const items = page.items.map((item) => body(resource, item)).join(',');
  const head = `{"kind":"${resource.kind}List","apiVersion":"${groupVersion(resource)}"`;
  return `${head},"metadata":${JSON.stringify(metadata)},"items":[${items}]}`;
}
