import { parseJson } from './client.ts';

/** Parsed JSON in which every number that a double cannot hold exactly stays the text it was written as: cloud ids are 64 bits wide. Throws as `parseJson` does. */
export function parseLosslessJson(cloud: string, operation: string, text: string): unknown {
  return parseJson(cloud, operation, text, (_key, value, context) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? (context?.source ?? value)
      : value,
  );
}
