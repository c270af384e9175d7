import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../common/process/clock.ts';
import type { KubeApi } from '../../kube/api.ts';
import { createSemaphore } from '../semaphore.ts';
import { createReviewRateLimiter } from './review-rate-limiter.ts';
import { reviewToken } from './token-review.ts';
import { createVerdictCache } from './verdict-cache.ts';

export type Access =
  | { readonly allowed: true; readonly user: string }
  /** 401: the token is invalid. 403: the user has no permission. 503: the API server did not answer. */
  | { readonly allowed: false; readonly status: 401 | 403 | 503; readonly message: string }
  /** 429: too many reviews for clients that are not trusted yet. */
  | { readonly allowed: false; readonly status: 429; readonly message: string; readonly retryAfterSeconds: number };

/** How long each verdict is cached, in milliseconds. */
export interface AccessTimes {
  readonly tokenMs: number;
  readonly authorizedMs: number;
  readonly unauthorizedMs: number;
}

export const defaultAccessTimes: AccessTimes = { tokenMs: 10_000, authorizedMs: 10_000, unauthorizedMs: 10_000 };

export interface AccessOptions {
  /** Not fenced. */
  readonly api: KubeApi;
  readonly clock: Clock;
  /** Default: upstream's, ten seconds each. */
  readonly times?: AccessTimes | undefined;
}

export interface AccessRequest {
  readonly path: string;
  /** Empty = none. */
  readonly token: string;
  /** The group of addresses that the client's address belongs to. */
  readonly group: string;
}

interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
/** A token that was recently granted access is reviewed again without a rate limit. */
const trustedForMs = 3_600_000;
const maxTrusted = 100;
/** Concurrent reviews per kind of client: the API client has only 31 connections, and reconcilers need them. */
const callsAtOnce = 2;
const maxWaiting = 16;

/** Too many reviews; the client may try again later. */
class RateLimitedError extends Error {
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too many requests of clients that have proved nothing');
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Decides who may read a path as Kubernetes' own components do: TokenReview for the token, SubjectAccessReview for the
 * permission, which `system:masters` do not need; a request without a token is `system:anonymous`. Failures are not
 * cached. Clients that were never granted access share a small number of calls to the API server, so that trusted
 * clients do not wait behind them.
 */
export function createAccess({ api, clock, times = defaultAccessTimes }: AccessOptions) {
  const users = createVerdictCache<{ readonly user: User | undefined }>(clock, () => times.tokenMs, 1_000);
  const rights = createVerdictCache<{ readonly allowed: boolean }>(
    clock,
    ({ allowed }) => (allowed ? times.authorizedMs : times.unauthorizedMs),
    1_000,
  );
  const trusted = new LRUCache<string, number>({ max: maxTrusted });
  const reviewLimiter = createReviewRateLimiter(clock);
  const limit = { waiting: maxWaiting, refuse: () => new RateLimitedError(1_000) };
  const reviews = {
    trusted: createSemaphore(callsAtOnce, limit),
    untrusted: createSemaphore(callsAtOnce, limit),
  };

  const isTrusted = (key: string) => clock.monotonic() < (trusted.get(key) ?? 0);

  /** Makes one call to the API server for this client. Throws a RateLimitedError when it may not be made now. */
  async function ask<T>(key: string, group: string, call: () => Promise<T>): Promise<T> {
    if (isTrusted(key)) return reviews.trusted.run(call);
    const waitMs = reviewLimiter.take(group);
    if (waitMs > 0) throw new RateLimitedError(waitMs);
    return reviews.untrusted.run(call);
  }

  async function userOf(token: string): Promise<{ readonly user: User | undefined }> {
    const review = await reviewToken(api, token, []);
    const isValid = review.authenticated && review.error === '' && review.username !== '';
    const { username: name, uid, groups, extra } = review;
    return { user: isValid ? { name, uid, groups, extra } : undefined };
  }

  async function rightOf(user: User, path: string): Promise<{ readonly allowed: boolean }> {
    const answer = await api.call<{ status?: { allowed?: unknown } }>({
      verb: 'create',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {},
        spec: {
          user: user.name,
          groups: user.groups,
          ...(user.uid === '' ? {} : { uid: user.uid }),
          extra: user.extra,
          nonResourceAttributes: { path, verb: 'get' },
        },
      },
    });
    return { allowed: answer.status?.allowed === true };
  }

  async function decide({ path, token, group }: AccessRequest): Promise<Access> {
    const key = token === '' ? '' : createHash('sha256').update(token).digest('base64');
    const { user } =
      token === '' ? { user: anonymous } : await users.get(key, () => ask(key, group, () => userOf(token)));
    if (!user) {
      trusted.delete(key);
      return { allowed: false, status: 401, message: 'Unauthorized' };
    }
    const subject = JSON.stringify([user.name, user.uid, user.groups, user.extra, path]);
    const { allowed } = user.groups.includes('system:masters')
      ? { allowed: true }
      : await rights.get(subject, () => ask(key, group, () => rightOf(user, path)));
    if (!allowed) return { allowed: false, status: 403, message: `User "${user.name}" cannot get path "${path}"` };
    if (token !== '') trusted.set(key, clock.monotonic() + trustedForMs);
    return { allowed: true, user: user.name };
  }

  return async (request: AccessRequest): Promise<Access> => {
    try {
      return await decide(request);
    } catch (error) {
      if (error instanceof RateLimitedError) {
        const retryAfterSeconds = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
        return { allowed: false, status: 429, message: error.message, retryAfterSeconds };
      }
      return { allowed: false, status: 503, message: 'the API server could not review the access' };
    }
  };
}
