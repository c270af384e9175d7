import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { createTokenCache } from './token-cache.ts';

function setUp(lifeMs = 3_600_000) {
  const clock = fakeClock();
  const state = { reads: 0, fails: false };
  const cache = createTokenCache(async () => {
    state.reads += 1;
    if (state.fails) throw new Error('down');
    return { value: `token-${state.reads}`, lifeMs };
  }, clock);
  return { clock, state, cache };
}

describe('the cache of tokens', () => {
  it('reads one token for all that need one, and another five minutes before its end', async () => {
    const { clock, state, cache } = setUp();
    assert.deepEqual(await Promise.all([cache.get(), cache.get()]), ['token-1', 'token-1']);
    await clock.advance(3_299_999);
    assert.equal(await cache.get(), 'token-1');
    await clock.advance(1);
    assert.equal(await cache.get(), 'token-2');
    assert.equal(state.reads, 2);
  });

  it('does not read again for each call a token that the VM has had for long', async () => {
    const { clock, cache } = setUp(60_000);
    assert.equal(await cache.get(), 'token-1');
    await clock.advance(29_999);
    assert.equal(await cache.get(), 'token-1');
    await clock.advance(1);
    assert.equal(await cache.get(), 'token-2');
  });

  it('serves the old token to its end while there is no other, and tries every ten seconds', async () => {
    const { clock, state, cache } = setUp();
    await cache.get();
    state.fails = true;
    await clock.advance(3_300_000);
    assert.deepEqual([await cache.get(), await cache.get(), state.reads], ['token-1', 'token-1', 2]);
    await clock.advance(10_000);
    assert.deepEqual([await cache.get(), state.reads], ['token-1', 3]);
    await clock.advance(290_000);
    await assert.rejects(cache.get(), /down/);
  });

  it('serves no token that has ended, also where the last renewal failed right before', async () => {
    const { clock, state, cache } = setUp();
    await cache.get();
    state.fails = true;
    await clock.advance(3_595_000);
    assert.equal(await cache.get(), 'token-1');
    await clock.advance(5000);
    await assert.rejects(cache.get(), /down/);
  });

  it('forgets a refused token, but not one that was read a moment ago', async () => {
    const { clock, cache } = setUp();
    await cache.get();
    cache.forget();
    assert.equal(await cache.get(), 'token-1');
    await clock.advance(10_001);
    cache.forget();
    cache.forget();
    assert.equal(await cache.get(), 'token-2');
  });

  it('keeps no wall clock: a step of it changes nothing', async () => {
    const { clock, cache } = setUp();
    await cache.get();
    clock.stepWall(86_400_000);
    assert.equal(await cache.get(), 'token-1');
  });
});
