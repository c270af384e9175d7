import type { CloudContext } from '../cloud.ts';
import { createRateLimiter } from '../rate-limiter.ts';
import type { CallLimits } from '../token-bucket.ts';

/**
 * AWS's documented rate limits of an account in one region. All users of the account share them, so half of the refill
 * rates are ours. EC2 has two buckets for each API: 100 reads, refilled by 20 a second, and 50 changes, refilled by 5 a
 * second. Each of the two Elastic Load Balancing APIs has one of 40 reads, refilled by 10 a second, and one of 20
 * changes, refilled by 3 a second.
 */
const limits = {
  ec2Read: { perSecond: 10, burst: 50 },
  ec2Change: { perSecond: 5, burst: 25 },
  elbRead: { perSecond: 5, burst: 20 },
  elbChange: { perSecond: 2, burst: 10 },
  sts: { perSecond: 1, burst: 5 },
} as const satisfies Record<string, CallLimits>;

export type RateLimiters = ReturnType<typeof createRateLimiters>;

/** The calls to one region in classes, one rate limiter for each that AWS counts apart. */
export function createRateLimiters({ clock, random, onWait }: Pick<CloudContext, 'clock' | 'random' | 'onWait'>) {
  const rateLimiter = (name: keyof typeof limits) =>
    createRateLimiter({ cloud: 'aws', clock, random, limits: limits[name], onWait });
  const elb = () => ({ read: rateLimiter('elbRead'), change: rateLimiter('elbChange') });
  const sts = rateLimiter('sts');
  return {
    ec2: { read: rateLimiter('ec2Read'), change: rateLimiter('ec2Change') },
    elb: elb(),
    elbv2: elb(),
    sts: { read: sts, change: sts },
  };
}
