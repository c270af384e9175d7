import type { NodeRow, ServiceRow } from '../update.ts';

type Row = NodeRow | ServiceRow;

/** Rows of one state and reason. */
export interface Group {
  readonly key: string;
  readonly state: string;
  readonly reason: string;
  readonly ok: boolean;
  readonly count: number;
}

/** What a person narrows the page to. */
export interface Filter {
  /** Words that each must occur in a row; lower case. */
  readonly words: readonly string[];
  /** `keyOf` of the only rows shown; undefined: all. */
  readonly group: string | undefined;
}

export function keyOf({ state, reason }: Pick<Row, 'state' | 'reason'>): string {
  return `${state} ${reason}`;
}

/** What needs attention comes first, then the larger groups. */
export function groupsOf(rows: Iterable<Row>): readonly Group[] {
  const groups = new Map<string, { -readonly [K in keyof Group]: Group[K] }>();
  for (const row of rows) {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { key, state: row.state, reason: row.reason, ok: row.ok, count: 1 });
    else group.count += 1;
  }
  return [...groups.values()].sort((a, b) => Number(a.ok) - Number(b.ok) || b.count - a.count);
}

export function isShown(row: Row, { words, group }: Filter): boolean {
  if (group !== undefined && keyOf(row) !== group) return false;
  if (words.length === 0) return true;
  const place =
    'zone' in row ? `${row.zone} ${row.providerID} ${row.leaving}` : `${row.addresses} ${row.balancer ?? ''}`;
  const text = `${row.name} ${row.state} ${row.reason} ${place} ${row.scope ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

export function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().split(/\s+/).filter(Boolean);
}

/** `12 s`, `5 min`; `?` where there is no time. */
export function ageOf(time: string | null, nowMs: number): string {
  const seconds = Math.max(0, Math.round((nowMs - Date.parse(time ?? '')) / 1000));
  if (Number.isNaN(seconds)) return '?';
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}

/** The class of a state's colour and shape. */
export function lookOf(state: string): string {
  return `is-${state.replaceAll(' ', '-')}`;
}

export const counted = new Intl.NumberFormat('en');
