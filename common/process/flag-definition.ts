/**
 * | kind | written | value |
 * |---|---|---|
 * | string | any text | string |
 * | bool | `--f`, `--f=false` | boolean, false by default |
 * | int, number | `5`, `2.5` | number |
 * | duration | `1m30s` | number of milliseconds |
 * | list | `a,b`, repeated or both | strings, empty by default |
 * | repeat | repeated; commas belong to the text | strings, empty by default |
 *
 * A bool, and every flag with a `bare` value, accepts a value only after `=`.
 */
export type FlagKind = 'string' | 'bool' | 'int' | 'number' | 'duration' | 'list' | 'repeat';

/** One flag, as data for parsing, help and the reference page. */
export interface FlagDefinition {
  readonly kind: FlagKind;
  /** As written on the command line: a duration is text (`'60s'`). */
  readonly default?: string | number | boolean | readonly string[];
  /** One sentence for people, without the default. */
  readonly help: string;
  /** An environment variable that replaces a missing flag, unless it is empty. */
  readonly env?: string;
  /** One letter. */
  readonly short?: string;
  /** The allowed values; of a list, for each element. */
  readonly choices?: readonly string[];
  /** The value of the flag when it is given without one; it then never uses the next argument as its value. */
  readonly bare?: string;
  readonly required?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** An additional check of each value: returns what was expected; undefined for a valid value. Pure. */
  readonly check?: (text: string) => string | undefined;
  /** The flag is accepted with a warning with this reason. */
  readonly ignored?: string;
  /** The flag is an error with this reason, unless its value is the default. */
  readonly refused?: string;
}

/** By name, without dashes in front: `'node-name'`. */
export type FlagDefinitions = Readonly<Record<string, FlagDefinition>>;

type Camel<S extends string> = S extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : S;

type Text<F extends FlagDefinition> = F['choices'] extends readonly (infer C)[] ? C : string;

type Present<F extends FlagDefinition> = F extends { readonly default: unknown } | { readonly required: true }
  ? never
  : undefined;

type ValueOf<F extends FlagDefinition> = F['kind'] extends 'bool'
  ? boolean
  : F['kind'] extends 'list' | 'repeat'
    ? readonly Text<F>[]
    : F['kind'] extends 'int' | 'number' | 'duration'
      ? number | Present<F>
      : Text<F> | Present<F>;

/**
 * The values of a set of flags, by their names in camel case; undefined for a flag that was not given and has no
 * default.
 */
export type FlagValues<D extends FlagDefinitions> = {
  readonly [N in keyof D & string as Camel<N>]: ValueOf<D[N]>;
};

/** `node-name` is `nodeName`. */
export function keyOf(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
