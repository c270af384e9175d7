/** The events of an informer. Handlers only enqueue: they return at once and never throw. */
export type InformerEvent<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T }
  | { readonly type: 'updated'; readonly key: string; readonly old: T; readonly object: T }
  /** Also sent, followed by `added`, when an object was re-created under the same name with another uid. */
  | { readonly type: 'deleted'; readonly key: string; readonly old: T };

/**
 * A read-only cache of one resource, updated by list and watch. Objects are trimmed copies and never changed in place.
 */
export interface Informer<T> {
  /** True from the first complete list on. */
  readonly synced: boolean;
  /** Resolves when synced; rejects when stopped earlier. */
  whenSynced(): Promise<void>;
  /** By name, or `namespace/name`. */
  get(key: string): T | undefined;
  values(): Iterable<T>;
  readonly size: number;
  /** Milliseconds since the last sign of the server (an event, a bookmark, a list or a clean end of a watch). */
  stalenessMs(): number;
  subscribe(handler: (event: InformerEvent<T>) => void): void;
}
