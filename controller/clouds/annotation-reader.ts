/** Reads the annotations of one Service; an invalid value is recorded as a problem, and counts as not set. */
export interface AnnotationReader<Name extends string> {
  /** Undefined where it is missing or invalid. @param parse returns undefined for an invalid value */
  read<T>(name: Name, parse: (text: string) => T | undefined): T | undefined;
  /** Takes note of a value that is bad, or missing. */
  wrong(name: Name, expected: string): void;
  /** Of every bad value: name, value and what was expected. */
  readonly problems: string[];
}

export interface AnnotationReaderOptions<Name extends string> {
  textOf(name: Name): string | undefined;
  /** The whole key, or whatever else the text comes from. */
  sourceOf(name: Name): string;
  /** Accepted values, for people. */
  expectedOf(name: Name): string;
}

export function createAnnotationReader<Name extends string>(
  options: AnnotationReaderOptions<Name>,
): AnnotationReader<Name> {
  const problems: string[] = [];
  function wrong(name: Name, expected: string): void {
    const text = options.textOf(name);
    const shown = text === undefined ? 'missing' : JSON.stringify(text);
    problems.push(`${options.sourceOf(name)}: ${shown}, expected ${expected}`);
  }
  return {
    wrong,
    problems,
    read(name, parse) {
      const text = options.textOf(name);
      const value = text === undefined ? undefined : parse(text);
      if (text !== undefined && value === undefined) wrong(name, options.expectedOf(name));
      return value;
    },
  };
}

/** As Go's ParseBool reads it. */
export function flagOf(text: string): boolean | undefined {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  return /^(0|f|F|FALSE|false|False)$/.test(text) ? false : undefined;
}

export function oneOf(...allowed: readonly string[]) {
  return (text: string): string | undefined => (allowed.includes(text) ? text : undefined);
}

export function matching(pattern: RegExp) {
  return (text: string): string | undefined => (pattern.test(text) ? text : undefined);
}

/** A whole number in decimal digits. */
export function numberIn(least: number, most: number) {
  return (text: string): number | undefined => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= most ? value : undefined;
  };
}

/** Separated by commas; undefined where one of them is bad. */
export function listOf<T>(parse: (text: string) => T | undefined) {
  return (text: string): readonly T[] | undefined => {
    const items = text.split(',').map((item) => parse(item.trim()));
    return items.every((item) => item !== undefined) ? items : undefined;
  };
}
