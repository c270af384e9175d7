import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Permit, WithheldError } from '../clouds/permit.ts';
import { createPermit } from './leader-permit.ts';

function reasonOf(permit: Permit, timeoutMs: number): string {
  try {
    permit(timeoutMs);
    return 'sent';
  } catch (error) {
    assert.ok(error instanceof WithheldError);
    return error.reason;
  }
}

describe('a permit', () => {
  for (const [left, timeoutMs, paused, expected] of [
    [10_001, 10_000, false, 'sent'],
    [10_000, 10_000, false, 'Fenced'],
    [0, 1, false, 'Fenced'],
    [-5, 1, false, 'Fenced'],
    [15_000, 1, true, 'Paused'],
    [15_000, 1, 'the Service is paused', 'Paused'],
  ] as const) {
    it(`a call with ${left} ms of lease left, timeout ${timeoutMs}, paused ${paused} ends as ${expected}`, () => {
      const permit = createPermit({ fence: { timeLeftMs: () => left }, paused: () => paused });
      assert.equal(reasonOf(permit, timeoutMs), expected);
    });
  }

  it('asks before each call whether everything is paused', () => {
    let paused = false;
    const permit = createPermit({ fence: { timeLeftMs: () => 15_000 }, paused: () => paused });
    assert.equal(reasonOf(permit, 1), 'sent');
    paused = true;
    assert.equal(reasonOf(permit, 1), 'Paused');
  });
});
