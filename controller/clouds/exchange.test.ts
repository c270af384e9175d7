import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CloudError, isCloudError } from '../../common/cloud-error.ts';
import type { HttpAnswer } from '../../common/process/http.ts';
import { seededRandom } from '../../common/process/random.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { CloudCall } from './cloud.ts';
import { createExchange } from './exchange.ts';
import { createRateLimiter } from './rate-limiter.ts';

describe('an exchange with a cloud', () => {
  const answer = (status: number, header: string | null = null): HttpAnswer => ({
    status,
    text: '',
    header: () => header,
  });

  function exchangeWith(next: () => HttpAnswer) {
    const clock = fakeClock();
    const calls: CloudCall[] = [];
    const http = async () => next();
    const rateLimiter = createRateLimiter({ cloud: 'c', clock, random: seededRandom(1) });
    const exchange = createExchange({ cloud: 'c', http, clock, rateLimiter, onCall: (call) => calls.push(call) });
    const errorOf = async (): Promise<CloudError> => {
      try {
        await exchange('GET /x', { url: 'http://c/', timeoutMs: 1000 });
      } catch (error) {
        assert.ok(isCloudError(error), String(error));
        return error;
      }
      throw new Error('it did not fail');
    };
    return { exchange, calls, errorOf };
  }

  it('answers every status but 429, and counts each call once', async () => {
    const statuses = [200, 302, 404, 500];
    const { exchange, calls } = exchangeWith(() => answer(statuses.shift()!));
    const seen = [];
    while (statuses.length > 0) seen.push((await exchange('GET /x', { url: 'http://c/', timeoutMs: 1000 })).status);
    assert.deepEqual(seen, [200, 302, 404, 500]);
    assert.deepEqual(
      calls.map(({ operation, code }) => `${operation} ${code}`),
      ['ok', '302', '404', '500'].map((code) => `GET /x ${code}`),
    );
  });

  it('reports 429 as Throttled for the requested time, and makes no call until then', async () => {
    const { errorOf, calls } = exchangeWith(() => answer(429, '30'));
    const error = await errorOf();
    assert.deepEqual([error.kind, error.retryAfterMs], ['Throttled', 30_000]);
    assert.equal((await errorOf()).kind, 'Throttled');
    assert.deepEqual(
      calls.map(({ code }) => code),
      ['429'],
    );
  });
});
