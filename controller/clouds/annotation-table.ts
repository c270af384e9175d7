import type { AnnotationDefinition } from './load-balancers.ts';

/** What each annotation takes and means, by its name without the prefix. */
export type AnnotationTable = Readonly<Record<string, readonly [values: string, meaning: string]>>;

export function annotationsOf(prefix: string, table: AnnotationTable): AnnotationDefinition[] {
  return Object.entries(table).map(([name, [values, meaning]]) => ({ key: prefix + name, values, meaning }));
}

/** As AnnotationTable, with the whole key in each row, by the name that it has in the code. */
export type NamedAnnotations<Name extends string> = Readonly<
  Record<Name, readonly [key: string, values: string, meaning: string]>
>;

export function keysOf<Name extends string>(table: NamedAnnotations<Name>): Readonly<Record<Name, string>> {
  const entries = Object.entries<readonly [key: string, ...unknown[]]>(table);
  return Object.fromEntries(entries.map(([name, [key]]) => [name, key])) as Record<Name, string>;
}

export function namedAnnotations<Name extends string>(table: NamedAnnotations<Name>): AnnotationDefinition[] {
  return Object.values<readonly [string, string, string]>(table).map(([key, values, meaning]) => {
    return { key, values, meaning };
  });
}
