import { parseJson } from './client.ts';

/**
 * Parses JSON, but keeps every number that a double cannot represent exactly as its text, because cloud ids have 64
 * bits. Throws as `parseJson` does.
 */
export function parseLosslessJson(cloud: string, operation: string, text: string): unknown {
  return parseJson(cloud, operation, text, (_key, value, context) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
      ? (context?.source ?? value)
      : value,
  );
}
