/**
 * Characters that are not seen or change what is seen around them, for a character class of a `u` regular expression: control characters of both sets, marks
 * of direction, zero-width ones, what breaks a line, halves of surrogate pairs.
 */
export const unseenCharacters = '\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}';

const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text from outside as one line that shows all it holds: each character that is not seen stands there as its number. Safe to repeat. */
export function visibleText(text: string): string {
  return text.replace(unseen, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** The same, cut to a length without halving a character; what was cut ends in an ellipsis. */
export function visibleLine(text: string, maxLength: number): string {
  // Twelve characters of the result at most come from one of the text, so the rest need not be looked at.
  const line = visibleText(text.slice(0, maxLength + 1));
  if (line.length <= maxLength) return line;
  return `${line.slice(0, maxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
