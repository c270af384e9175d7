/**
 * The closed set of cloud failures. Every decision depends on the kind, never on a message.
 *
 * | kind | meaning | retryable |
 * |---|---|---|
 * | Unauthorized | the credential was refused (401) | yes: it may be renewed |
 * | Forbidden | the credential lacks the permission (403) | yes, slowly: a person may grant it |
 * | Throttled | too many calls (429 and its kin) | yes, after retryAfterMs |
 * | NotFound | the resource does not exist; for an instance this alone does not prove its absence | no |
 * | Conflict | a concurrent change, or an ambiguous answer | yes |
 * | Busy | another operation has locked the resource; the same call can be repeated later | yes |
 * | Stale | the version in the call is outdated; read again and send a new call | yes |
 * | Taken | another resource has the name, the port or the address range | yes, after a check of its owner |
 * | QuotaExceeded | the quota of the account is used up | yes, slowly |
 * | Invalid | the request is wrong, or the answer is not as the cloud documents | no |
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
  /** The call, by the cloud's own name (`DescribeInstances`, `GET /servers/detail`). */
  readonly operation: string;
  /** Free of credentials. */
  readonly message: string;
  /** The wait that the cloud requested, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The refused items of a batch, by the ids in the request; the others can be sent again without them. */
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
  readonly #details: CloudErrorDetails;

  constructor(details: CloudErrorDetails) {
    super(`${details.cloud} ${details.operation}: ${details.message}`, { cause: details.cause });
    this.name = 'CloudError';
    this.kind = details.kind;
    this.cloud = details.cloud;
    this.operation = details.operation;
    this.retryable = !notRetryable.has(details.kind);
    this.retryAfterMs = details.retryAfterMs;
    this.subjects = details.subjects ?? [];
    this.#details = details;
  }

  /** The same error with other details; its message as it was given. */
  with(changes: Partial<CloudErrorDetails>): CloudError {
    return new CloudError({ ...this.#details, ...changes });
  }

  /** The message without cloud and operation. */
  get bareMessage(): string {
    return this.#details.message;
  }
}

export function isCloudError(error: unknown): error is CloudError {
  return error instanceof CloudError;
}

/** The kind of an HTTP status, for APIs that use HTTP's meanings; not for 2xx and 3xx. */
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
