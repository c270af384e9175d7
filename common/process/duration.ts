const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5
  μs: 1e-3, // U+03BC
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

// Escaped, because a character beyond Latin-1 doubles the memory that V8 needs for the program's text.
const whole = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)$/;
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/g;

/**
 * Parses a Go duration (`1m30s`, `300ms`, `1.5h`, `0`) as milliseconds; undefined when it is invalid, such as a bare
 * number other than 0.
 */
export function parseDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0;
  const found = whole.exec(text);
  if (found === null) return undefined;
  let total = 0;
  for (const [, amount, unit] of found[2]!.matchAll(part)) total += Number(amount) * unitMs[unit!]!;
  if (!Number.isFinite(total)) return undefined;
  // Sums of fractions have binary rounding errors in the last digits.
  const exact = Number(total.toPrecision(15));
  return found[1] === '-' ? 0 - exact : exact;
}

/** Formats milliseconds as the shortest duration for `parseDuration`: `90000` is `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  let rest = Math.abs(ms);
  if (rest < 1000) return `${sign}${rest}ms`;
  const hours = Math.floor(rest / 3_600_000);
  rest -= hours * 3_600_000;
  const minutes = Math.floor(rest / 60_000);
  rest -= minutes * 60_000;
  const seconds = rest / 1000;
  return `${sign}${hours > 0 ? `${hours}h` : ''}${minutes > 0 ? `${minutes}m` : ''}${seconds > 0 ? `${seconds}s` : ''}`;
}
