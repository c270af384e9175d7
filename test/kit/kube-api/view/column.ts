import type { Json, JsonObject } from '../json.ts';

/** One column of `kubectl get`: a cell made from the object, and the time it is asked at in milliseconds. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean';
  readonly format: string;
  /** 0 = always shown, 1 = only with `-o wide`. */
  readonly priority: number;
  readonly cell: (value: JsonObject, now: number) => Json;
}

export function column(name: string, cell: Column['cell'], more: Partial<Column> = {}): Column {
  return { name, type: 'string', format: name === 'Name' ? 'name' : '', priority: 0, cell, ...more };
}

/** A column that `-o wide` adds. */
export function wide(name: string, cell: Column['cell']): Column {
  return column(name, cell, { priority: 1 });
}

/** Go's duration.HumanDuration: `45s`, `3m12s`, `2d4h`. */
export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (hours < 192) return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
  if (hours < 24 * 365 * 2) return `${days}d`;
  const years = Math.trunc(hours / 24 / 365);
  if (hours < 24 * 365 * 8) {
    const rest = Math.trunc(hours / 24) % 365;
    return rest === 0 ? `${years}y` : `${years}y${rest}d`;
  }
  return `${years}y`;
}

/** Time since an RFC 3339 stamp, or `<unknown>` without one. */
export function since(stamp: Json | undefined, now: number): string {
  return typeof stamp === 'string' && stamp !== '' ? humanDuration(now - Date.parse(stamp)) : '<unknown>';
}
