import { parse } from 'yaml';

export interface YamlOptions {
  /** `failsafe` (default): every scalar is a text, so that a password of digits stays as it is written. */
  readonly schema?: 'failsafe' | 'core';
  /** A scalar `null` or `~` is none. Default: a text, too. */
  readonly withNull?: boolean;
}

/**
 * Parses a YAML text; for invalid YAML, the result has the line where the parser reports one. Errors and warnings of
 * the parser repeat what it read, which may be a secret, so neither is passed on. Pure.
 */
export function readYaml(
  text: string,
  { schema = 'failsafe', withNull = false }: YamlOptions = {},
): { readonly content: unknown } | { readonly badLine: number | undefined } {
  try {
    return { content: parse(text, { schema, logLevel: 'error', ...(withNull ? { customTags: ['null'] } : {}) }) };
  } catch (error) {
    const position = (error as { readonly linePos?: readonly { readonly line: number }[] }).linePos?.[0];
    return { badLine: position?.line };
  }
}
