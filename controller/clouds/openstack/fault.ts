import { CloudError, type CloudErrorKind, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import type { JsonObject } from './json.ts';

/**
 * Body of a failure: `{"<fault>": {"code": 404, "message": "…"}}`, Neutron with `type` and `message`, Octavia
 * `{"faultcode": "Client", "faultstring": "…"}`, Barbican `{"code", "title", "description"}`. The cause of the
 * CloudError.
 */
export interface Fault {
  readonly status: number;
  /** `itemNotFound`, `NeutronError`, `error`, `faultcode`; undefined for a foreign body. */
  readonly name: string | undefined;
  /** Neutron's own type: `RouterNotFound`, `OverQuota`. */
  readonly type: string | undefined;
  readonly message: string | undefined;
}

const octaviaFault = 'faultcode';

/** What a service said, of an error that is its answer. */
export function faultOf(error: unknown): Fault | undefined {
  if (!isCloudError(error)) return undefined;
  const cause = error.cause as Partial<Fault> | undefined;
  return typeof cause?.status === 'number' ? (cause as Fault) : undefined;
}

/** Of a write that was meant for another state than the one there is: it is read again. */
export function isOutdated(error: unknown): boolean {
  return isCloudError(error) && (error.kind === 'Stale' || error.kind === 'Conflict');
}

/**
 * "The account is full" comes as 403 (Nova, Octavia), 409 (Neutron's quotas and subnets without a free address) or 400
 * (a router's routes, a port's address pairs).
 */
const fullTypes: ReadonlySet<string> = new Set([
  'OverQuota',
  'RoutesExhausted',
  'AllowedAddressPairExhausted',
  'IpAddressGenerationFailure',
  'IpAddressGenerationFailureAllSubnets',
  'IpAddressGenerationFailureNoMatchingSubnet',
  'ExternalIpAddressExhausted',
]);
const fullWords = /quota (has been met|exceeded)|exceeds the maximum/i;
const takenTypes: ReadonlySet<string> = new Set(['FloatingIPPortAlreadyAssociated', 'SecurityGroupRuleExists']);

function kindOf(fault: Fault): CloudErrorKind {
  const { status, name, type = '', message = '' } = fault;
  const isFull = fullTypes.has(type) || fullWords.test(message);
  if (isFull && [400, 403, 409, 413].includes(status)) return 'QuotaExceeded';
  if (status === 404 && saysNotFound(fault)) return 'NotFound';
  if (status === 404 || status === 410) return 'Unavailable';
  if (status === 412) return 'Stale';
  if (takenTypes.has(type)) return 'Taken';
  // Its provider does not have what is asked for.
  if (status === 501 && name === octaviaFault) return 'Invalid';
  if (status === 409 && name === octaviaFault) {
    // It works on the load balancer, or that is in ERROR.
    if (/immutable|invalid state/i.test(message)) return 'Stale';
    if (/already/i.test(message)) return 'Taken';
  }
  return kindOfHttpStatus(status);
}

/**
 * Whether a service itself states that the object of the request does not exist: Neutron and Octavia name it. A 404 or
 * 410 of a proxy, or of a path that the service does not have (`HTTPNotFound`), is no such statement.
 */
function saysNotFound({ name, type, message = '' }: Fault): boolean {
  if (name === 'NeutronError') return type !== undefined && type !== 'HTTPNotFound';
  return name === 'itemNotFound' || (name === octaviaFault && / not found/i.test(message));
}

/** An answer that is no success as a CloudError. @param nowMs Unix time */
export function errorOf(operation: string, answer: HttpAnswer, nowMs: number): CloudError {
  const cause = readFault(answer);
  const { status, message } = cause;
  // Nova of old answers 413 with Retry-After when a rate limit is hit.
  const isThrottled = status === 429 || (status === 413 && answer.header('retry-after') !== null);
  return new CloudError({
    kind: isThrottled ? 'Throttled' : kindOf(cause),
    cloud: 'openstack',
    operation,
    message: `${status}${message === undefined ? '' : ` ${message.slice(0, 300)}`}`,
    retryAfterMs: retryAfterMsOf(answer, nowMs),
    cause,
  });
}

function readFault({ status, text }: HttpAnswer): Fault {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  const entries = Object.entries(objectOf(body) ?? {});
  const [first] = entries;
  const inner = objectOf(first?.[1]);
  const flat = objectOf(body) ?? {};
  if (inner === undefined && textOf(flat['faultstring']) !== undefined) {
    return { status, name: octaviaFault, type: textOf(flat['faultcode']), message: textOf(flat['faultstring']) };
  }
  return {
    status,
    name: inner === undefined ? undefined : first?.[0],
    type: textOf(inner?.['type']),
    message: textOf(inner?.['message']) ?? textOf(flat['description']) ?? textOf(flat['message']) ?? textOf(first?.[1]),
  };
}

function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
