import assert from 'node:assert/strict';
import { it } from 'node:test';
import { challengeShape } from '../../../common/attestation.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { createChallenges } from './challenges.ts';

const sender = { nodeName: 'a', nodeUid: 'u', podUid: 'p', credentialId: 'JTI=1' };

it('accepts a challenge for at least one and at most two minutes', async () => {
  const clock = fakeClock();
  const challenges = createChallenges(clock, Buffer.alloc(32, 1));
  const issued = challenges.issue(sender);
  assert.match(issued, challengeShape);
  await clock.advance(60_000);
  assert.ok(challenges.accepted(sender).includes(issued));
  await clock.advance(60_000);
  assert.ok(!challenges.accepted(sender).includes(issued));
});

it('gives no challenge that holds for another Node, another token or another process', () => {
  const clock = fakeClock();
  const challenges = createChallenges(clock, Buffer.alloc(32, 1));
  const issued = challenges.issue(sender);
  assert.ok(!challenges.accepted({ ...sender, nodeUid: 'v' }).includes(issued));
  assert.ok(!challenges.accepted({ ...sender, credentialId: 'JTI=2' }).includes(issued));
  assert.ok(!createChallenges(clock, Buffer.alloc(32, 2)).accepted(sender).includes(issued));
});
