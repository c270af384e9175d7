import { visibleText } from '../../../common/visible-text.ts';

/** One longer cell moves the rest of its own row alone. */
const widest = 80;

/**
 * Formats rows as columns separated by two spaces; the last column is not padded. Foreign text in a cell cannot control
 * the terminal or add a line.
 */
export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map((row) => row.map(visibleText));
  const widths: number[] = [];
  for (const row of shown) {
    for (const [column, { length }] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, Math.min(length, widest));
  }
  return shown
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}
