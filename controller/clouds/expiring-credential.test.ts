import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createExpiringCredential } from './expiring-credential.ts';

function setUp(lifeMs = 3_600_000) {
  const clock = fakeClock();
  const state = { reads: 0, fails: false, pause: Promise.resolve() };
  const credential = createExpiringCredential(async () => {
    state.reads += 1;
    const value = `token-${state.reads}`;
    await state.pause;
    if (state.fails) throw new Error('down');
    return { value, lifeMs };
  }, clock);
  return { clock, state, credential };
}

describe('a credential that expires', () => {
  it('reads the credential once for all that need it, and again five minutes before its end', async () => {
    const { clock, state, credential } = setUp();
    assert.deepEqual(await Promise.all([credential.get(), credential.get()]), ['token-1', 'token-1']);
    await clock.advance(3_299_999);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(1);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(0);
    assert.equal(await credential.get(), 'token-2');
    assert.equal(state.reads, 2);
  });

  it('serves the current credential during its renewal, and lets no call wait', async () => {
    const { clock, state, credential } = setUp();
    await credential.get();
    let answer: () => void = () => {};
    state.pause = new Promise((resolve) => {
      answer = resolve;
    });
    await clock.advance(3_300_000);
    assert.deepEqual([await credential.get(), await credential.get(), state.reads], ['token-1', 'token-1', 2]);
    answer();
    await clock.advance(0);
    assert.equal(await credential.get(), 'token-2');
  });

  it('renews a credential that lasts one minute after half of it, and not at each call', async () => {
    const { clock, credential } = setUp(60_000);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(29_999);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(1);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(0);
    assert.equal(await credential.get(), 'token-2');
  });

  it('serves the old token to its end while there is no other, and tries every ten seconds', async () => {
    const { clock, state, credential } = setUp();
    await credential.get();
    state.fails = true;
    await clock.advance(3_300_000);
    assert.deepEqual([await credential.get(), await credential.get(), state.reads], ['token-1', 'token-1', 2]);
    await clock.advance(10_000);
    assert.deepEqual([await credential.get(), state.reads], ['token-1', 3]);
    await clock.advance(290_000);
    await assert.rejects(credential.get(), /down/);
  });

  it('serves no token that has ended, also where the last renewal failed right before', async () => {
    const { clock, state, credential } = setUp();
    await credential.get();
    state.fails = true;
    await clock.advance(3_595_000);
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(5000);
    await assert.rejects(credential.get(), /down/);
  });

  it('forgets a refused token, but not one that was read a moment ago', async () => {
    const { clock, credential } = setUp();
    await credential.get();
    credential.forget();
    assert.equal(await credential.get(), 'token-1');
    await clock.advance(10_001);
    credential.forget();
    credential.forget();
    assert.equal(await credential.get(), 'token-2');
  });

  it('ignores steps of the wall clock', async () => {
    const { clock, credential } = setUp();
    await credential.get();
    clock.stepWall(86_400_000);
    assert.equal(await credential.get(), 'token-1');
  });
});
