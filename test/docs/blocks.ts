/** A fenced block of shell commands in a page. */
export interface CommandBlock {
  /** From 1: the line of the opening fence. */
  readonly line: number;
  /** One by one; a command that goes on in the next line is one. */
  readonly commands: readonly string[];
  /** What the page says that the last command prints: the next fenced block without a language. */
  readonly prints?: string;
  /** Why the block is not run, from the comment `<!-- not run: WHY -->` above it. */
  readonly notRun?: string;
}

const fence = /^ *```(\w*)\s*$/;
const marker = /^ *<!-- not run: (.+) -->\s*$/;

/** The blocks of a page in their order. Throws an Error on a fence that is never closed. */
export function commandBlocks(page: string): CommandBlock[] {
  const lines = page.split('\n');
  const blocks: CommandBlock[] = [];
  for (let at = 0; at < lines.length; at++) {
    const language = fence.exec(lines[at] ?? '')?.[1];
    if (language === undefined) continue;
    const end = lines.findIndex((line, index) => index > at && /^ *```\s*$/.test(line));
    if (end < 0) throw new Error(`line ${at + 1}: the fence is never closed`);
    const content = lines.slice(at + 1, end);
    if (language === 'sh') {
      const notRun = marker.exec(lastText(lines.slice(0, at)))?.[1];
      blocks.push({ line: at + 1, commands: joined(content), ...(notRun !== undefined && { notRun }) });
    } else if (language === '') {
      const previous = blocks.pop();
      if (previous !== undefined)
        blocks.push(previous.prints === undefined ? { ...previous, prints: content.join('\n') } : previous);
    }
    at = end;
  }
  return blocks;
}

/** The commands in code spans of the prose that begin with one of these words, without those that leave parts open. */
export function inlineCommands(page: string, first: RegExp): string[] {
  const prose = page.replace(/^ *```.*?^ *```/gms, '');
  return [...prose.matchAll(/`([^`]+)`/g)]
    .map(([, span = '']) => span.replace(/\s+/g, ' '))
    .filter((span) => first.test(span) && / /.test(span) && !/[<[]|\.\.\.| -\w$/.test(span));
}

function lastText(lines: readonly string[]): string {
  return lines.findLast((line) => line.trim() !== '') ?? '';
}

/** Lines as commands: a line that ends in a backslash or a pipe goes on. */
function joined(lines: readonly string[]): string[] {
  const commands: string[] = [];
  let open = '';
  for (const line of lines) {
    open = open === '' ? line : `${open}\n${line}`;
    if (/[\\|]$/.test(line)) continue;
    if (open.trim() !== '') commands.push(open);
    open = '';
  }
  if (open !== '') commands.push(open);
  return commands;
}
