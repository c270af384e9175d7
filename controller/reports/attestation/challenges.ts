import { createHmac } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Sender } from '../sender.ts';

/**
 * The challenges of one process. They are not stored: challenges of another leader are not valid here, and agents get
 * new ones.
 */
export interface Challenges {
  /** 32 letters and digits. Valid for one to two minutes, only for this Node and this token. */
  issue(sender: Sender): string;
  /** The challenges that are valid now, the newest first. */
  accepted(sender: Sender): readonly string[];
}

const slotMs = 60_000;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/**
 * A challenge is an HMAC of Node uid, token and minute. Using it twice while it is valid gains nothing: both uses prove
 * the same pair of Node and VM.
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
