import { CloudError, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';
import { objectOf, textOf } from './json.ts';

/** The answer's document. @throws CloudError `Unavailable`: a cut body and a proxy's page look alike */
export function jsonOf(answer: HttpAnswer, operation: string): unknown {
  try {
    return JSON.parse(answer.text);
  } catch {
    const message = 'the answer is not JSON, or not all of it';
    throw new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation, message });
  }
}

/** What the services say on a failure: `{"<fault>": {"code": 404, "message": "…"}}`, Neutron with `type` and `message`. */
interface Fault {
  readonly status: number;
  /** `itemNotFound`, `NeutronError`, `error`; undefined when the body is somebody else's. */
  readonly name: string | undefined;
}

/** An answer that is no success as a CloudError; `kind` where the status alone would say too much. */
export function errorOf(operation: string, answer: HttpAnswer, kind?: CloudError['kind']): CloudError {
  let name: string | undefined;
  let message: string | undefined;
  try {
    const [first] = Object.entries(objectOf(JSON.parse(answer.text)) ?? {});
    const fault = objectOf(first?.[1]);
    message = textOf(fault?.['message']) ?? textOf(first?.[1]);
    if (fault !== undefined) name = first?.[0];
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  // Nova of old answers 413 with Retry-After when a rate limit is hit.
  const throttled = answer.status === 429 || (answer.status === 413 && answer.header('retry-after') !== null);
  const cause: Fault = { status: answer.status, name };
  return new CloudError({
    kind: throttled ? 'Throttled' : (kind ?? kindOfHttpStatus(answer.status)),
    cloud: 'openstack',
    operation,
    message: `${answer.status}${message === undefined ? '' : ` ${message.slice(0, 300)}`}`,
    retryAfterMs: retryAfterMs(answer),
    cause,
  });
}

/** Nova's own word that a server does not exist: a 404 with its `itemNotFound`. Any other 404 may be a proxy's. */
export function isItemNotFound(error: unknown): boolean {
  return isNotFound(error, 'itemNotFound');
}

/** Keystone's own word that it does not know what was shown. */
export function isKeystoneNotFound(error: unknown): boolean {
  return isNotFound(error, 'error');
}

function isNotFound(error: unknown, name: string): boolean {
  if (!isCloudError(error) || error.kind !== 'NotFound') return false;
  const fault = error.cause as Fault | undefined;
  return fault?.status === 404 && fault.name === name;
}

function retryAfterMs(answer: HttpAnswer): number | undefined {
  const text = answer.header('retry-after');
  if (text === null) return undefined;
  const seconds = Number(text);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined;
}
