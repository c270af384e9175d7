import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../common/process/clock.ts';
import { isKubeError, type KubeApi } from '../kube/api.ts';
import { createSemaphore } from '../runtime/semaphore.ts';
import { reviewToken, soleExtra, type TokenReview } from '../runtime/serving/token-review.ts';
import { type RefusalCode, ReportRefusal } from './refusal.ts';
import type { Sender } from './sender.ts';

export type ReviewOutcome = 'proved' | 'refused' | 'unavailable' | 'cached' | 'busy';

export interface IdentityOptions {
  /** Not fenced: standbys review tokens, too. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly audience: string;
  /** The agents' ServiceAccount. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  /**
   * The uid of the current Node of that name; undefined when there is none. After a failure the sender has to retry.
   */
  liveNodeUid(nodeName: string): string | undefined | Promise<string | undefined>;
  /** Reviews in progress at once; default 16. */
  readonly maxInFlight?: number;
  /** Reviews that may wait for one of those; default 2,000. */
  readonly maxWaiting?: number;
  /** Verdicts kept; default 20,000. */
  readonly cacheSize?: number;
  onReview?(outcome: ReviewOutcome): void;
}

export interface Identity {
  /** Identifies the sender of a report by its token. @throws ReportRefusal with one code for each fault */
  identify(token: string): Promise<Sender>;
  /** Whether this token was proved before and has not expired, however old that verdict is. Makes no call. */
  knows(token: string): boolean;
}

/** The API server's verdict, without the token. */
interface Verdict {
  readonly sender?: Sender;
  /** Only the code: an Error would keep its stack in memory. */
  readonly refused?: RefusalCode;
  /** The node that a refused token names. */
  readonly node?: string | undefined;
  /** By the monotonic clock. */
  readonly keepUntil: number;
  /** When the token itself expires, by the wall clock. */
  readonly tokenEndsAtMs: number;
}

const keepProvedMs = 600_000;
const keepRefusedMs = 10_000;
const maxTokenLength = 16 * 1024;
const tokenShape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * `exp` of a JWT in milliseconds since 1970; 0 when it has none. Only for tokens that the API server has authenticated.
 */
export function tokenEndsAtMs(token: string): number {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const exp = (claims as { exp?: unknown } | null)?.exp;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : 0;
  } catch {
    return 0;
  }
}

/** Checks the review. The live Node is checked separately for each report. */
function senderOf(review: TokenReview, audience: string, username: string): Sender | ReportRefusal {
  if (!review.authenticated || review.error !== '') return new ReportRefusal('TokenInvalid');
  if (!review.audiences.includes(audience)) return new ReportRefusal('AudienceUnproved');
  if (review.username !== username) return new ReportRefusal('ForeignServiceAccount');
  const nodeName = soleExtra(review, 'node-name');
  const nodeUid = soleExtra(review, 'node-uid');
  const podName = soleExtra(review, 'pod-name');
  const podUid = soleExtra(review, 'pod-uid');
  const credentialId = soleExtra(review, 'credential-id');
  if (!nodeName || !podName || !podUid || !credentialId || nodeUid === null) {
    return new ReportRefusal('BindingIncomplete');
  }
  if (!nodeUid) return new ReportRefusal('NodeUidMissing', undefined, { node: nodeName });
  return { nodeName, nodeUid, podUid, credentialId };
}

/**
 * Proves senders by TokenReview. Each token is reviewed once and its verdict is cached: a positive one for at most ten
 * minutes and never beyond the token's expiry, a negative one for ten seconds; an outage is not cached. Tokens are
 * stored as SHA-256 only. Concurrent requests with one token share one review.
 */
export function createIdentity(options: IdentityOptions): Identity {
  const { api, clock, audience, serviceAccount, liveNodeUid, onReview } = options;
  const username = `system:serviceaccount:${serviceAccount.namespace}:${serviceAccount.name}`;
  const verdicts = new LRUCache<string, Verdict>({ max: options.cacheSize ?? 20_000 });
  const underWay = new Map<string, Promise<Verdict>>();
  const reviews = createSemaphore(options.maxInFlight ?? 16, { waiting: options.maxWaiting ?? 2_000, refuse: busy });

  function busy(): ReportRefusal {
    onReview?.('busy');
    return new ReportRefusal('Busy');
  }

  async function review(token: string): Promise<Verdict> {
    try {
      const found = senderOf(await reviews.run(() => reviewToken(api, token, [audience])), audience, username);
      if (found instanceof ReportRefusal) {
        onReview?.('refused');
        return {
          refused: found.code,
          node: found.node,
          keepUntil: clock.monotonic() + keepRefusedMs,
          tokenEndsAtMs: Number.POSITIVE_INFINITY,
        };
      }
      onReview?.('proved');
      return { sender: found, keepUntil: clock.monotonic() + keepProvedMs, tokenEndsAtMs: tokenEndsAtMs(token) };
    } catch (error) {
      if (error instanceof ReportRefusal) throw error;
      onReview?.('unavailable');
      const waitMs = isKubeError(error) ? error.retryAfterMs : undefined;
      const wait = waitMs === undefined ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
      throw new ReportRefusal('ReviewUnavailable', undefined, { ...wait, cause: error });
    }
  }

  async function nodeUidNow(nodeName: string): Promise<string | undefined> {
    try {
      return await liveNodeUid(nodeName);
    } catch (cause) {
      throw new ReportRefusal('ReviewUnavailable', undefined, { cause });
    }
  }

  async function verdictOn(token: string, key: string): Promise<Verdict> {
    const kept = verdicts.get(key);
    if (kept && clock.monotonic() < kept.keepUntil && clock.now() < kept.tokenEndsAtMs) {
      onReview?.('cached');
      return kept;
    }
    const shared = underWay.get(key);
    if (shared) return shared;
    const fresh = review(token).finally(() => underWay.delete(key));
    underWay.set(key, fresh);
    const verdict = await fresh;
    verdicts.set(key, verdict);
    return verdict;
  }

  function keyOf(token: string): string {
    return createHash('sha256').update(token).digest('base64');
  }

  return {
    knows(token) {
      const kept = token.length > maxTokenLength ? undefined : verdicts.get(keyOf(token));
      return kept?.sender !== undefined && clock.now() < kept.tokenEndsAtMs;
    },
    async identify(token) {
      if (token === '') throw new ReportRefusal('TokenMissing');
      if (token.length > maxTokenLength || !tokenShape.test(token)) throw new ReportRefusal('TokenInvalid');
      const key = keyOf(token);
      const { sender, refused, node } = await verdictOn(token, key);
      if (!sender) throw new ReportRefusal(refused ?? 'TokenInvalid', undefined, { node });
      const uid = await nodeUidNow(sender.nodeName);
      if (uid !== sender.nodeUid) {
        verdicts.delete(key);
        const code = uid === undefined ? 'NodeUnknown' : 'NodeReplaced';
        throw new ReportRefusal(code, undefined, { node: sender.nodeName });
      }
      return sender;
    },
  };
}
