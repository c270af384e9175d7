import { canary } from './evil-values.ts';

const longestLine = 1024;
const leaks = /node:internal|node_modules|\.[cm]?[jt]s:\d+|\\n\s+at |\/work\/|Bearer|eyJ[A-Za-z0-9_-]{20}/;

/** What is wrong with a line of the server's log; undefined when nothing is. */
export function faultInLine(line: string): string | undefined {
  if (line.includes(canary)) return 'the log holds what it must not';
  if (leaks.test(line)) return 'the log holds internals or a token';
  if (line.length > longestLine) return `a log line of ${line.length} characters`;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/u.test(line))
    return 'a log line with unprintable characters';
  let fields: { level?: string; msg?: string };
  try {
    fields = JSON.parse(line);
  } catch {
    return 'a log line that is no JSON';
  }
  return fields.level === 'error' ? 'the server blames itself' : undefined;
}
