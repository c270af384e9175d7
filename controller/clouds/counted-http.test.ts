import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { type HttpAnswer, HttpFailure } from '../../common/process/http.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import type { CloudCall } from './cloud.ts';
import { createCountedHttp } from './counted-http.ts';

async function countedCall(send: () => HttpAnswer, refuse?: () => void) {
  const clock = fakeClock();
  const calls: CloudCall[] = [];
  const http = async () => {
    await clock.advance(250);
    return send();
  };
  const counted = createCountedHttp({ cloud: 'c', http, clock, onCall: (call) => calls.push(call) });
  const error = await counted('GET /x', { url: 'http://c/', timeoutMs: 1000 }, refuse).then(
    () => undefined,
    (one: unknown) => one,
  );
  return { calls, error };
}

it('an exchange with a cloud is counted once, with its operation, its status and how long it took', async () => {
  for (const [status, code] of [
    [200, 'ok'],
    [204, 'ok'],
    [300, '300'],
    [404, '404'],
  ] as const) {
    const { calls, error } = await countedCall(() => ({ status, text: '', header: () => null }));
    assert.equal(error, undefined);
    assert.deepEqual(calls, [{ cloud: 'c', operation: 'GET /x', code, seconds: 0.25 }]);
  }
});

it('a NotFound by a status of its own is counted as that, and every other refusal by its status', async () => {
  for (const [status, kind, code] of [
    [431, 'NotFound', 'NotFound'],
    [500, 'NotFound', 'NotFound'],
    [404, 'NotFound', '404'],
    [404, 'Unavailable', '404'],
    [431, 'Invalid', '431'],
  ] as const) {
    const refusal = new CloudError({ kind, cloud: 'c', operation: 'GET /x', message: 'why' });
    const { calls, error } = await countedCall(
      () => ({ status, text: '', header: () => null }),
      () => {
        throw refusal;
      },
    );
    assert.equal(error, refusal);
    assert.deepEqual(
      calls.map((call) => call.code),
      [code],
    );
  }
});

it('an exchange without an answer fails as Timeout after its deadline, else as Unavailable', async () => {
  for (const [kind, expected, code] of [
    ['timeout', 'Timeout', 'timeout'],
    ['unreachable', 'Unavailable', 'unreachable'],
    ['too-large', 'Unavailable', 'unreachable'],
  ] as const) {
    const { calls, error } = await countedCall(() => {
      throw new HttpFailure(kind, 'why');
    });
    assert.ok(error instanceof CloudError);
    assert.deepEqual([error.kind, error.cloud, error.operation], [expected, 'c', 'GET /x']);
    assert.equal(calls[0]?.code, code);
  }
});
