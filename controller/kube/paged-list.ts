import { type KubeApi, KubeError } from './api.ts';
import type { RawObject } from './object-cache.ts';

/** One page must come within this; the server's own limit is 60 s. */
const pageTimeoutMs = 60_000;

export interface PagedList {
  readonly api: KubeApi;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly pageSize: number;
  readonly unread: readonly string[];
  readonly signal: AbortSignal;
  /** Called with each page's raw objects, which are dropped afterwards. */
  onPage(items: readonly unknown[]): void;
}

/**
 * Reads a collection page by page, all as of one version, and answers that version. Asks for the newest state (a list from the server's cache would ignore the
 * limit). Throws a KubeError; 410 when the history was dropped between two pages, and then the whole list is void.
 */
export async function readPages({ api, path, query, pageSize, unread, signal, onPage }: PagedList): Promise<string> {
  let next: string | undefined;
  let version = '';
  do {
    const page = await api.call<unknown>({
      verb: 'list',
      path,
      query: { ...query, limit: String(pageSize), ...(next === undefined ? {} : { continue: next }) },
      timeoutMs: pageTimeoutMs,
      unread,
      signal,
    });
    const { items, metadata } = page as { readonly items?: unknown; readonly metadata?: Record<string, unknown> };
    const resourceVersion = metadata?.['resourceVersion'];
    if (typeof resourceVersion !== 'string') throw unreadable(path, 'a list without metadata.resourceVersion');
    // A Go server writes an empty list as null.
    if (items !== null && !Array.isArray(items)) throw unreadable(path, 'a list without items');
    onPage(items ?? []);
    version = resourceVersion;
    const more = metadata?.['continue'];
    next = typeof more === 'string' && more !== '' ? more : undefined;
  } while (next !== undefined);
  return version;
}

/** An answer that is not what the API promises. */
export function unreadable(path: string, message: string): KubeError {
  return new KubeError({ status: 0, reason: 'Unreadable', message: `${path}: ${message}` });
}

/** Checks what every object carries. Throws a KubeError. */
export function checkedObject(
  path: string,
  raw: unknown,
  keyOf: (raw: { readonly name: string; readonly namespace: string | undefined }) => string,
): RawObject {
  const { name, namespace, uid, resourceVersion } = metadataOf(raw);
  if (name === undefined || uid === undefined || resourceVersion === undefined) {
    throw unreadable(path, `an object without metadata.name, uid or resourceVersion (name: ${name ?? 'none'})`);
  }
  return { key: keyOf({ name, namespace }), uid, resourceVersion, raw };
}

/** What of its metadata an object has; empty strings count as absent. */
export function metadataOf(raw: unknown): {
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
} {
  const metadata = (raw as { readonly metadata?: Readonly<Record<string, unknown>> | null } | null)?.metadata;
  const text = (name: string) => {
    const value = metadata?.[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    name: text('name'),
    namespace: text('namespace'),
    uid: text('uid'),
    resourceVersion: text('resourceVersion'),
  };
}
