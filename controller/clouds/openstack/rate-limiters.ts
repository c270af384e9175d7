import type { CloudContext } from '../cloud.ts';
import { createRateLimiter, type RateLimiter } from '../rate-limiter.ts';
import type { CallLimits } from '../token-bucket.ts';
import type { ServiceType } from './session.ts';

/**
 * OpenStack documents no rate limits. Some operators set some, and a refusal halves these. A service with two or three
 * workers bears them.
 */
const limits: Readonly<Record<ServiceType | 'identity', CallLimits>> = {
  identity: { perSecond: 1, burst: 10 },
  compute: { perSecond: 20, burst: 100 },
  network: { perSecond: 40, burst: 200 },
  'load-balancer': { perSecond: 20, burst: 100 },
  'block-storage': { perSecond: 20, burst: 100 },
};

/** One rate limiter for each service: a Nova that wants rest stops no load balancer. */
export type RateLimiters = Readonly<Record<keyof typeof limits, RateLimiter>>;

export function createRateLimiters({
  clock,
  random,
  onWait,
}: Pick<CloudContext, 'clock' | 'random' | 'onWait'>): RateLimiters {
  const parts = { cloud: 'openstack', clock, random, onWait };
  const each = Object.entries(limits).map(([service, own]) => [service, createRateLimiter({ ...parts, limits: own })]);
  return Object.fromEntries(each) as RateLimiters;
}
