import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../common/cloud-error.ts';
import { fakeClock } from '../../common/testing/fake-clock.ts';
import { createCallGate } from './call-gate.ts';

const throttled = (retryAfterMs?: number) =>
  new CloudError({ kind: 'Throttled', cloud: 'aws', operation: 'Describe', message: 'slow down', retryAfterMs });

function setUp() {
  const clock = fakeClock();
  let calls = 0;
  let next: () => Promise<string> = async () => 'ok';
  const gate = createCallGate({ cloud: 'aws', clock, random: () => 0.5 });
  return {
    clock,
    calls: () => calls,
    answer(call: () => Promise<string>) {
      next = call;
    },
    run: () =>
      gate.run('Describe', () => {
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

describe('createCallGate', () => {
  it('makes no call while the cloud wants rest, and says how long', async () => {
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

  it('doubles the rest with every refusal in a row and forgets them after a success', async () => {
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

  it('lets other failures through and rests for none of them', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(new Error('no route')));
    await assert.rejects(world.run, /no route/);
    world.answer(async () => 'ok');
    assert.equal(await world.run(), 'ok');
  });

  it('never rests longer than its bound', async () => {
    const world = setUp();
    world.answer(() => Promise.reject(throttled(86_400_000)));
    assert.equal(await restOf(world.run), 120_000);
  });
});
