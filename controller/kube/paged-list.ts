import { isKubeError, type KubeApi, KubeError } from './api.ts';
import type { RawObject } from './object-cache.ts';

/** The deadline of one page; the server's own limit is 60 s. */
const pageTimeoutMs = 60_000;
/** About three minutes of back-off, within the five that a continue token lives. */
const triesOfAPage = 10;

export interface PagedList {
  readonly api: KubeApi;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly pageSize: number;
  readonly unread: readonly string[];
  readonly signal: AbortSignal;
  /** Called with the raw objects of each page, which are not kept. */
  onPage(items: readonly unknown[]): void;
  /** Waits before a page is requested again. Default: no page is. */
  readonly pause?: (error: unknown, tries: number) => Promise<void>;
}

/**
 * Reads a collection page by page, all at one version, and returns that version. Requests the newest state (a list from
 * the server's cache would ignore the limit). With `pause` a page after the first is requested again while the server
 * is overloaded or not reached: a long list from an overloaded server would otherwise never be whole. Throws a
 * KubeError; 410 when the version expired between two pages, and then the whole list is invalid.
 */
export async function readPages(list: PagedList): Promise<string> {
  const { api, path, query, pageSize, unread, signal, onPage, pause } = list;
  let next: string | undefined;
  let version = '';

  async function readPage(): Promise<unknown> {
    const paged = { ...query, limit: String(pageSize), ...(next === undefined ? {} : { continue: next }) };
    for (let tries = 1; ; tries += 1) {
      try {
        return await api.call({ verb: 'list', path, query: paged, timeoutMs: pageTimeoutMs, unread, signal });
      } catch (error) {
        if (!pause || next === undefined || tries === triesOfAPage || signal.aborted || !mayPass(error)) throw error;
        await pause(error, tries);
      }
    }
  }

  do {
    const page = await readPage();
    const { items, metadata } = page as { readonly items?: unknown; readonly metadata?: Record<string, unknown> };
    const resourceVersion = metadata?.['resourceVersion'];
    if (typeof resourceVersion !== 'string') throw unreadable(path, 'a list without metadata.resourceVersion');
    // A Go server encodes an empty list as null.
    if (items !== null && !Array.isArray(items)) throw unreadable(path, 'a list without items');
    onPage(items ?? []);
    version = resourceVersion;
    const more = metadata?.['continue'];
    next = typeof more === 'string' && more !== '' ? more : undefined;
  } while (next !== undefined);
  return version;
}

/** Overloaded, failing or not reached. */
function mayPass(error: unknown): boolean {
  return isKubeError(error) && (error.status === 429 || error.status >= 500 || error.status === 0);
}

/** The error for an answer that violates the API. */
export function unreadable(path: string, message: string): KubeError {
  return new KubeError({ status: 0, reason: 'Unreadable', message: `${path}: ${message}` });
}

/** Validates the metadata that every object has. Throws a KubeError. */
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

/** The metadata fields of an object; empty strings count as absent. */
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
