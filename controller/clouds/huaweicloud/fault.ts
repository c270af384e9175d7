import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';

export const cloud = 'huaweicloud';

const longestRestMs = 60_000;

/** An answer that is no success. */
export function errorOf(operation: string, { status, text, header }: HttpAnswer): CloudError {
  const { code, message } = readError(text);
  const kind = kindOf(status, code, message);
  const after = Number(header('retry-after') ?? Number.NaN) * 1000;
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [String(status), code, message].filter((part) => part !== '').join(' '),
    retryAfterMs:
      kind === 'Throttled' && Number.isFinite(after) ? Math.min(Math.max(after, 1000), longestRestMs) : undefined,
  });
}

function kindOf(status: number, code: string, message: string): CloudErrorKind {
  // The gateway before all services.
  if (code === 'APIGW.0308' || status === 429) return 'Throttled';
  if (/^APIGW\.030[1-37]$/.test(code)) return status === 403 ? 'Forbidden' : 'Unauthorized';
  // A 404 without the word of a service for it is of the gateway, a proxy or a wrong endpoint.
  if (status === 404) return code !== '' && !code.startsWith('APIGW') ? 'NotFound' : 'Unavailable';
  if (/quota/i.test(message) && [400, 403, 409, 413].includes(status)) return 'QuotaExceeded';
  // An immutable state: something else changes it.
  if (status === 409) return /immutable|pending_|busy|locked|being/i.test(message) ? 'Busy' : 'Conflict';
  if (/in use|still has|is used by/i.test(message) && status === 400) return 'Conflict';
  if (status === 400) return 'Invalid';
  return kindOfHttpStatus(status);
}

/** Of an ECS, an EIP, and what ELB has. */
const absent = /\b(Ecs\.0114|VPC\.0504|(EIP|ELB)\.\d{4})\b/;
const anyId = /\b([0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/i;

/** A 404 may be about the project or a disk: absent is what the text names, or what has the code of it alone. */
export function provedAbsent(error: CloudError, id: string): CloudError {
  const { message: text, operation } = error;
  if (text.includes(id) || (absent.test(text) && !anyId.test(text))) return error;
  const message = `${text}: a 404 that is not about ${id}`;
  return new CloudError({ kind: 'Unavailable', cloud, operation, message, cause: error });
}

/** Each service has its own shape: `error_code`, `code`, or one of them below a name. */
function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const top = JSON.parse(text) as Readonly<Record<string, unknown>>;
    const below = Object.values(top).find((one) => typeof one === 'object' && one !== null);
    for (const one of [top, (below ?? {}) as Readonly<Record<string, unknown>>]) {
      const code = one['error_code'] ?? one['code'];
      const message = one['error_msg'] ?? one['message'];
      if (code !== undefined) return { code: String(code).slice(0, 50), message: String(message ?? '').slice(0, 300) };
    }
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  return { code: '', message: '' };
}

/** Of a service that answers a full page with nothing new in it: a list that ended there might not be complete. */
export function endlessPages(operation: string): CloudError {
  return new CloudError({ kind: 'Unavailable', cloud, operation, message: 'pages without an end' });
}
