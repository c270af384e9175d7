/** Reading foreign JSON: each answers undefined where the value is not of the kind asked for. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

export function listOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

/** A string that is not empty. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The objects of a list; what is none is left out, as is a list that is none. */
export function objectsOf(value: unknown): JsonObject[] {
  return (listOf(value) ?? []).map(objectOf).filter((one) => one !== undefined);
}

/** The strings of a list that are not empty. */
export function textsOf(value: unknown): string[] {
  return (listOf(value) ?? []).map(textOf).filter((one) => one !== undefined);
}

/** What the objects of a list have in this field, where it is a string that is not empty. */
export function fieldsOf(value: unknown, field: string): string[] {
  return textsOf(objectsOf(value).map((one) => one[field]));
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
