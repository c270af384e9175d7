import { visibleText } from '../visible-text.ts';
import type { Clock } from './clock.ts';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFormat = 'json' | 'text';

/** Fields of one line. Never a token, a document or a credential. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Structured logging: one line per decision, to one stream. Not pino, which would need 1.3 MiB of the agent's memory.
 */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a log that adds these fields to every line. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  readonly clock: Clock;
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write: (line: string) => void;
}

/** An error as log fields: its message, kind and cause, never its stack in text form. */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: String(error) };
  const fields: Record<string, unknown> = { error: error.message };
  if ('kind' in error) fields['kind'] = error.kind;
  if ('code' in error) fields['code'] = error.code;
  // Most messages already contain their cause.
  if (error.cause instanceof Error && !error.message.includes(error.cause.message))
    fields['cause'] = error.cause.message;
  return fields;
}

/** Escapes characters of foreign texts that could control a terminal, even after a JSON reader has decoded them. */
const visibleValues = (_key: string, value: unknown) => (typeof value === 'string' ? visibleText(value) : value);

function textValue(value: unknown): string {
  if (typeof value === 'string' && /^[\w./:@+-]+$/.test(value)) return value;
  return JSON.stringify(value, visibleValues) ?? 'undefined';
}

export function createLog(options: LogOptions, base: LogFields = {}): Log {
  const threshold = logLevels.indexOf(options.level);
  function line(level: LogLevel, message: string, fields: LogFields = {}): void {
    if (logLevels.indexOf(level) < threshold) return;
    const time = new Date(options.clock.now()).toISOString();
    const all = { ...base, ...fields };
    if (options.format === 'json') {
      options.write(`${JSON.stringify({ time, level, msg: message, ...all }, visibleValues)}\n`);
      return;
    }
    const pairs = Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ` ${key}=${textValue(value)}`);
    options.write(`${time} ${level.toUpperCase().padEnd(5)} ${visibleText(message)}${pairs.join('')}\n`);
  }
  return {
    debug: (message, fields) => line('debug', message, fields),
    info: (message, fields) => line('info', message, fields),
    warn: (message, fields) => line('warn', message, fields),
    error: (message, fields) => line('error', message, fields),
    with: (fields) => createLog(options, { ...base, ...fields }),
  };
}

/** A log without output. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silentLog,
};
