import { isKubeError, type KubeApi } from '../../kube/api.ts';

/** What the API server says about a token. */
export interface TokenReview {
  readonly authenticated: boolean;
  /** Why not, in the API server's words; free of the token. */
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

/** The status of a TokenReview as our own type. What is missing or of another type counts as not said. */
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

/** The only value of one of the API server's own extras; undefined when there is none, null when there is not exactly one that says something. */
export function soleExtra(review: TokenReview, name: string): string | undefined | null {
  const values = review.extra[`${extraPrefix}${name}`];
  if (values === undefined || values.length === 0) return undefined;
  const [value] = values;
  return values.length === 1 && value !== undefined && value !== '' ? value : null;
}

/**
 * Asks the API server about a token. Changes nothing, safe to repeat, and meant for replicas that do not lead too: pass an API without a fence.
 * @param audiences none = the API server's own
 * @throws KubeError when there was no answer
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
    // 400 and 422 are verdicts on what was sent, not outages.
    if (isKubeError(error) && (error.status === 400 || error.status === 422)) {
      return { ...readTokenReview({}), error: 'refused as malformed' };
    }
    throw error;
  }
}
