import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../common/process/clock.ts';
import type { KubeApi } from '../kube/api.ts';
import { reviewToken } from './token-review.ts';

export type Access =
  | { readonly allowed: true; readonly user: string }
  /** 401: the token is not believed. 403: the user may not. 503: the API server could not be asked. */
  | { readonly allowed: false; readonly status: 401 | 403 | 503; readonly message: string };

export interface AccessOptions {
  /** Not fenced. */
  readonly api: KubeApi;
  readonly clock: Clock;
}

interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const keepMs = 10_000;
const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'], extra: {} };

/**
 * Decides as Kubernetes' own components do who may read a path: the token by TokenReview, the right by SubjectAccessReview, `system:masters` without
 * the latter, and without a token as `system:anonymous`. Verdicts are kept for ten seconds; outages are not.
 */
export function createAccess({ api, clock }: AccessOptions): (path: string, token: string) => Promise<Access> {
  const users = new LRUCache<string, { readonly user: User | null; readonly until: number }>({ max: 1_000 });
  const rights = new LRUCache<string, { readonly allowed: boolean; readonly until: number }>({ max: 1_000 });

  async function userOf(token: string): Promise<User | null> {
    if (token === '') return anonymous;
    const key = createHash('sha256').update(token).digest('base64');
    const kept = users.get(key);
    if (kept && clock.monotonic() < kept.until) return kept.user;
    const review = await reviewToken(api, token, []);
    const known = review.authenticated && review.error === '' && review.username !== '';
    const user = known ? { name: review.username, uid: review.uid, groups: review.groups, extra: review.extra } : null;
    users.set(key, { user, until: clock.monotonic() + keepMs });
    return user;
  }

  async function mayGet(user: User, path: string): Promise<boolean> {
    if (user.groups.includes('system:masters')) return true;
    const key = JSON.stringify([user.name, user.uid, user.groups, user.extra, path]);
    const kept = rights.get(key);
    if (kept && clock.monotonic() < kept.until) return kept.allowed;
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
    const allowed = answer.status?.allowed === true;
    rights.set(key, { allowed, until: clock.monotonic() + keepMs });
    return allowed;
  }

  return async (path, token) => {
    try {
      const user = await userOf(token);
      if (user === null) return { allowed: false, status: 401, message: 'Unauthorized' };
      if (await mayGet(user, path)) return { allowed: true, user: user.name };
      return { allowed: false, status: 403, message: `User "${user.name}" cannot get path "${path}"` };
    } catch {
      return { allowed: false, status: 503, message: 'the API server could not be asked who may read this' };
    }
  };
}
