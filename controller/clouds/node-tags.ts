import type { ApplyOptions } from './permit.ts';

/** Tags: value by key. */
export type Tags = Readonly<Record<string, string>>;

/**
 * The tags of instances, where a cloud lets them be changed. What an instance has is part of its lookup
 * (`Instance.tags`).
 */
export interface NodeTags {
  /** Most instances of one call. */
  readonly batchSize: number;
  /** What a tag of this cloud has to be, where this one is none; undefined: it can be written. Pure. */
  expected(key: string, value: string): string | undefined;
  /**
   * Sets these tags on these instances, in one mutating call; other tags stay. A tag of the same key with another value
   * gets this one. The call is for all instances or none: a refusal does not say which of them it is about. Safe to
   * repeat. Throws a CloudError (`NotFound`: one of them does not exist) or a WithheldError.
   *
   * @param instances providerIDs, at most `batchSize`
   */
  set(instances: readonly string[], tags: Tags, options: ApplyOptions): Promise<void>;
  /**
   * Removes these tags from these instances, in one mutating call; one with another value stays, and one that is not
   * there is no failure. Otherwise as `set`.
   */
  remove(instances: readonly string[], tags: Tags, options: ApplyOptions): Promise<void>;
}
