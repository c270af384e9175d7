import type { Clock } from '../common/process/clock.ts';
import { type Http, type HttpAnswer, HttpFailure } from '../common/process/http.ts';
import { type ReportAnswer, type ReportReason, reportPath } from '../common/report.ts';
import { isSafeUrl } from './controller-access.ts';
import { parseRetryAfter } from './metadata/client.ts';

/** The outcomes of an attempt, which are also the values of the metric's label. */
export type SendOutcome =
  | 'accepted'
  | 'refused'
  | 'unauthorized'
  | 'forbidden'
  | 'throttled'
  | 'invalid'
  | 'unavailable'
  | 'timeout'
  | 'unreachable'
  | 'bad_redirect'
  | 'bad_answer';

export type SendResult =
  | {
      readonly outcome: 'accepted' | 'refused';
      readonly answer: ReportAnswer;
      /** The URL that answered: the leader's after a redirect. */
      readonly url: string;
    }
  | {
      readonly outcome: Exclude<SendOutcome, 'accepted' | 'refused'>;
      readonly message: string;
      readonly retryAfterMs: number | undefined;
      /** Whether another replica may answer differently. */
      readonly tryNext: boolean;
    };

export interface SendRequest {
  readonly http: Http;
  readonly clock: Clock;
  /** The URL of the controller, without the path. */
  readonly url: string;
  readonly token: string;
  readonly body: string;
  /** The time limit of the whole attempt. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Sends one report to one controller. Follows a standby's 307 once, only to an https URL, with the same CA, server name
 * and token. (fetch itself would drop the token for another host and keep it for plain http on the same one.) Never
 * throws.
 */
export async function sendReport(request: SendRequest): Promise<SendResult> {
  const started = request.clock.monotonic();
  const target = new URL(reportPath, request.url).href;
  const first = await post(request, target, request.timeoutMs);
  if (!('status' in first)) return first;
  if (first.status !== 307) return resultOf(first, request.url, request.clock.now());
  const leader = redirectTarget(first.header('location'), target);
  if (leader === undefined) return badRedirect(`${target} redirects to no https URL`);
  const left = request.timeoutMs - (request.clock.monotonic() - started);
  const second = await post(request, leader, Math.max(left, 1));
  if (!('status' in second)) return second;
  if (second.status >= 300 && second.status < 400)
    return badRedirect(`${target} redirects to ${leader}, which redirects on`);
  return resultOf(second, leader, request.clock.now());
}

async function post(
  { http, token, body, signal }: SendRequest,
  url: string,
  timeoutMs: number,
): Promise<HttpAnswer | SendResult> {
  if (signal?.aborted) return { outcome: 'unreachable', message: 'given up', retryAfterMs: undefined, tryNext: false };
  try {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    };
    return await http({ method: 'POST', url, headers, body, timeoutMs, maxBytes: 64 * 1024, signal });
  } catch (error) {
    const failure = error instanceof HttpFailure ? error.kind : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const outcome = failure === 'timeout' ? 'timeout' : failure === 'too-large' ? 'bad_answer' : 'unreachable';
    return { outcome, message, retryAfterMs: undefined, tryNext: true };
  }
}

/** The redirect target: absolute, https, with the path of a report if it has none. */
function redirectTarget(location: string | null, from: string): string | undefined {
  if (location === null || !URL.canParse(location, from)) return undefined;
  const target = new URL(location, from);
  if (!isSafeUrl(target.href)) return undefined;
  return target.pathname === '/' ? new URL(reportPath, target).href : target.href;
}

function badRedirect(message: string): SendResult {
  return { outcome: 'bad_redirect', message, retryAfterMs: undefined, tryNext: true };
}

function resultOf(answer: HttpAnswer, url: string, nowMs: number): SendResult {
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const parsed = parseAnswer(answer.text);
    if (parsed !== undefined) return { outcome: parsed.accepted ? 'accepted' : 'refused', answer: parsed, url };
    const message = `${url} answered ${status} without a report answer`;
    return { outcome: 'bad_answer', message, retryAfterMs: undefined, tryNext: true };
  }
  const [outcome, tryNext] = failureOf(status);
  const said = printable(answer.text);
  const message = `${url} answered ${status}${said === '' ? '' : `: ${said}`}`;
  return { outcome, message, retryAfterMs: parseRetryAfter(answer.header('retry-after'), nowMs), tryNext };
}

function failureOf(status: number): [Exclude<SendOutcome, 'accepted' | 'refused'>, boolean] {
  if (status === 401) return ['unauthorized', false];
  if (status === 403) return ['forbidden', false];
  if (status === 429) return ['throttled', false];
  if (status >= 500) return ['unavailable', true];
  if (status >= 400) return ['invalid', false];
  return ['bad_answer', true];
}

/** Parses and validates the answer; undefined when it is invalid. */
function parseAnswer(text: string): ReportAnswer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { accepted, initialized, reasons, nextReportSeconds, challenge } = value as Record<string, unknown>;
  if (typeof accepted !== 'boolean' || typeof initialized !== 'boolean' || !Array.isArray(reasons)) return undefined;
  if (typeof nextReportSeconds !== 'number' || !Number.isFinite(nextReportSeconds)) return undefined;
  const answer = { accepted, initialized, reasons: reasons.filter(isReason), nextReportSeconds };
  return typeof challenge === 'string' ? { ...answer, challenge } : answer;
}

function isReason(value: unknown): value is ReportReason {
  if (typeof value !== 'object' || value === null) return false;
  return 'code' in value && typeof value.code === 'string' && 'message' in value && typeof value.message === 'string';
}

/** The message of a foreign answer, safe for a log line. */
function printable(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 200);
}
