import type { HttpAnswer } from '../../common/process/http.ts';

/** A gateway may ask for hours, and a date of another clock too. */
export const longestAskedMs = 900_000;
const longestRestMs = 60_000;

/**
 * How long an answer asks to wait, in milliseconds: seconds or a date (RFC 9110, 10.2.3). Undefined where it does not
 * ask, or the time is over. At most a quarter of an hour.
 *
 * @param nowMs Unix time
 */
export function retryAfterMsOf(answer: Pick<HttpAnswer, 'header'>, nowMs: number): number | undefined {
  const text = answer.header('retry-after');
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) && ms > 0 ? Math.min(ms, longestAskedMs) : undefined;
}

/**
 * The same of an API whose calls come back all the time: without `retry-after` until they are all back, Unix time in
 * `ratelimit-reset`, but at most a minute, since that is far longer than it takes for one.
 */
export function restMsOf(answer: Pick<HttpAnswer, 'header'>, nowMs: number): number | undefined {
  const reset = Number(answer.header('ratelimit-reset') ?? Number.NaN) * 1000 - nowMs;
  const ms = retryAfterMsOf(answer, nowMs) ?? Math.max(reset, 1000);
  return Number.isFinite(ms) ? Math.min(ms, longestRestMs) : undefined;
}
