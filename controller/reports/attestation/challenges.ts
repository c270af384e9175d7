import { createHmac } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Sender } from '../sender.ts';

/**
 * The challenges of one process. Nothing is kept of them: another leader's do not hold here, and its agents are given
 * others.
 */
export interface Challenges {
  /** 32 letters and digits. Holds for one to two minutes, for this Node and this token alone. */
  issue(sender: Sender): string;
  /** Those that hold now, the newest first. */
  accepted(sender: Sender): readonly string[];
}

const slotMs = 60_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * A challenge is an HMAC over Node uid, token and minute. Using one twice within its time gains nothing: both times it
 * proves the same pair of Node and VM.
 *
 * @param key random, of this process
 */
export function createChallenges(clock: Clock, key: Uint8Array): Challenges {
  function at(slot: number, { nodeUid, credentialId }: Sender): string {
    const mac = createHmac('sha256', key)
      .update(JSON.stringify([slot, nodeUid, credentialId]))
      .digest();
    return Array.from(mac.subarray(0, 32), (byte) => alphabet[byte & 31]).join('');
  }
  const slot = () => Math.floor(clock.monotonic() / slotMs);
  return {
    issue: (sender) => at(slot(), sender),
    accepted: (sender) => [at(slot(), sender), at(slot() - 1, sender)],
  };
}
