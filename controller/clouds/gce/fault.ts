import { CloudError, type CloudErrorKind, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { retryAfterMsOf } from '../retry-after.ts';

export const cloud = 'gce';

/** What the API said when it refused: the cause of the CloudError. */
export interface Refusal {
  /** In lower case, without `_`: `quotaexceeded`. Empty: the body is of something else. */
  readonly reason: string;
  readonly message: string;
}

/** Reasons of errors and codes of operations; they differ in case and `_` alone. */
const kinds: Readonly<Record<string, CloudErrorKind>> = {
  ratelimitexceeded: 'Throttled',
  userratelimitexceeded: 'Throttled',
  dailylimitexceeded: 'Throttled',
  concurrentoperationsquotaexceeded: 'Throttled',
  resourceoperationrateexceeded: 'Throttled',
  quotaexceeded: 'QuotaExceeded',
  limitexceeded: 'QuotaExceeded',
  alreadyexists: 'Taken',
  resourcealreadyexists: 'Taken',
  resourceinusebyanotherresource: 'Busy',
  resourcenotready: 'Busy',
  conditionnotmet: 'Stale',
  invalidfingerprint: 'Stale',
  notfound: 'NotFound',
  resourcenotfound: 'NotFound',
  forbidden: 'Forbidden',
  insufficientpermissions: 'Forbidden',
  accessnotconfigured: 'Forbidden',
  permissionserror: 'Forbidden',
  autherror: 'Unauthorized',
  backenderror: 'Unavailable',
  internalerror: 'Unavailable',
};
const longestRestMs = 60_000;

/** An answer that is no success. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { status } = answer;
  const { reason, message } = readError(answer.text);
  // A 404 without the API's own word for it is of a proxy or a wrong endpoint.
  const byStatus = status === 404 ? 'Unavailable' : status === 412 ? 'Stale' : kindOfHttpStatus(status);
  const kind = kinds[reason] ?? byStatus;
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [String(status), reason, message].filter((part) => part !== '').join(' '),
    retryAfterMs: kind === 'Throttled' || kind === 'Unavailable' ? restMs(answer, nowMs) : undefined,
    cause: { reason, message } satisfies Refusal,
  });
}

/** An operation that ended with errors; undefined where it ended well. */
export function errorOfOperation(name: string, operation: AnswerFields): CloudError | undefined {
  const [first] = operation.optionalObject('error')?.optionalObjects('errors') ?? [];
  const status = operation.optionalNumber('httpErrorStatusCode');
  if (first === undefined && status === undefined) return undefined;
  const reason = normal(first?.optionalText('code') ?? '');
  const message = (first?.optionalText('message') ?? '').slice(0, 300);
  const kind = kinds[reason] ?? (status === undefined ? 'Unavailable' : kindOfHttpStatus(status));
  const cause: Refusal = { reason, message };
  return new CloudError({ kind, cloud, operation: name, message: `${reason} ${message}`.trim(), cause });
}

/**
 * Whether the API says that this very resource does not exist. It says so of a missing project or zone, too, and that
 * proves nothing.
 *
 * @param resource the end of its path: `zones/us-central1-a/instances/node-1`
 */
export function saysMissing(error: unknown, resource: string): boolean {
  if (!isCloudError(error) || error.kind !== 'NotFound') return false;
  return (error.cause as Partial<Refusal> | undefined)?.message?.includes(`/${resource}'`) === true;
}

/** For `catch`: throws the error, but `NotFound` only where the API says it of this very resource. */
export const throwProved =
  (resource: string) =>
  (error: unknown): never => {
    if (!isCloudError(error) || error.kind !== 'NotFound' || saysMissing(error, resource)) throw error;
    const message = `404, but not about ${resource}: ${error.message}`;
    throw new CloudError({ kind: 'Unavailable', cloud, operation: error.operation, message, cause: error });
  };

const normal = (reason: string) => reason.replaceAll('_', '').toLowerCase();

function readError(text: string): Refusal {
  try {
    const { errors, message } = JSON.parse(text).error;
    const reason = Array.isArray(errors) ? errors[0]?.reason : undefined;
    return { reason: normal(String(reason ?? '')), message: String(message ?? '').slice(0, 300) };
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
    return { reason: '', message: '' };
  }
}

function restMs(answer: HttpAnswer, nowMs: number): number | undefined {
  const askedMs = retryAfterMsOf(answer, nowMs);
  return askedMs && Math.min(Math.max(askedMs, 1000), longestRestMs);
}
