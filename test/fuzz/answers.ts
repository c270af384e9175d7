import type { ReportAnswer } from '../../common/report.ts';
import { type RefusalCode, refusals } from '../../controller/reports/refusal.ts';
import { canary } from './evil-values.ts';
import type { SecureOutcome } from './secure-outcome.ts';
import type { Heard } from './wire.ts';

/** How a case ended, as its sender sees it. */
export type Outcome = RefusalCode | 'kept' | 'stale' | 'silence' | SecureOutcome;

/** A judgement of one answer: what it says, or what is wrong with it. */
export type Reading = { readonly outcome: Outcome } | { readonly fault: string };

interface Response {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Longest answer that a refusal may have: it names one field and shows at most 64 characters of its value. */
const longestAnswer = 2048;
/** What no answer may hold, whichever port gives it. */
export const leaks = /node:internal|node_modules|\.[cm]?[jt]s:\d+|\n\s+at |\/work\/|Bearer|eyJ[A-Za-z0-9_-]{20}/;

/** Reads what came back; finds fault with anything but one well-formed answer in the words of the report API. */
export function readAnswer({ bytes, end }: Heard, options: { readonly headOnly?: boolean } = {}): Reading {
  if (end === 'stuck') return { fault: 'neither an answer nor an end of the connection' };
  const text = bytes.toString('latin1').replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  if (text === '') return { outcome: 'silence' };
  if (leaks.test(text)) return { fault: 'the answer shows internals or a token' };
  if (text.includes(canary)) return { fault: 'the answer repeats what it must not' };
  const response = parseResponse(text, options.headOnly === true);
  if (typeof response === 'string') return { fault: response };
  if (response.headers.get('connection')?.toLowerCase() !== 'close')
    return { fault: 'the answer keeps the connection' };
  if (options.headOnly && response.body === '') {
    return response.status === 404 ? { outcome: 'UnknownPath' } : { fault: `HEAD was answered ${response.status}` };
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(response.body, 'latin1').toString('utf8'));
  } catch {
    return { fault: `the body of a ${response.status} is no JSON: ${response.body.slice(0, 100)}` };
  }
  return response.status === 200 ? acceptance(body) : refusal(response, body);
}

function parseResponse(text: string, headOnly: boolean): Response | string {
  const split = text.indexOf('\r\n\r\n');
  if (split < 0) return 'the answer has no end of headers';
  const [first = '', ...lines] = text.slice(0, split).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) [A-Za-z ]+$/.exec(first)?.[1]);
  if (Number.isNaN(status)) return `the answer begins with ${JSON.stringify(first.slice(0, 60))}`;
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = text.slice(split + 4);
  const length = Number(headers.get('content-length'));
  if (!headOnly && length !== body.length) return `a body of ${body.length} bytes after content-length ${length}`;
  if (body.length > longestAnswer) return `an answer of ${body.length} bytes`;
  if (!headers.get('content-type')?.startsWith('application/json')) return 'the answer is no application/json';
  return { status, headers, body };
}

function acceptance(body: unknown): Reading {
  const { accepted, initialized, reasons, nextReportSeconds } = body as ReportAnswer;
  const whole =
    typeof accepted === 'boolean' &&
    typeof initialized === 'boolean' &&
    Array.isArray(reasons) &&
    Number.isInteger(nextReportSeconds);
  if (!whole) return { fault: 'a 200 without a report answer' };
  return { outcome: accepted ? 'kept' : 'stale' };
}

function refusal({ status, headers }: Response, body: unknown): Reading {
  const error = (body as { error?: { code?: unknown; message?: unknown; field?: unknown } } | null)?.error;
  const code = error?.code;
  if (typeof code !== 'string' || !Object.hasOwn(refusals, code))
    return { fault: `a ${status} without a code of ours` };
  const known = code as RefusalCode;
  const rule: { status: number; retryAfterSeconds?: number } = refusals[known];
  if (rule.status !== status) return { fault: `${code} with status ${status}` };
  if (typeof error?.message !== 'string' || error.message === '') return { fault: `${code} without a message` };
  if (code === 'InternalError') return { fault: 'a fault of the controller' };
  if (code === 'InvalidReport' && (typeof error.field !== 'string' || error.field === '')) {
    return { fault: 'InvalidReport names no field' };
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/.test(`${error.message}${error.field ?? ''}`)) {
    return { fault: `${code} says unprintable things` };
  }
  if (rule.retryAfterSeconds !== undefined && !(Number(headers.get('retry-after')) >= 1)) {
    return { fault: `${code} without Retry-After` };
  }
  return { outcome: known };
}
