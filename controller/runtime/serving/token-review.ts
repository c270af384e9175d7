import { isKubeError, type KubeApi } from '../../kube/api.ts';

/** The API server's verdict on a token. */
export interface TokenReview {
  readonly authenticated: boolean;
  /** Why the token is invalid, in the API server's words; free of the token. */
  readonly error: string;
  readonly username: string;
  readonly groups: readonly string[];
  readonly audiences: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  readonly uid: string;
}

const extraPrefix = 'authentication.kubernetes.io/';

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** Parses the status of a TokenReview. A missing field, or one of another type, counts as empty. */
export function readTokenReview(answer: unknown): TokenReview {
  const status = record(record(answer)['status']);
  const user = record(status['user']);
  const extra: Record<string, readonly string[]> = {};
  for (const [key, values] of Object.entries(record(user['extra']))) extra[key] = strings(values);
  return {
    authenticated: status['authenticated'] === true,
    error: text(status['error']).slice(0, 512),
    username: text(user['username']),
    uid: text(user['uid']),
    groups: strings(user['groups']),
    audiences: strings(status['audiences']),
    extra,
  };
}

/**
 * The only value of one of the API server's own extras; undefined when there is none, null when there are several or it
 * is empty.
 */
export function soleExtra(review: TokenReview, name: string): string | undefined | null {
  const values = review.extra[`${extraPrefix}${name}`];
  if (values === undefined || values.length === 0) return undefined;
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== '' ? value : null;
}

/**
 * Has the API server review a token. Changes nothing and is safe to repeat. Standbys use it, too, so pass an API
 * without a fence.
 * @param audiences empty: the API server's own
 * @throws KubeError when the API server did not answer
 */
export async function reviewToken(
  api: KubeApi,
  token: string,
  audiences: readonly string[],
  timeoutMs = 10_000,
): Promise<TokenReview> {
  const spec = audiences.length > 0 ? { token, audiences } : { token };
  try {
    const answer = await api.call({
      verb: 'create',
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec },
      timeoutMs,
    });
    return readTokenReview(answer);
  } catch (error) {
    // 400 and 422 are verdicts on the token, not outages.
    if (isKubeError(error) && (error.status === 400 || error.status === 422)) {
      return { ...readTokenReview({}), error: 'refused as malformed' };
    }
    throw error;
  }
}
