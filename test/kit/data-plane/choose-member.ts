import { createHash } from 'node:crypto';
import { BlockList, isIPv4 } from 'node:net';

/** Whether a client may come in. No range = everybody. */
export function admits(sourceRanges: readonly string[], client: string): boolean {
  if (sourceRanges.length === 0) return true;
  const ranges = new BlockList();
  for (const range of sourceRanges) {
    const [address = '', bits = ''] = range.split('/');
    ranges.addSubnet(address, Number(bits), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return ranges.check(client, isIPv4(client) ? 'ipv4' : 'ipv6');
}

/**
 * Chooses the member for a new connection among those that take one: the next in turn or, with affinity, always the
 * same for one client while the members stay (rendezvous hashing, so that only the clients of a lost member move).
 */
export function chooseMember(
  members: readonly string[],
  client: string,
  options: { readonly affinity: boolean; readonly turn: number },
): string | undefined {
  if (members.length === 0) return undefined;
  if (!options.affinity) return members[options.turn % members.length];
  let best: { member: string; score: string } | undefined;
  for (const member of members) {
    const score = createHash('sha256').update(`${client} ${member}`).digest('hex');
    if (best === undefined || score > best.score) best = { member, score };
  }
  return best?.member;
}
