/** What an informer tells its handlers. Handlers only enqueue: they return at once and never throw. */
export type InformerEvent<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T }
  | { readonly type: 'updated'; readonly key: string; readonly old: T; readonly object: T }
  /** Also sent, followed by `added`, when an object came back under the same name with another uid. */
  | { readonly type: 'deleted'; readonly key: string; readonly old: T };

/** A read-only cache of one resource, kept current by list and watch. Objects are trimmed copies and never changed in place. */
export interface Informer<T> {
  /** True after the first complete list, and for ever after. */
  readonly synced: boolean;
  /** Resolves when synced; rejects when stopped before. */
  whenSynced(): Promise<void>;
  /** By name, or `namespace/name`. */
  get(key: string): T | undefined;
  values(): Iterable<T>;
  readonly size: number;
  /** Monotonic milliseconds since the server was last heard of (an event, a bookmark, a list or an orderly end of a watch). */
  stalenessMs(): number;
  subscribe(handler: (event: InformerEvent<T>) => void): void;
}
