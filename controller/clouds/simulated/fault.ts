import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { retryAfterMsOf } from '../retry-after.ts';

export const cloud = 'simulated';

/** What the API said when it refused: the cause of the CloudError. */
export type ApiRefusal = ReturnType<typeof readError>;

/** What the API said, of an error that is its refusal. */
export function refusalOf(error: unknown): ApiRefusal | undefined {
  const cause = error instanceof CloudError ? (error.cause as Partial<ApiRefusal> | undefined) : undefined;
  return cause?.details === undefined ? undefined : (cause as ApiRefusal);
}

/** A 404 is `NotFound` only with the API's own word for it: a wrong endpoint, project or region answers 404 too. */
const absences: ReadonlySet<string> = new Set(
  ['instance', 'load-balancer', 'listener', 'pool', 'address', 'route'].map((kind) => `${kind}-not-found`),
);

const kindOfCode: ReadonlyMap<string, CloudErrorKind> = new Map([
  ['quota-exceeded', 'QuotaExceeded'],
  ['not-ready', 'Busy'],
  ['revision-mismatch', 'Stale'],
  ['name-taken', 'Taken'],
  ['port-taken', 'Taken'],
]);

/** An answer that is no success. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { status } = answer;
  const cause = readError(answer.text);
  const { code, message } = cause;
  const said = `HTTP ${status}${code === '' ? '' : ` ${code}`}${message === '' ? '' : `: ${message}`}`;
  const kind = kindOfCode.get(code) ?? kindOfHttpStatus(status);
  if (kind === 'NotFound' && !absences.has(code)) {
    const message = `${said} (check endpoint, project and region)`;
    return new CloudError({ kind: 'Invalid', cloud, operation, message, cause });
  }
  const retryAfterMs = retryAfterMsOf(answer, nowMs);
  return new CloudError({ kind, cloud, operation, message: said, retryAfterMs, cause });
}

function readError(body: string) {
  try {
    const { code, message, ...details } = JSON.parse(body).error;
    return {
      code: typeof code === 'string' ? code.slice(0, 80) : '',
      message: typeof message === 'string' ? message.slice(0, 200) : '',
      details: details as Readonly<Record<string, unknown>>,
    };
  } catch {
    return { code: '', message: '', details: {} };
  }
}
