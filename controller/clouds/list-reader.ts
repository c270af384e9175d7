import type { Found, Query, Reader } from '../engine/resource.ts';
import type { Urgency } from './urgency.ts';

export interface Reading {
  readonly urgency: Urgency;
  readonly signal: AbortSignal | undefined;
}

export interface ListReaderOptions extends Pick<Reader, 'kinds' | 'isUnknown' | 'detail'> {
  /** Form of the ids that can be asked for, by kind. */
  readonly ids: Readonly<Record<string, RegExp>>;
  /** Complete, or throws a CloudError. @param query undefined: everything of the cluster is read */
  list(cluster: string, reading: Reading, query?: Query): Promise<readonly Found[]>;
  /** Those that exist, with their parts. Throws a CloudError. */
  byIds(ids: readonly string[], reading: Reading): Promise<readonly Found[]>;
}

/** Reads by a list, and by ids, which may be newer than the list. */
export function readerOf({ ids: forms, list, byIds, ...reader }: ListReaderOptions): Reader {
  return {
    ...reader,
    all: (cluster, { signal }) => list(cluster, { urgency: 'refresh', signal }),
    async of(query, { signal }) {
      const reading: Reading = { urgency: 'need', signal };
      const listed = query.search ? await list(query.owner.cluster, reading, query) : [];
      // A record that users can write may name anything.
      const ids = query.ids.filter(({ kind, id }) => forms[kind]?.test(id)).map(({ id }) => id);
      const read = await byIds(ids, reading);
      const newer = new Set([...ids, ...read.map(({ id }) => id)]);
      return { found: [...read, ...listed.filter(({ id, within = '' }) => !newer.has(id) && !newer.has(within))] };
    },
  };
}
