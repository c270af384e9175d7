import { CloudError, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { parseAnswer } from '../answer-fields.ts';
import { objectOf, textOf } from './json.ts';

/** The answer's document. @throws CloudError `Unavailable` */
export function jsonOf(answer: HttpAnswer, operation: string): unknown {
  return parseAnswer(answer.text, { cloud: 'openstack', operation });
}

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

/** What a service said, of an error that is its answer. */
export function faultOf(error: unknown): Fault | undefined {
  if (!isCloudError(error)) return undefined;
  const cause = error.cause as Partial<Fault> | undefined;
  return typeof cause?.status === 'number' ? (cause as Fault) : undefined;
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

function kindOf({ status, type, message }: Fault): CloudError['kind'] {
  const full = fullTypes.has(type ?? '') || fullWords.test(message ?? '');
  return full && [400, 403, 409, 413].includes(status) ? 'QuotaExceeded' : kindOfHttpStatus(status);
}

/** An answer that is no success as a CloudError; `kind` where the status alone would say too much. */
export function errorOf(operation: string, answer: HttpAnswer, kind?: CloudError['kind']): CloudError {
  const cause = readFault(answer);
  // Nova of old answers 413 with Retry-After when a rate limit is hit.
  const throttled = answer.status === 429 || (answer.status === 413 && answer.header('retry-after') !== null);
  return new CloudError({
    kind: throttled ? 'Throttled' : (kind ?? kindOf(cause)),
    cloud: 'openstack',
    operation,
    message: `${answer.status}${cause.message === undefined ? '' : ` ${cause.message.slice(0, 300)}`}`,
    retryAfterMs: retryAfterMs(answer),
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
    return { status, name: 'faultcode', type: textOf(flat['faultcode']), message: textOf(flat['faultstring']) };
  }
  return {
    status,
    name: inner === undefined ? undefined : first?.[0],
    type: textOf(inner?.['type']),
    message: textOf(inner?.['message']) ?? textOf(flat['description']) ?? textOf(flat['message']) ?? textOf(first?.[1]),
  };
}

/** Nova's own word that a server does not exist: a 404 with its `itemNotFound`. Any other 404 may be a proxy's. */
export function isItemNotFound(error: unknown): boolean {
  return isNotFound(error, 'itemNotFound');
}

/**
 * A service's own statement that the requested object does not exist: Neutron and Octavia name the object. A 404 of a
 * proxy, or of a path that the service does not have (`HTTPNotFound`), is no such statement.
 */
export function isThingNotFound(error: unknown): boolean {
  const fault = notFound(error);
  if (fault === undefined) return false;
  if (fault.name === 'NeutronError') return fault.type !== undefined && fault.type !== 'HTTPNotFound';
  return fault.name === 'faultcode' && / not found/i.test(fault.message ?? '');
}

/** Keystone's own word that it does not know what was shown. */
export function isKeystoneNotFound(error: unknown): boolean {
  return isNotFound(error, 'error');
}

/**
 * The fault of a 404; undefined also where another service (Keystone on the way) sent the 404, which has a kind of its
 * own.
 */
function notFound(error: unknown): Fault | undefined {
  if (!isCloudError(error) || error.kind !== 'NotFound') return undefined;
  const fault = faultOf(error);
  return fault?.status === 404 ? fault : undefined;
}

function isNotFound(error: unknown, name: string): boolean {
  return notFound(error)?.name === name;
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  const text = answer.header('retry-after');
  if (text === null) return undefined;
  const seconds = Number(text);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
