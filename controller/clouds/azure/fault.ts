import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { retryAfterMsOf } from '../retry-after.ts';

export const cloud = 'azure';

/** What Resource Manager said when it refused: the cause of the CloudError. */
export interface Refusal {
  /** Undefined: a long operation failed. */
  readonly status: number | undefined;
  /** `AnotherOperationInProgress`; empty: the body is of something else. */
  readonly code: string;
  readonly message: string;
}

/** By the code in lower case; those of `details` come first. */
const kinds: Readonly<Record<string, CloudErrorKind>> = {
  anotheroperationinprogress: 'Busy',
  retryableerrorduetoanotheroperation: 'Busy',
  canceledandsupersededduetoanotheroperation: 'Busy',
  referencedresourcenotprovisioned: 'Busy',
  // With status 429, and nothing to do with the number of calls.
  retryableerror: 'Busy',
  preconditionfailed: 'Stale',
  // A credential of another tenant: its token is good, and sees no subscription here.
  invalidauthenticationtokentenant: 'Forbidden',
  subscriptionnotfound: 'Forbidden',
  invalidsubscriptionid: 'Forbidden',
  scopelocked: 'Forbidden',
  readonlydisabledsubscription: 'Forbidden',
  requestdisallowedbypolicy: 'Forbidden',
  // That of the resource itself: a missing resource group proves nothing about what was in it.
  resourcenotfound: 'NotFound',
  notfound: 'NotFound',
  parentresourcenotfound: 'NotFound',
  resourcegroupnotfound: 'Unavailable',
  toomanyrequests: 'Throttled',
};
const quota = /quota|limit.*(exceeded|reached)|^maximum/i;

/** An answer that is no success. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { status } = answer;
  const refusals = readError(answer.text);
  const asked = retryAfterMsOf(answer, nowMs);
  return errorOfRefusal(operation, refusals, status, asked);
}

/** A long operation that ended in `Failed` or `Canceled`. @param error its `error` */
export function errorOfOperation(operation: string, error: unknown): CloudError {
  return errorOfRefusal(operation, readError(JSON.stringify({ error })), undefined, undefined);
}

function errorOfRefusal(
  operation: string,
  refusals: readonly { readonly code: string; readonly message: string }[],
  status: number | undefined,
  askedMs: number | undefined,
): CloudError {
  const [{ code, message } = { code: '', message: '' }] = refusals;
  const named = refusals
    .toReversed()
    .map((one) => kindOfCode(one.code, status))
    .find((kind) => kind !== undefined);
  const kind = named ?? kindOfStatus(status);
  const seconds = /retried in (\d+) seconds/.exec(refusals.map((one) => one.message).join(' '))?.[1];
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [status === undefined ? '' : String(status), ...refusals.map((one) => `${one.code} ${one.message}`)]
      .filter((part) => part.trim() !== '')
      .join(' ')
      .slice(0, 400),
    retryAfterMs: askedMs ?? (seconds === undefined ? undefined : Number(seconds) * 1000),
    cause: { status, code, message } satisfies Refusal,
  });
}

/** For answers without a code that tells more. */
function kindOfStatus(status: number | undefined): CloudErrorKind {
  if (status === 412) return 'Stale';
  // A 404 or 410 without the API's own word for it is of a proxy or a wrong endpoint.
  if (status === undefined || status === 404 || status === 410) return 'Unavailable';
  return kindOfHttpStatus(status);
}

function kindOfCode(code: string, status: number | undefined): CloudErrorKind | undefined {
  const kind = kinds[code.toLowerCase()];
  // Of another status the same word is about something that the request refers to.
  if (kind === 'NotFound' && status !== 404) return undefined;
  if (kind !== undefined || status === 429) return kind;
  return quota.test(code) ? 'QuotaExceeded' : undefined;
}

/** The error and its details, from the outside in. */
function readError(text: string): { readonly code: string; readonly message: string }[] {
  try {
    const error = JSON.parse(text).error;
    return [error, ...(Array.isArray(error.details) ? error.details : [])].flatMap(({ code, message }) =>
      typeof code === 'string' ? [{ code: code.slice(0, 80), message: String(message ?? '').slice(0, 300) }] : [],
    );
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
    return [];
  }
}
