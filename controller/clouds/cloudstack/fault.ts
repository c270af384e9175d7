import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { retryAfterMsOf } from '../retry-after.ts';

export const cloud = 'cloudstack';

/** What the API said when it refused: the cause of the CloudError. */
export interface Refusal {
  /** The API's own codes, which are its HTTP statuses, too; 0 where the body is of something else. */
  readonly code: number;
  readonly message: string;
}

/** `ApiErrorCode` of the management server. */
const kinds: Readonly<Record<number, CloudErrorKind>> = {
  401: 'Unauthorized',
  405: 'Invalid',
  429: 'Throttled',
  430: 'Invalid',
  431: 'Invalid',
  // The command does not exist, or the role does not have it.
  432: 'Forbidden',
  530: 'Unavailable',
  531: 'Forbidden',
  532: 'QuotaExceeded',
  // No capacity: no free public address, for one.
  533: 'QuotaExceeded',
  534: 'Unavailable',
  535: 'QuotaExceeded',
  536: 'Busy',
  537: 'Taken',
};

/** An answer that is no success. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const refusal = readError(answer.text);
  // A 404 is of a proxy or of a wrong endpoint: the API has none.
  const byStatus = answer.status === 404 ? 'Unavailable' : kindOfHttpStatus(answer.status);
  const kind = kindOf(refusal) ?? byStatus;
  return new CloudError({
    kind,
    cloud,
    operation,
    cause: refusal,
    message: [String(answer.status), refusal.message].filter((part) => part !== '').join(' '),
    retryAfterMs: kind === 'Throttled' ? retryAfterMsOf(answer, nowMs) : undefined,
  });
}

/** A job that failed. */
export function errorOfJob(operation: string, job: AnswerFields): CloudError {
  const result = job.optionalObject('jobresult');
  const code = result?.optionalNumber('errorcode') ?? job.optionalNumber('jobresultcode') ?? 0;
  const message = (result?.optionalText('errortext') ?? 'it tells no reason').slice(0, 300);
  const refusal: Refusal = { code, message };
  const kind = kindOf(refusal) ?? 'Unavailable';
  return new CloudError({ kind, cloud, operation, message: `the job failed: ${code} ${message}`, cause: refusal });
}

/** Whether a job failed for a reason that has no code of its own, as the jobs of all refusals do. */
export function isRefusedInJob({ cause }: CloudError): boolean {
  return (cause as Partial<Refusal> | undefined)?.code === 530;
}

/** Whether the API says that what this parameter names does not exist. It says so of a project, too. */
export function isNoEntity(error: unknown, parameter: string): boolean {
  if (!(error instanceof CloudError)) return false;
  const { code, message = '' } = (error.cause ?? {}) as Partial<Refusal>;
  return code === 431 && isMissing(message) && message.includes(`parameter ${parameter} value=`);
}

function kindOf({ code, message }: Refusal): CloudErrorKind | undefined {
  if (code === 431 && isMissing(message)) return 'NotFound';
  if (code === 431 && /conflicts? with|already (exists|allocated|in use)|is in use/i.test(message)) return 'Taken';
  // A job has no code of its own for it.
  if (code === 530 && /permission/i.test(message)) return 'Forbidden';
  return kinds[code];
}

function isMissing(message: string): boolean {
  return /entity does not exist|unable to find|does ?n[o']t exist/i.test(message);
}

function readError(text: string): Refusal {
  try {
    const [body] = Object.values(JSON.parse(text)) as { readonly errorcode?: unknown; readonly errortext?: unknown }[];
    if (typeof body?.errorcode === 'number')
      return { code: body.errorcode, message: String(body.errortext ?? '').slice(0, 300) };
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  return { code: 0, message: '' };
}
