/**
 * Whether a program printed what a page shows. In the page `...` stands for any text within a line, and on a line of
 * its own for any number of lines. Runs of spaces count as one, since widths of columns follow their contents.
 */
export function matchesOutput(shown: string, printed: string): boolean {
  const pattern = clean(shown)
    .split('\n')
    .map((line) => (line.trim() === '...' ? '(?:.*\n)*' : `${line.split('...').map(escaped).join('.*')}\n`))
    .join('');
  return new RegExp(`^${pattern}$`).test(`${clean(printed)}\n`);
}

function clean(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd().replace(/ +/g, ' '))
    .join('\n')
    .trim();
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
