import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import { createRateLimiters, type RateLimiters } from './rate-limiters.ts';

/** How many of many calls start at once, and how many more in the second after. */
async function started(rateLimiterOf: (rateLimiters: RateLimiters) => RateLimiter): Promise<[number, number]> {
  const clock = fakeClock();
  const rateLimiter = rateLimiterOf(createRateLimiters({ clock, random: () => 0.5 }));
  let count = 0;
  const calls = Array.from({ length: 100 }, () =>
    rateLimiter.run('Call', async () => {
      count += 1;
    }),
  );
  await clock.advance(0);
  const burst = count;
  await clock.advance(1000);
  const after = count - burst;
  await clock.advance(200_000);
  await Promise.all(calls);
  return [burst, after];
}

describe('the rate limits of AWS', () => {
  const table: [string, (rateLimiters: RateLimiters) => RateLimiter, [number, number]][] = [
    ['EC2 reads', ({ ec2 }) => ec2.read, [50, 10]],
    ['EC2 changes', ({ ec2 }) => ec2.change, [25, 5]],
    ['reads of network load balancers', ({ elbv2 }) => elbv2.read, [20, 5]],
    ['changes of network load balancers', ({ elbv2 }) => elbv2.change, [10, 2]],
    ['reads of classic load balancers', ({ elb }) => elb.read, [20, 5]],
    ['changes of classic load balancers', ({ elb }) => elb.change, [10, 2]],
    ['calls to STS', ({ sts }) => sts.read, [5, 1]],
  ];
  for (const [name, rateLimiterOf, expected] of table) {
    it(`starts ${expected[0]} ${name} at once, then ${expected[1]} a second`, async () => {
      assert.deepEqual(await started(rateLimiterOf), expected);
    });
  }

  it('one class at its limit keeps no other waiting', async () => {
    const clock = fakeClock();
    const { ec2, elb, elbv2 } = createRateLimiters({ clock, random: () => 0.5 });
    let created = 0;
    const full = Array.from({ length: 30 }, () =>
      elbv2.change.run('CreateListener', async () => {
        created += 1;
      }),
    );
    let others = 0;
    for (const rateLimiter of [ec2.change, ec2.read, elb.change, elbv2.read]) {
      void rateLimiter.run('Call', async () => {
        others += 1;
      });
    }
    await clock.advance(0);
    assert.deepEqual([others, created], [4, 10], 'the other classes start at once, this one up to its limit');
    await clock.advance(60_000);
    await Promise.all(full);
    assert.equal(created, 30);
  });
});
