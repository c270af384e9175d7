import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { HttpAnswer } from '../../../common/process/http.ts';

export const cloud = 'alibaba';

/** The first that matches. Codes are those of the error centre of Alibaba Cloud: `InvalidInstanceId.NotFound`. */
const kinds: readonly (readonly [RegExp, CloudErrorKind])[] = [
  [/^Throttling|FlowControl|^(TooManyRequests|ServiceUnavailable\.Throttling)/i, 'Throttled'],
  [
    /^(InvalidAccessKeyId|InvalidSecurityToken|SignatureDoesNotMatch|IncompleteSignature|Missing\w*Token)/,
    'Unauthorized',
  ],
  [/^(InvalidTimeStamp|SignatureNonceUsed|AuthenticationFail|InvalidOIDCToken)/, 'Unauthorized'],
  [/^(Forbidden|NoPermission|NotAuthorized|UnauthorizedOperation|Authorization)/, 'Forbidden'],
  [/^InvalidRegionId/, 'Invalid'],
  [/Quota|OverLimit|LimitExceed|^InsufficientBalance|NotEnough/i, 'QuotaExceeded'],
  [/Incorrect\w*Status|StatusNotSupport|Conflict|Configuring|InUse|RspoolVipExist|IsStopping/i, 'Busy'],
  [/OperationBusy|LastTokenProcessing|DistibuteLock/i, 'Busy'],
  [/Duplicat|AlreadyExist/i, 'Taken'],
  [/NotFound|NotExist/i, 'NotFound'],
  [/^(InternalError|SystemBusy|ServiceUnavailable|UnknownError)/, 'Unavailable'],
  [/Timeout/i, 'Timeout'],
];

/** An answer that is no success. */
export function errorOf(operation: string, { status, text }: Pick<HttpAnswer, 'status' | 'text'>): CloudError {
  const { code, message } = readError(text);
  const kind = kindOfCode(code) ?? (status === 404 ? 'Unavailable' : kindOfHttpStatus(status));
  // What the API expected to be signed is no text for a log.
  const said = kind === 'Unauthorized' ? '' : message;
  return new CloudError({
    kind,
    cloud,
    operation,
    message: [String(status), code, said].filter((part) => part !== '').join(' '),
    cause: { code },
  });
}

export function kindOfCode(code: string): CloudErrorKind | undefined {
  return kinds.find(([pattern]) => pattern.test(code))?.[1];
}

/** Empty for an error that is no answer of the API. */
export function codeOf(error: unknown): string {
  if (!(error instanceof CloudError)) return '';
  return (error.cause as { readonly code?: string } | undefined)?.code ?? '';
}

function readError(text: string): { readonly code: string; readonly message: string } {
  try {
    const { Code: code, Message: message } = JSON.parse(text);
    if (typeof code === 'string') return { code, message: String(message ?? '').slice(0, 300) };
  } catch {
    // A proxy's page, or a body that was cut: the status says enough.
  }
  return { code: '', message: '' };
}

export function invalid(operation: string, message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
