import { formatDuration, parseDuration } from './duration.ts';
import type { FlagDefinition } from './flag-definition.ts';

export type FlagValue = string | number | boolean | readonly string[];

export type ParsedValue = { readonly value: FlagValue } | { readonly expected: string };

const bools: Readonly<Record<string, boolean>> = {
  ...Object.fromEntries(['1', 't', 'T', 'true', 'TRUE', 'True'].map((text) => [text, true])),
  ...Object.fromEntries(['0', 'f', 'F', 'false', 'FALSE', 'False'].map((text) => [text, false])),
};

/**
 * Parses one value by the kind of its flag, or returns what was expected. A list gives an array, a repeated flag an
 * array of one.
 */
export function parseValue(definition: FlagDefinition, text: string): ParsedValue {
  const expected = definition.check?.(text);
  if (expected !== undefined) return { expected };
  switch (definition.kind) {
    case 'bool': {
      const value = Object.hasOwn(bools, text) ? bools[text] : undefined;
      return value === undefined ? { expected: 'true or false' } : { value };
    }
    case 'int':
      return /^[+-]?\d{1,15}$/.test(text) ? inRange(definition, Number(text), String) : { expected: 'a whole number' };
    case 'number':
      return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(text)
        ? inRange(definition, Number(text), String)
        : { expected: 'a number' };
    case 'duration': {
      const ms = parseDuration(text);
      if (ms === undefined) return { expected: 'a duration with a unit, such as 1m30s, 300ms or 5m' };
      return inRange(definition, ms, formatDuration);
    }
    case 'list':
      return chosen(definition, text === '' ? [] : text.split(','));
    case 'repeat':
      return chosen(definition, [text]);
    case 'string': {
      const parsed = chosen(definition, [text]);
      return 'expected' in parsed ? parsed : { value: text };
    }
  }
}

function chosen({ choices }: FlagDefinition, texts: readonly string[]): ParsedValue {
  if (choices !== undefined && texts.some((text) => !choices.includes(text))) {
    return { expected: `one of ${choices.join(', ')}` };
  }
  return { value: texts };
}

/** @param print how a bound is written in the message */
function inRange({ min, max }: FlagDefinition, value: number, print: (bound: number) => string): ParsedValue {
  if (min !== undefined && value < min) return { expected: `at least ${print(min)}` };
  if (max !== undefined && value > max) return { expected: `at most ${print(max)}` };
  return { value };
}
