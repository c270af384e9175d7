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
  /** 401: the token is not believed. 403: the user may not. 503: the API server could not be asked. */
  | { readonly allowed: false; readonly status: 401 | 403 | 503; readonly message: string }
  /** 429: too many questions to the API server for clients that have proved nothing. */
  | { readonly allowed: false; readonly status: 429; readonly message: string; readonly retryAfterSeconds: number };

/** How long each verdict holds, in milliseconds. */
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
  /** The addresses that count together with the client's. */
  readonly group: string;
}

interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };
/** A token that was allowed something lately is reviewed again without a permit. */
const trustedForMs = 3_600_000;
const maxTrusted = 100;
/** Of each kind of client; the API client has 31 connections, and reconcilers need them. */
const callsAtOnce = 2;
const maxWaiting = 16;

/** Too many questions; the client may come back. */
class RateLimitedError extends Error {
  readonly retryAfterMs: number;
  constructor(retryAfterMs: number) {
    super('too many requests of clients that have proved nothing');
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Decides as Kubernetes' own components do who may read a path: the token by TokenReview, the right by SubjectAccessReview, `system:masters` without
 * the latter, and without a token as `system:anonymous`. Outages are not kept. Clients that have not been allowed anything yet share a small number of calls to the
 * API server; those that have do not wait behind them.
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

  /** Runs one call to the API server for this client. Throws a Limited when it may not be made now. */
  async function ask<T>(key: string, group: string, call: () => Promise<T>): Promise<T> {
    if (isTrusted(key)) return reviews.trusted.run(call);
    const waitMs = reviewLimiter.take(group);
    if (waitMs > 0) throw new RateLimitedError(waitMs);
    return reviews.untrusted.run(call);
  }

  async function userOf(token: string): Promise<{ readonly user: User | undefined }> {
    const review = await reviewToken(api, token, []);
    const believed = review.authenticated && review.error === '' && review.username !== '';
    const { username: name, uid, groups, extra } = review;
    return { user: believed ? { name, uid, groups, extra } : undefined };
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
      return { allowed: false, status: 503, message: 'the API server could not be asked who may read this' };
    }
  };
}
