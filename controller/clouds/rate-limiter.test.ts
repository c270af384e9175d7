import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { type CallWait, createRateLimiter, type RateLimitedCall } from './rate-limiter.ts';

const throttled = (retryAfterMs?: number) =>
  new CloudError({ kind: 'Throttled', cloud: 'aws', operation: 'Describe', message: 'slow down', retryAfterMs });

function setUp() {
  const clock = fakeClock();
  let calls = 0;
  let next: () => Promise<string> = async () => 'ok';
  const rateLimiter = createRateLimiter({ cloud: 'aws', clock, random: () => 0.5 });
  return {
    clock,
    calls: () => calls,
    answer(call: () => Promise<string>) {
      next = call;
    },
    run: () =>
      rateLimiter.run('Describe', () => {
        calls += 1;
        return next();
      }),
  };
}

async function restOf(run: () => Promise<unknown>): Promise<number | undefined> {
  try {
    await run();
  } catch (error) {
    assert.ok(error instanceof CloudError);
    assert.equal(error.kind, 'Throttled');
    return error.retryAfterMs;
  }
  return undefined;
}

describe('createRateLimiter', () => {
  it('makes no call during a pause that the cloud asked for, and tells how long it is', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(throttled(5000)));
    assert.equal(await restOf(world.run), 5000);
    await world.clock.advance(2000);
    assert.equal(await restOf(world.run), 3000);
    assert.equal(world.calls(), 1);
    world.answer(async () => 'ok');
    await world.clock.advance(3000);
    assert.equal(await world.run(), 'ok');
    assert.equal(world.calls(), 2);
  });

  it('doubles the pause with consecutive refusals and resets it after a success', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(throttled()));
    const rests: (number | undefined)[] = [];
    for (let round = 0; round < 3; round += 1) {
      const rest = await restOf(world.run);
      rests.push(rest);
      await world.clock.advance(rest ?? 0);
    }
    assert.deepEqual(rests, [1000, 2000, 4000]);
    world.answer(async () => 'ok');
    await world.run();
    world.answer(() => Promise.reject(throttled()));
    assert.equal(await restOf(world.run), 1000);
  });

  it('counts calls refused together as one refusal', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(throttled()));
    assert.deepEqual(await Promise.all([restOf(world.run), restOf(world.run)]), [1000, 1000]);
  });

  it('passes other failures on, and pauses for none of them', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(new Error('no route')));
    await assert.rejects(world.run, /no route/);
    world.answer(async () => 'ok');
    assert.equal(await world.run(), 'ok');
  });

  it('pauses as long as the cloud asks for, up to a limit', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(throttled(600_000)));
    assert.equal(await restOf(world.run), 600_000);
    await world.clock.advance(600_000);
    world.answer(() => Promise.reject(throttled(86_400_000)));
    assert.equal(await restOf(world.run), 900_000);
  });

  describe('with limits', () => {
    function limited() {
      const clock = fakeClock();
      const waits: CallWait[] = [];
      const rateLimiter = createRateLimiter({
        cloud: 'aws',
        clock,
        random: () => 0.5,
        limits: { perSecond: 2, burst: 1 },
        onWait: (wait) => waits.push(wait),
      });
      const started: string[] = [];
      const ended: string[] = [];
      const ask = (name: string, options?: RateLimitedCall, answer: () => Promise<string> = async () => 'ok') => {
        const call = () => {
          started.push(name);
          return answer();
        };
        rateLimiter.run('Describe', call, options).then(
          () => ended.push(`${name} ok`),
          (error: CloudError) => ended.push(`${name} ${error.kind}`),
        );
      };
      return { clock, waits, started, ended, ask };
    }

    it('makes a change before the reads that came earlier, and tells how long each waited', async () => {
      const { clock, waits, started, ask } = limited();
      ask('one');
      ask('list', { urgency: 'refresh' });
      ask('read');
      ask('change', { urgency: 'change' });
      await clock.advance(1500);
      assert.deepEqual(started, ['one', 'change', 'read', 'list']);
      assert.deepEqual(
        waits.map(({ urgency, seconds }) => [urgency, seconds]),
        [
          ['need', 0],
          ['change', 0.5],
          ['need', 1],
          ['refresh', 1.5],
        ],
      );
      assert.equal(clock.pending, 0);
    });

    it('fails all waiting calls when the cloud asks for a pause, and halves the rate afterwards', async () => {
      const { clock, started, ended, ask } = limited();
      ask('one', {}, () => Promise.reject(throttled(5000)));
      ask('two');
      ask('three', { urgency: 'change' });
      await clock.advance(0);
      assert.deepEqual(started, ['one']);
      assert.deepEqual(ended.toSorted(), ['one Throttled', 'three Throttled', 'two Throttled']);
      assert.equal(clock.pending, 0);
      await clock.advance(5000);
      for (const name of ['a', 'b', 'c']) ask(name);
      await clock.advance(900);
      assert.deepEqual(started, ['one', 'a']);
      await clock.advance(200);
      assert.deepEqual(started, ['one', 'a', 'b']);
      await clock.advance(2000);
    });

    it('gives up a call that waits for its turn, and does not make it', async () => {
      const { clock, started, ended, ask } = limited();
      const stop = new AbortController();
      ask('one');
      ask('two', { signal: stop.signal });
      await clock.advance(100);
      stop.abort();
      await clock.advance(1000);
      assert.deepEqual(started, ['one']);
      assert.deepEqual(ended, ['one ok', 'two Unavailable']);
      assert.equal(clock.pending, 0);
    });
  });
});
