import type { JsonObject } from '../json.ts';
import { decode } from '../schema/decode.ts';
import { groupVersion, type Resource } from '../store/resource.ts';
import type { Change, Stored } from '../store/store.ts';
import { encodeObject } from './encode.ts';
import { columnDefinitions, tableRow } from './table.ts';
import type { View } from './view.ts';

/** One line of a watch, with its newline. The bytes are made once, however many readers there are. */
export interface WatchLine {
  readonly text: string;
  bytes(): Buffer;
}

export interface WatchEncoder {
  change(type: 'ADDED' | 'MODIFIED' | 'DELETED', change: Change): WatchLine;
  initial(stored: Stored): WatchLine;
  bookmark(revision: number, initialEnd: boolean): WatchLine;
  expired(asked: number, oldest: number): WatchLine;
}

function line(type: string, object: string): WatchLine {
  let buffer: Buffer | undefined;
  return {
    // Put together when asked for: most readers want only one of both forms.
    get text() {
      return `{"type":"${type}","object":${object}}\n`;
    },
    bytes() {
      buffer ??= Buffer.from(this.text);
      return buffer;
    },
  };
}

/** An object that stops matching is told as it was before, at the revision of the change. */
function subject(type: string, change: Change): Stored {
  if (type !== 'DELETED' || change.type === 'DELETED' || !change.previous) return change.object;
  const value = change.previous.value;
  const metadata = { ...(value['metadata'] as JsonObject), resourceVersion: String(change.revision) };
  const moved = { ...value, metadata };
  return { ...change.previous, revision: change.revision, value: moved, json: JSON.stringify(moved) };
}

/** Lines of plain objects, shared by all watchers of one resource. */
export function createLineCache(): (resource: Resource, type: string, change: Change) => WatchLine {
  const cache = new WeakMap<Change, Map<string, WatchLine>>();
  return (resource, type, change) => {
    let lines = cache.get(change);
    if (!lines) {
      lines = new Map();
      cache.set(change, lines);
    }
    const id = `${type} ${groupVersion(resource)}`;
    let found = lines.get(id);
    if (!found) {
      found = line(type, encodeObject(resource, subject(type, change)));
      lines.set(id, found);
    }
    return found;
  };
}

/** How one watch writes its lines, in the shape its client asked for. */
export function watchEncoder(
  resource: Resource,
  view: View,
  now: () => number,
  cached: (resource: Resource, type: string, change: Change) => WatchLine,
): WatchEncoder {
  let headed = false;

  function shape(stored: Stored): string {
    if (view.as === 'object') return encodeObject(resource, stored);
    if (view.as === 'partial') return encodeObject(resource, stored, 'PartialObjectMetadata');
    return table([tableRow(resource, stored, view, now())], stored.revision);
  }

  function table(rows: JsonObject[], revision: number): string {
    const columns = headed ? null : columnDefinitions(resource);
    headed = true;
    const metadata = { resourceVersion: String(revision) };
    return JSON.stringify({ kind: 'Table', apiVersion: 'meta.k8s.io/v1', metadata, columnDefinitions: columns, rows });
  }

  function bookmarkObject(revision: number, initialEnd: boolean): string {
    const annotations = initialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {};
    const metadata: JsonObject = { resourceVersion: String(revision), ...annotations };
    if (view.as === 'table') {
      const row = { cells: [], object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata } };
      return table([row], revision);
    }
    const partial = view.as === 'partial';
    const kind = partial ? 'PartialObjectMetadata' : resource.kind;
    const apiVersion = partial ? 'meta.k8s.io/v1' : groupVersion(resource);
    const zero = partial ? {} : decode(resource.schema, {}).value;
    return JSON.stringify({ kind, apiVersion, ...zero, metadata: { ...metadata } });
  }

  return {
    change: (type, change) =>
      view.as === 'object' ? cached(resource, type, change) : line(type, shape(subject(type, change))),
    initial: (stored) => line('ADDED', shape(stored)),
    bookmark: (revision, initialEnd) => line('BOOKMARK', bookmarkObject(revision, initialEnd)),
    expired: (asked, oldest) =>
      line(
        'ERROR',
        JSON.stringify({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          message: `too old resource version: ${asked} (${oldest})`,
          reason: 'Expired',
          code: 410,
        }),
      ),
  };
}
