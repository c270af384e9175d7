import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { restMsOf } from '../retry-after.ts';

export const cloud = 'hetzner';

/** What the API said when it refused: the cause of the CloudError. */
export interface Refusal {
  /** Undefined: an action failed. */
  readonly status: number | undefined;
  /**
   * As docs.hetzner.cloud lists them (`locked`); those of the robot in lower case. Empty: the body is of something
   * else.
   */
  readonly code: string;
  readonly message: string;
}

const kinds: Readonly<Record<string, CloudErrorKind>> = {
  unauthorized: 'Unauthorized',
  forbidden: 'Forbidden',
  token_readonly: 'Forbidden',
  protected: 'Forbidden',
  not_found: 'NotFound',
  server_not_found: 'NotFound',
  reset_not_available: 'NotFound',
  rate_limit_exceeded: 'Throttled',
  locked: 'Busy',
  // "The resource has changed during the request, please retry": a request has no version that could be old.
  conflict: 'Busy',
  uniqueness_error: 'Taken',
  source_port_already_used: 'Taken',
  target_already_defined: 'Taken',
  ip_not_available: 'Taken',
  load_balancer_already_attached: 'Taken',
  resource_limit_exceeded: 'QuotaExceeded',
  no_subnet_available: 'QuotaExceeded',
  timeout: 'Timeout',
  action_failed: 'Unavailable',
  maintenance: 'Unavailable',
  resource_unavailable: 'Unavailable',
  unavailable: 'Unavailable',
  robot_unavailable: 'Unavailable',
};

/** What the API said, of an error that is its answer. */
export function refusalOf(error: unknown): Refusal | undefined {
  if (!(error instanceof CloudError)) return undefined;
  const cause = error.cause as Partial<Refusal> | undefined;
  return typeof cause?.code === 'string' ? (cause as Refusal) : undefined;
}

/** An answer that is no success. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const { status } = answer;
  const { code, message } = readError(answer.text);
  // A 404 without the API's own word for it is of a proxy or a wrong endpoint.
  const byStatus = status === 404 ? 'Unavailable' : status === 423 ? 'Busy' : kindOfHttpStatus(status);
  const kind = kinds[code] ?? byStatus;
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [String(status), code, message].filter((part) => part !== '').join(' '),
    retryAfterMs: kind === 'Throttled' ? restMsOf(answer, nowMs) : undefined,
    cause: { status, code, message } satisfies Refusal,
  });
}

/** An action that ended in `error`. */
export function errorOfAction(operation: string, code: string, message: string): CloudError {
  const cause: Refusal = { status: undefined, code, message };
  return new CloudError({ kind: kinds[code] ?? 'Unavailable', cloud, operation, message: `${code} ${message}`, cause });
}

function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const { code, message } = JSON.parse(text).error;
    if (typeof code === 'string') return { code: code.toLowerCase(), message: String(message ?? '').slice(0, 300) };
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  return { code: '', message: '' };
}
