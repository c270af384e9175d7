import {
  CloudError,
  type CloudErrorDetails,
  type CloudErrorKind,
  kindOfHttpStatus,
} from '../../../common/cloud-error.ts';

/**
 * Kinds of the error codes of EC2 and both Elastic Load Balancing APIs; see "Error codes for the Amazon EC2 API" and
 * "Common errors" of the others.
 */
const kindOfCode: ReadonlyMap<string, CloudErrorKind> = new Map<string, CloudErrorKind>([
  ...[
    'AuthFailure',
    'InvalidClientTokenId',
    'UnrecognizedClientException',
    'SignatureDoesNotMatch',
    'ExpiredToken',
    'ExpiredTokenException',
    'RequestExpired',
    'MissingAuthenticationToken',
    'IncompleteSignature',
    'CredentialsProviderError',
    'TokenProviderError',
  ].map((code) => [code, 'Unauthorized'] as const),
  ...[
    'UnauthorizedOperation',
    'AccessDenied',
    'AccessDeniedException',
    'OptInRequired',
    'Blocked',
    'PendingVerification',
  ].map((code) => [code, 'Forbidden'] as const),
  ...[
    'RequestLimitExceeded',
    'Throttling',
    'ThrottlingException',
    'ThrottledException',
    'RequestThrottled',
    'RequestThrottledException',
    'TooManyRequestsException',
    'EC2ThrottledException',
    'SlowDown',
    'BandwidthLimitExceeded',
    'ThrottledRequest',
  ].map((code) => [code, 'Throttled'] as const),
  ...['InternalError', 'InternalFailure', 'InternalServerError', 'ServiceUnavailable', 'Unavailable'].map(
    (code) => [code, 'Unavailable'] as const,
  ),
  ...[
    'DependencyViolation',
    'ResourceInUse',
    'OperationNotPermitted',
    'IncorrectState',
    'IncorrectInstanceState',
    'DuplicateLoadBalancerName',
    'DuplicateAccessPointName',
    'DuplicateTargetGroupName',
    'DuplicateListener',
    'DuplicatePolicyName',
    'DuplicateTagKeys',
    'RouteAlreadyExists',
    'PriorRequestNotComplete',
    'IdempotentParameterMismatch',
    'ConcurrentModification',
    'Resource.AlreadyAssociated',
  ].map((code) => [code, 'Conflict'] as const),
  ...['InsufficientFreeAddressesInSubnet', 'InsufficientAddressCapacity', 'InsufficientCapacity'].map(
    (code) => [code, 'QuotaExceeded'] as const,
  ),
  ['RequestTimeout', 'Timeout'],
  ['TimeoutError', 'Timeout'],
]);

/** The code as it came over the wire, or the SDK's own name for the failure; also of the CloudError made of it. */
export function codeOf(error: unknown): string {
  if (error instanceof CloudError && error.cause !== undefined) return codeOf(error.cause);
  if (!(error instanceof Error)) return 'unknown';
  const wire = (error as { Error?: { Code?: unknown } }).Error?.Code;
  if (typeof wire === 'string') return wire;
  if ('Code' in error && typeof error.Code === 'string') return error.Code;
  return error.name;
}

/**
 * A failure of the SDK as a CloudError. A 404 without a code of EC2 comes from a proxy and says nothing about an
 * instance.
 */
export function toCloudError(error: unknown, operation: string): CloudError {
  if (error instanceof CloudError) return error;
  const code = codeOf(error);
  const { code: reason, $metadata, $response } = (error ?? {}) as SdkFailure;
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  const isCut = reason === 'ECONNRESET' || reason === 'EPIPE';
  const seconds = Number($response?.headers?.['retry-after']);
  const retryAfterMs = seconds > 0 && Number.isFinite(seconds) ? seconds * 1000 : undefined;
  return awsError(kindOf(code, status, isCut), operation, `${code}: ${firstLine(error)}`, {
    retryAfterMs,
    cause: error,
  });
}

/** What may be known of an error of the SDK. */
interface SdkFailure {
  readonly code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> };
}

function kindOf(code: string, status: number | undefined, cut: boolean): CloudErrorKind {
  // The SDK calls a connection that was cut a TimeoutError too.
  if (code === 'TimeoutError' && cut) return 'Unavailable';
  const known = kindOfCode.get(code);
  if (known !== undefined) return known;
  if (/.NotFound$/.test(code)) return 'NotFound';
  if (/\.(Duplicate|InUse)$/.test(code)) return 'Conflict';
  if (code.endsWith('LimitExceeded') || code.startsWith('TooMany')) return 'QuotaExceeded';
  // No status: nothing came back. 2xx: the answer could not be read.
  if (status === undefined || status < 400 || status === 404) return 'Unavailable';
  return kindOfHttpStatus(status);
}

/** Only the first line, since a signature mismatch goes on to quote the signed headers. */
function firstLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n', 1)[0] ?? '').slice(0, 300);
}

/** A failure that AWS has not told by an error of its own. */
export function awsError(
  kind: CloudErrorKind,
  operation: string,
  message: string,
  more: Pick<CloudErrorDetails, 'cause' | 'retryAfterMs' | 'subjects'> = {},
): CloudError {
  return new CloudError({ ...more, kind, cloud: 'aws', operation, message });
}

/** What the cloud answered, or what a Service asks for, cannot be used. */
export function invalid(operation: string, message: string): CloudError {
  return awsError('Invalid', operation, message);
}
