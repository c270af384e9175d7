import { leaks } from './answers.ts';
import { canary } from './evil-values.ts';
import { type SecureOutcome, type SecureStatus, secureStatuses } from './secure-outcome.ts';
import type { Heard } from './wire.ts';

export type SecureReading = { readonly outcome: SecureOutcome | 'silence' } | { readonly fault: string };

/** The largest is a page of metrics. */
const longestBody = 64 * 1024;
const reasons: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
};

/** Reads the answers of the secure port. Every answer must be whole and in the words of Kubernetes' own components. */
export function readSecureAnswer({ bytes, end }: Heard, options: { readonly headOnly?: boolean } = {}): SecureReading {
  if (end === 'stuck') return { fault: 'neither an answer nor an end of the connection' };
  let rest = bytes.toString('latin1').replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  if (leaks.test(rest)) return { fault: 'the answer shows internals or a token' };
  if (rest.includes(canary)) return { fault: 'the answer repeats what it must not' };
  let first: SecureOutcome | 'silence' = 'silence';
  while (rest !== '') {
    // Who is gone before the end of a long answer has heard a part of it.
    const one = readOne(rest, options.headOnly === true, end === 'vanished');
    if (typeof one === 'string') return { fault: one };
    if (first === 'silence') first = one.outcome;
    rest = one.rest.replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  }
  return { outcome: first };
}

function readOne(
  text: string,
  headOnly: boolean,
  mayBeCut: boolean,
): { readonly outcome: SecureOutcome; readonly rest: string } | string {
  const split = text.indexOf('\r\n\r\n');
  if (split < 0) return mayBeCut ? { outcome: 'secure 200', rest: '' } : 'the answer has no end of headers';
  const [first = '', ...lines] = text.slice(0, split).split('\r\n');
  const status = secureStatuses.find((each) => first.startsWith(`HTTP/1.1 ${each} `));
  if (status === undefined) return `the answer begins with ${JSON.stringify(first.slice(0, 60))}`;
  const outcome: SecureOutcome = `secure ${status}`;
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const after = text.slice(split + 4);
  if (status === 400 || status === 417) return nodesOwn(outcome, headers, after);
  const length = Number(headers.get('content-length'));
  if (!Number.isInteger(length) || length > longestBody) return `a body of ${headers.get('content-length')} bytes`;
  if (headers.get('x-content-type-options') !== 'nosniff') return 'an answer that browsers may take for another';
  if (headOnly) return after === '' ? { outcome, rest: '' } : 'HEAD was answered with a body';
  if (after.length < length) {
    return mayBeCut ? { outcome, rest: '' } : `a body of ${after.length} bytes after content-length ${length}`;
  }
  const wrong = faultInBody(status, headers.get('content-type') ?? '', after.slice(0, length));
  return wrong ?? { outcome, rest: after.slice(length) };
}

/** What node refuses by itself says nothing and ends the connection. */
function nodesOwn(outcome: SecureOutcome, headers: ReadonlyMap<string, string>, after: string) {
  const closes = headers.get('connection')?.toLowerCase() === 'close';
  // In chunks: an empty one is the end.
  const body = headers.get('transfer-encoding') === 'chunked' ? after.replace(/^0\r\n\r\n/, '') : after;
  if (outcome === 'secure 400' && !closes) return 'a 400 that keeps the connection';
  return { outcome, rest: body };
}

function faultInBody(status: SecureStatus, type: string, body: string): string | undefined {
  if (status === 200) return undefined;
  if (!type.startsWith('application/json')) return `a ${status} that is no application/json`;
  let said: { kind?: unknown; code?: unknown; reason?: unknown };
  try {
    said = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'));
  } catch {
    return `the body of a ${status} is no JSON`;
  }
  const whole = said.kind === 'Status' && said.code === status && said.reason === reasons[status];
  return whole ? undefined : `a ${status} that is no Status of it`;
}
