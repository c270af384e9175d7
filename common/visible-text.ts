/**
 * Invisible characters and those that change the display of others, as a character class of a `u` regular expression:
 * control characters, direction marks, zero-width characters, line breaks, halves of surrogate pairs.
 */
export const invisibleCharacters = '\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}';

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Foreign text as one visible line: invisible characters are replaced by their code points. Safe to repeat. */
export function visibleText(text: string): string {
  return text.replace(unseen, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** As `visibleText`, cut to a length at a character boundary; a cut text ends in an ellipsis. */
export function visibleLine(text: string, maxLength: number): string {
  // One character becomes at most twelve, so only a prefix of the text has to be processed.
  const line = visibleText(text.slice(0, maxLength + 1));
  if (line.length <= maxLength) return line;
  return `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
