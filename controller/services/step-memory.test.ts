import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredMember } from '../clouds/load-balancers.ts';
import type { Situation } from './next-action.ts';
import { createStepMemory } from './step-memory.ts';
import { exampleService } from './testing/example-service.ts';

const member = (providerID: string): DesiredMember => ({
  ...{ node: providerID, providerID, addresses: [], zone: '', draining: false },
});
const situation = (changes: Partial<Situation> = {}) =>
  ({ service: exampleService({}), demand: 'ensure', members: [member('i-1')], ...changes }) as Situation;

function setUp() {
  let nowMs = 0;
  const memory = createStepMemory(() => nowMs);
  /** Carries a step out as soon as it may be; answers for how long it had to wait. */
  const carryOut = (at: Situation, step = 'step') => {
    const waitMs = memory.waitMs(at, step);
    nowMs += waitMs;
    memory.applied(at, step);
    return waitMs;
  };
  return { memory, carryOut };
}

describe('steps that come again and again', () => {
  it('wait longer each time, up to an hour', () => {
    const { carryOut } = setUp();
    const waits = Array.from({ length: 14 }, () => carryOut(situation()));
    assert.deepEqual(waits.slice(0, 6), [0, 0, 10_000, 20_000, 40_000, 80_000]);
    assert.equal(waits.at(-1), 3_600_000);
  });

  it('do not hold up other steps, or other Services', () => {
    const { memory, carryOut } = setUp();
    for (let times = 0; times < 5; times += 1) carryOut(situation());
    assert.equal(memory.waitMs(situation(), 'another'), 0);
    const other = exampleService({ metadata: { uid: 'another' } });
    assert.equal(memory.waitMs(situation({ service: other }), 'step'), 0);
  });

  it('are free again when something else is asked for, or when nothing was left to do in between', () => {
    const { memory, carryOut } = setUp();
    for (let times = 0; times < 5; times += 1) carryOut(situation());
    assert.ok(memory.waitMs(situation(), 'step') > 0);
    assert.equal(memory.waitMs(situation({ members: [member('i-2')] }), 'step'), 0);
    assert.equal(memory.waitMs(situation({ demand: 'remove' }), 'step'), 0);
    memory.forget(situation().service.uid);
    assert.equal(memory.waitMs(situation(), 'step'), 0);
  });
});
