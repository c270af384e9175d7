import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { type LoadBalancer, readLoadBalancer } from './answer.ts';
import type { List } from './listings.ts';
import { createLooks } from './looks.ts';

const balancer = (id: string) => readLoadBalancer({ id, provisioning_status: 'PENDING_UPDATE' }, 'test');

/** An Octavia with these load balancers in its lists, which takes its time or fails as told. */
function harness(listed: readonly string[]) {
  const clock = fakeClock();
  const calls: string[] = [];
  const waiting: { resolve(): void; reject(error: Error): void }[] = [];
  let isSlow = false;
  const list = (() => {
    calls.push('list');
    return new Promise<LoadBalancer[]>((resolve, reject) => {
      const answer = { resolve: () => resolve(listed.map(balancer)), reject };
      if (isSlow) waiting.push(answer);
      else answer.resolve();
    });
  }) as List;
  const look = createLooks({
    ...{ clock, list },
    async get(id) {
      calls.push(`get ${id}`);
      return id === 'gone' ? undefined : balancer(id);
    },
  });
  const lookAt = (ids: readonly string[], sinceMs = -1) =>
    Promise.all(ids.map((id) => look({ id, cluster: 'c', sinceMs })));
  return {
    ...{ clock, calls, waiting, lookAt },
    slow: () => {
      isSlow = true;
    },
  };
}

const ids = Array.from({ length: 20 }, (_, at) => `lb-${at}`);

describe('looks at load balancers at work', () => {
  it('of a few are each by its id', async () => {
    const { calls, lookAt } = harness(ids);
    await lookAt(ids.slice(0, 4));
    assert.deepEqual(calls, ['get lb-0', 'get lb-1', 'get lb-2', 'get lb-3']);
  });

  it('of many are one list a second', async () => {
    const { calls, clock, lookAt } = harness(ids);
    const seen = await lookAt(ids);
    assert.deepEqual(
      seen.map((one) => one?.id),
      ids,
    );
    assert.deepEqual(calls.slice(4), ['list']);
    await clock.advance(1000);
    calls.length = 0;
    await lookAt(ids);
    assert.equal(calls.filter((call) => call === 'list').length, 1);
    assert.ok(calls.length <= 5, calls.join());
  });

  it('never answer from before a change', async () => {
    const { calls, clock, lookAt } = harness(ids);
    await clock.advance(5000);
    await lookAt(ids);
    calls.length = 0;
    await clock.advance(500);
    await lookAt(['lb-7'], clock.monotonic() - 600);
    assert.deepEqual(calls, [], 'that list was later');
    await lookAt(['lb-7'], clock.monotonic() - 100);
    assert.equal(calls.length, 1);
  });

  it('what a list leaves out is asked for by its id, which alone proves that it is gone', async () => {
    const { calls, lookAt } = harness(ids);
    await lookAt(ids);
    calls.length = 0;
    assert.deepEqual(await lookAt(['gone']), [undefined]);
    assert.deepEqual(calls, ['get gone']);
  });

  it('wait for one list at a time, and a failed one is forgotten', async () => {
    const { calls, clock, waiting, lookAt, slow } = harness(ids);
    slow();
    const first = lookAt(ids);
    await clock.advance(3000);
    const later = lookAt(ids.slice(0, 10));
    assert.deepEqual([calls.filter((call) => call === 'list').length, waiting.length], [1, 1]);
    waiting[0]?.reject(new Error('503'));
    await assert.rejects(first);
    await assert.rejects(later);
    await clock.advance(2000);
    const again = lookAt(ids);
    waiting[1]?.resolve();
    assert.equal((await again).length, 20);
  });
});
