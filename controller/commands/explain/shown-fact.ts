type Value = string | number | boolean | null | readonly Value[] | { readonly [key: string]: Value };

/** One fact of an explanation, for programs and for people. */
export interface ShownFact {
  /** Times in ISO 8601; null: unset, or it may not be read. */
  readonly value: Value;
  readonly label: string;
  readonly text: string;
}

/** By key in camel case, in the order of the output. */
export type Facts = Readonly<Record<string, ShownFact>>;

/** A fact whose text is its value, or `empty` where there is none. */
export function fact(label: string, value: string | undefined, empty: string): ShownFact {
  return { label, value: value || null, text: value || empty };
}

/** Replaces the text of a fact that this credential may not read. */
export const unreadable = 'may not be read';

export function unreadableFact(label: string): ShownFact {
  return { label, value: null, text: unreadable };
}

/** A moment, as ISO 8601 and as its age. */
export function since(label: string, time: string | undefined, nowMs: number): ShownFact {
  const age = secondsSince(time, nowMs);
  if (time === undefined || age === undefined) return { label, value: null, text: 'never' };
  return { label, value: new Date(time).toISOString(), text: `${age} s ago` };
}

/** Undefined: no moment. */
export function secondsSince(time: string | undefined, nowMs: number): number | undefined {
  const at = Date.parse(time ?? '');
  return Number.isNaN(at) ? undefined : Math.max(0, Math.round((nowMs - at) / 1000));
}
