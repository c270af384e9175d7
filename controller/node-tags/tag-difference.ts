import type { Tags } from '../clouds/node-tags.ts';

/** How an instance's tags differ from the desired ones. */
export interface TagDifference {
  /** Keys of desired tags that it has not. */
  readonly missing: readonly string[];
  /** Desired tags that it has with another value. */
  readonly differing: readonly { readonly key: string; readonly value: string }[];
}

/** Undefined: it has them all. Other tags do not count. Pure. */
export function tagDifference(desired: Tags, held: Tags): TagDifference | undefined {
  const missing: string[] = [];
  const differing: { readonly key: string; readonly value: string }[] = [];
  for (const [key, value] of Object.entries(desired)) {
    if (!Object.hasOwn(held, key)) missing.push(key);
    else if (held[key] !== value) differing.push({ key, value: held[key]! });
  }
  return missing.length + differing.length === 0 ? undefined : { missing, differing };
}

/** Whether it has any of the desired tags with the desired value. Pure. */
export function hasAnyTag(desired: Tags, held: Tags): boolean {
  return Object.entries(desired).some(([key, value]) => Object.hasOwn(held, key) && held[key] === value);
}
