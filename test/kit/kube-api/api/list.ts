import { ApiError, badRequest, expired, type FieldError, invalid } from '../api-error.ts';
import { notSupported } from '../field-error.ts';
import { at, isObject, type JsonObject, objectOf, parseJson } from '../json.ts';
import { checkFields, type FieldTerm, matchesFields, parseFieldSelector } from '../selectors/field-selector.ts';
import { type LabelSelector, parseLabelSelector } from '../selectors/label-selector.ts';
import type { Resource } from '../store/resource.ts';
import type { Stored } from '../store/store.ts';
import { collectionOf, type Target } from './target.ts';
import { readFlag, readInteger } from './write-options.ts';

/** Which objects a list or watch is about. */
export interface Selection {
  readonly namespace: string;
  readonly labels: LabelSelector;
  readonly fields: readonly FieldTerm[];
  /** Everything in the namespace, so what remains can be counted. */
  readonly all: boolean;
  matches(stored: Stored): boolean;
}

export interface Page {
  readonly revision: number;
  readonly items: readonly Stored[];
  readonly next: string | undefined;
  readonly remaining: number | undefined;
}

function selectable(resource: Resource, stored: Stored | undefined): Record<string, string> {
  const common = { 'metadata.name': stored?.name ?? '', 'metadata.namespace': stored?.namespace ?? '' };
  return { ...common, ...resource.fields(stored?.value ?? {}) };
}

/** Reads `labelSelector` and `fieldSelector`. Throws 400. */
export function readSelection({ resource, namespace, name }: Target, query: URLSearchParams): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '');
  checkFields(fields, selectable(resource, undefined));
  const one = name !== '' ? name : fields.find((term) => term.field === 'metadata.name' && term.equal)?.value;
  const matches = (stored: Stored) =>
    (namespace === '' || stored.namespace === namespace) &&
    (one === undefined || stored.name === one) &&
    (labels === undefined || labels(objectOf(at(stored.value, 'metadata', 'labels')))) &&
    (fields.length === 0 || matchesFields(fields, selectable(resource, stored)));
  return { namespace, labels, fields, all: labels === undefined && fields.length === 0 && name === '', matches };
}

function readRevision(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: ` +
        `parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

/** Refuses combinations of options that mean nothing. Throws 422, kind ListOptions. */
export function checkListOptions(query: URLSearchParams): void {
  const errors: FieldError[] = [];
  const match = query.get('resourceVersionMatch') ?? '';
  const watching = readFlag(query, 'watch');
  const initial = query.has('sendInitialEvents');
  const forbidden = (field: string, message: string) =>
    errors.push({ reason: 'FieldValueForbidden', field, message: `Forbidden: ${message}` });
  if (match !== '' && match !== 'Exact' && match !== 'NotOlderThan') {
    errors.push(notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
  } else if (watching && initial && match !== 'NotOlderThan') {
    forbidden('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  } else if (watching && match !== '' && !initial) {
    forbidden(
      'resourceVersionMatch',
      'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
    );
  } else if (!watching && match !== '' && (query.get('resourceVersion') ?? '') === '') {
    forbidden('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
  } else if (!watching && match === 'Exact' && query.get('resourceVersion') === '0') {
    forbidden('resourceVersionMatch', 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  }
  if (!watching && initial) forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list');
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
}

interface Token {
  /** -1 = go on from the present state. */
  readonly revision: number;
  readonly start: string;
}

function writeToken(token: Token): string {
  const text = JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.start });
  return Buffer.from(text).toString('base64url');
}

function readToken(text: string): Token {
  try {
    const value = parseJson(Buffer.from(text, 'base64url').toString('utf8'));
    const revision = isObject(value) ? value['rv'] : undefined;
    const start = isObject(value) ? value['start'] : undefined;
    if (typeof revision === 'number' && typeof start === 'string') return { revision, start };
  } catch {
    // Told apart below: whatever is wrong with it, the token cannot be read.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}

const expiredPage =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

/** One page, or everything. Throws 400, 410 for a moment no longer held, 504 for a revision from the future. */
export function list(target: Target, selection: Selection, query: URLSearchParams): Page {
  const { store } = target.world;
  const collection = collectionOf(target);
  const revision = readRevision(query);
  const asked = Math.max(0, readInteger(query, 'limit') ?? 0);
  const token = query.get('continue') ?? '';
  if (token !== '') {
    if (revision !== undefined && revision !== 0) {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const { revision: from, start } = readToken(token);
    const moment = from < 0 ? store.revision : from;
    const items = store.at(collection, moment);
    if (!items) throw expired(expiredPage, { continue: writeToken({ revision: -1, start }) });
    return page(items, start, asked, moment, selection);
  }
  if (revision !== undefined && revision > store.revision) throw fromTheFuture(revision, store.revision);
  const match = query.get('resourceVersionMatch') ?? '';
  const exact = match === 'Exact' || (match === '' && asked > 0 && revision !== undefined && revision > 0);
  const moment = exact && revision !== undefined ? revision : store.revision;
  const items = store.at(collection, moment);
  if (!items) throw expired('The resourceVersion for the provided list is too old.');
  return page(items, '', revision === 0 ? 0 : asked, moment, selection);
}

function fromTheFuture(wanted: number, current: number): ApiError {
  const message = `Too large resource version: ${wanted}, current: ${current}`;
  const details: JsonObject = {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  };
  return new ApiError(504, 'Timeout', `Timeout: ${message}`, {
    details,
    headers: { 'retry-after': '1' },
    delayMs: 3_000,
  });
}

function page(items: readonly Stored[], start: string, limit: number, revision: number, selection: Selection): Page {
  const { namespace } = selection;
  const first = start === '' && namespace !== '' ? `${namespace}/` : start;
  let index = first === '' ? 0 : firstFrom(items, first);
  // The character after '/': everything of the namespace sorts before it.
  const end = namespace === '' ? items.length : firstFrom(items, `${namespace}0`);
  const found: Stored[] = [];
  for (; index < end; index += 1) {
    const item = items[index];
    if (!item || !selection.matches(item)) continue;
    if (limit > 0 && found.length === limit) {
      const last = found.at(-1)?.key ?? '';
      const next = writeToken({ revision, start: `${last}\u0000` });
      return { revision, items: found, next, remaining: selection.all ? end - index : undefined };
    }
    found.push(item);
  }
  return { revision, items: found, next: undefined, remaining: undefined };
}

function firstFrom(items: readonly Stored[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((items[middle]?.key ?? '') < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
