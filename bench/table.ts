/** Prints a table that reads well both in a terminal and pasted into Markdown. */
export function printTable(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => (row[at] ?? '').length)));
  const pad = (text: string, width: number, at: number) => (at === 0 ? text.padEnd(width) : text.padStart(width));
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => pad(cells[at] ?? '', width, at)).join(' | ')} |`;
  const rules = widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`));
  const rule = `|${rules.join('|')}|`;
  console.log([title, '', line(head), rule, ...rows.map(line), ''].join('\n'));
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
