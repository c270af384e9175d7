/**
 * The closed set of cloud failures. Every decision depends on the kind, never on a message.
 *
 * | kind | meaning | retryable |
 * |---|---|---|
 * | Unauthorized | the credential was refused (401) | yes: it may be renewed |
 * | Forbidden | the credential may not do this (403) | yes, slowly: a person may grant it |
 * | Throttled | too many calls (429 and its kin) | yes, after retryAfterMs |
 * | NotFound | the thing asked for is not there; for an instance this is no proof of absence by itself | no |
 * | Conflict | somebody else changed it, or the answer is ambiguous | yes |
 * | Busy | another operation holds a lock on it; the same call can be sent again later | yes |
 * | Stale | the version that the call was sent with is old; read, and send a new one | yes |
 * | Taken | another resource holds the name, the port or the address range | yes, after a look at whose it is |
 * | QuotaExceeded | the account is full | yes, slowly |
 * | Invalid | we asked wrongly, or the answer is not what the cloud documents | no |
 * | Unavailable | 5xx, connection refused or cut, partial answer | yes |
 * | Timeout | no answer in time; a mutation may have happened | yes |
 */
export const cloudErrorKinds = [
  'Unauthorized',
  'Forbidden',
  'Throttled',
  'NotFound',
  'Conflict',
  'Busy',
  'Stale',
  'Taken',
  'QuotaExceeded',
  'Invalid',
  'Unavailable',
  'Timeout',
] as const;

export type CloudErrorKind = (typeof cloudErrorKinds)[number];

const notRetryable: ReadonlySet<CloudErrorKind> = new Set(['NotFound', 'Invalid']);

export interface CloudErrorDetails {
  readonly kind: CloudErrorKind;
  /** Which cloud, by its name in `--cloud-provider`. */
  readonly cloud: string;
  /** Which call, in the cloud's own words (`DescribeInstances`, `GET /servers/detail`). */
  readonly operation: string;
  /** Free of credentials. */
  readonly message: string;
  /** How long the cloud asked us to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** Which of several things sent together were refused, by the ids they were sent with; the others could be sent again without them. */
  readonly subjects?: readonly string[] | undefined;
  readonly cause?: unknown;
}

/** A failure of a cloud's API or metadata service, as data. */
export class CloudError extends Error {
  readonly kind: CloudErrorKind;
  readonly cloud: string;
  readonly operation: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly subjects: readonly string[];

  constructor(details: CloudErrorDetails) {
    super(`${details.cloud} ${details.operation}: ${details.message}`, { cause: details.cause });
    this.name = 'CloudError';
    this.kind = details.kind;
    this.cloud = details.cloud;
    this.operation = details.operation;
    this.retryable = !notRetryable.has(details.kind);
    this.retryAfterMs = details.retryAfterMs;
    this.subjects = details.subjects ?? [];
  }
}

export function isCloudError(error: unknown): error is CloudError {
  return error instanceof CloudError;
}

/** The kind an HTTP status stands for, for APIs that follow HTTP's own meanings; 2xx and 3xx have none. */
export function kindOfHttpStatus(status: number): CloudErrorKind {
  if (status === 401) return 'Unauthorized';
  if (status === 403) return 'Forbidden';
  if (status === 404 || status === 410) return 'NotFound';
  if (status === 408 || status === 504) return 'Timeout';
  if (status === 409 || status === 412) return 'Conflict';
  if (status === 429) return 'Throttled';
  if (status >= 500) return 'Unavailable';
  return 'Invalid';
}
