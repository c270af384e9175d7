import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredMember } from '../clouds/load-balancers.ts';
import { type AppliedSteps, type StepPurpose, stepWaitMs, withStep } from './applied-steps.ts';
import { exampleService } from './testing/example-service.ts';

const member = (providerID: string): DesiredMember => ({
  ...{ node: providerID, providerID, addresses: [], zone: '', draining: false },
});
const purpose = (changes: Partial<StepPurpose> = {}): StepPurpose => ({
  ...{ service: exampleService({}), intent: 'ensure', members: [member('i-1')] },
  ...changes,
});

/** Applies one step as soon as it may be; answers how long it had to wait each time. */
function applied(times: number) {
  let nowMs = 0;
  let steps: AppliedSteps | undefined;
  const waits = Array.from({ length: times }, () => {
    const waitMs = stepWaitMs(steps, purpose(), 'step', nowMs);
    nowMs += waitMs;
    steps = withStep(steps, purpose(), 'step', nowMs);
    return waitMs;
  });
  return { waits, steps, nowMs };
}

describe('steps that are planned again and again', () => {
  it('a repeated step waits longer each time, up to an hour', () => {
    const { waits } = applied(14);
    assert.deepEqual(waits.slice(0, 6), [0, 0, 10_000, 20_000, 40_000, 80_000]);
    assert.equal(waits.at(-1), 3_600_000);
  });

  it('a repeated step does not keep other steps waiting', () => {
    const { steps, nowMs } = applied(5);
    assert.ok(stepWaitMs(steps, purpose(), 'step', nowMs) > 0);
    assert.equal(stepWaitMs(steps, purpose(), 'another', nowMs), 0);
  });

  it('a step is free again when the Service or its members ask for something else', () => {
    const { steps, nowMs } = applied(5);
    for (const changes of [{ members: [member('i-2')] }, { intent: 'remove' as const }]) {
      assert.equal(stepWaitMs(steps, purpose(changes), 'step', nowMs), 0);
      const again = withStep(steps, purpose(changes), 'step', nowMs);
      assert.equal(stepWaitMs(again, purpose(changes), 'step', nowMs), 0);
    }
  });
});
