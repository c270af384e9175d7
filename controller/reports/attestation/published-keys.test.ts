import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type HttpAnswer, HttpFailure } from '../../../common/process/http.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createPublishedKeys, googleKeysUrl } from './published-keys.ts';
import { codeOf } from './testing/code-of.ts';

const keys = { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'one' }] };

describe('the published keys', () => {
  function setUp() {
    const clock = fakeClock();
    const asked: string[] = [];
    const state: { answer: () => Promise<HttpAnswer> } = { answer: async () => answerOf(200, keys) };
    const published = createPublishedKeys(
      googleKeysUrl,
      ({ url }) => {
        asked.push(url);
        return state.answer();
      },
      clock,
    );
    return { clock, asked, state, published };
  }

  function answerOf(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
    return { status, header: (name) => headers[name] ?? null, text: JSON.stringify(body) };
  }

  it('fetches keys from one fixed URL, once for concurrent callers, and caches them by Cache-Control', async () => {
    const { clock, asked, state, published } = setUp();
    state.answer = async () => answerOf(200, keys, { 'cache-control': 'public, max-age=300, must-revalidate' });
    assert.deepEqual(await Promise.all([published(), published()]), [keys, keys]);
    await clock.advance(299_000);
    await published();
    assert.deepEqual(asked, ['https://www.googleapis.com/oauth2/v3/certs']);
    await clock.advance(2000);
    await published();
    assert.equal(asked.length, 2);
  });

  it('caches keys by Expires without max-age, and for a minute at least', async () => {
    const { clock, asked, state, published } = setUp();
    state.answer = async () => answerOf(200, keys, { expires: new Date(clock.now() + 3_600_000).toUTCString() });
    await published();
    await clock.advance(3_500_000);
    await published();
    assert.equal(asked.length, 1);
    state.answer = async () => answerOf(200, keys, { 'cache-control': 'max-age=0' });
    await clock.advance(200_000);
    await published();
    await clock.advance(59_000);
    await published();
    assert.equal(asked.length, 2);
  });

  it('gives no keys after a failure, a redirect or an invalid answer, and retries later', async () => {
    const { clock, asked, state, published } = setUp();
    for (const answer of [
      async () => answerOf(503, {}),
      async () => answerOf(302, {}, { location: 'http://169.254.169.254/' }),
      async () => answerOf(200, { keys: [] }),
      async () => answerOf(200, { keys: [{ kty: 'oct', k: 'x' }] }),
      () => Promise.reject(new HttpFailure('timeout', 'no answer')),
    ]) {
      state.answer = answer;
      const before = asked.length;
      assert.equal(await codeOf(published()), 'KeysUnavailable');
      assert.equal(await codeOf(published()), 'KeysUnavailable');
      assert.equal(asked.length, before + 1);
      await clock.advance(16_000);
    }
    state.answer = async () => answerOf(200, keys);
    assert.deepEqual(await published(), keys);
  });
});
