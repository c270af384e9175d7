import type { JournalState } from '../../engine/journal.ts';

/**
 * The journal as stored with a Service: `ids:NAME=ID,NAME=ID` and, where creates may have been sent whose ids are
 * not known, `;tried:NAME,NAME`. Undefined where there is neither.
 */
export function printNotes({ ids, tried }: Pick<JournalState, 'ids' | 'tried'>): string | undefined {
  const made = Object.entries(ids).map(([name, id]) => `${encoded(name)}=${encoded(id)}`);
  const parts = [
    ...(made.length > 0 ? [`ids:${made.sort().join()}`] : []),
    ...(tried.length > 0 ? [`tried:${tried.toSorted().map(encoded).join()}`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(';');
}

/** Ignores what does not parse: then only marks prove ownership. */
export function parseNotes(text: string | undefined): Pick<JournalState, 'ids' | 'tried'> {
  const ids: Record<string, string> = {};
  const tried: string[] = [];
  for (const part of text?.split(';') ?? []) {
    for (const item of part.slice(part.indexOf(':') + 1).split(',')) {
      const [name = '', id = ''] = item.split('=').map(decoded);
      if (!name.includes('/')) continue;
      if (part.startsWith('ids:') && id !== '') ids[name] = id;
      if (part.startsWith('tried:')) tried.push(name);
    }
  }
  return { ids, tried };
}

function encoded(text: string): string {
  return text.replace(/[^\w./:+-]/gu, encodeURIComponent);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
