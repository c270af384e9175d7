/** What seats are given out by. */
interface Seatable {
  readonly node: string;
  readonly zone: string;
}

/**
 * Picks `max` of the members for one Service where the cloud takes no more: zones take turns, and within a zone rendezvous hashing decides, so that each Service has
 * its own members and one Node more or less changes at most one seat. A smaller `max` picks a part of what a larger one picks. The order of the input does not
 * matter; it is kept in the answer. Pure.
 *
 * @param seed UID of the Service
 */
export function subsetOf<M extends Seatable>(members: readonly M[], max: number, seed: string): readonly M[] {
  if (members.length <= max) return members;
  if (max <= 0) return [];
  const seeded = hash(seed);
  const zones = new Map<string, Ranked<M>[]>();
  for (const member of members) {
    const ranked = { member, score: mix(seeded ^ hash(member.node)) };
    const zone = zones.get(member.zone);
    if (zone) zone.push(ranked);
    else zones.set(member.zone, [ranked]);
  }
  const turns = [...zones]
    .map(([zone, ranked]) => ({ zone, ranked: ranked.sort(byScore), score: mix(seeded ^ hash(`zone ${zone}`)) }))
    .sort((a, b) => b.score - a.score || (a.zone < b.zone ? -1 : 1));
  const picked = new Set<M>();
  for (let round = 0; picked.size < max; round += 1) {
    for (const { ranked } of turns) {
      const next = ranked[round];
      if (next !== undefined && picked.size < max) picked.add(next.member);
    }
  }
  return members.filter((member) => picked.has(member));
}

interface Ranked<M> {
  readonly member: M;
  readonly score: number;
}

function byScore(a: Ranked<Seatable>, b: Ranked<Seatable>): number {
  return b.score - a.score || (a.member.node < b.member.node ? -1 : 1);
}

/** FNV-1a, 32 bits. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value >>> 0;
}

/** The finaliser of MurmurHash3: names that differ in one digit get unrelated scores. */
function mix(input: number): number {
  let value = input;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
