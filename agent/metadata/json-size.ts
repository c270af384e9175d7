/** The size of a parsed JSON text, which may need much more memory than the text. */
export interface JsonSize {
  /** The number of values and keys; the error is at most one per list or object. */
  readonly elements: number;
  readonly depth: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;

/**
 * Counts without parsing: an empty object of two bytes needs thirty times as much when parsed. Accepts any text, also
 * malformed JSON.
 */
export function jsonSizeOf(text: string): JsonSize {
  let elements = 1;
  let depth = 0;
  let deepest = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at += 1;
      while (at < text.length && text.charCodeAt(at) !== quote) at += text.charCodeAt(at) === backslash ? 2 : 1;
    } else if (code === comma || code === colon) elements += 1;
    else if (code === 0x7b || code === 0x5b) {
      elements += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    } else if (code === 0x7d || code === 0x5d) depth -= 1;
  }
  return { elements, depth: deepest };
}
