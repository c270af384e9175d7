/** Slots are assigned by these. */
interface SlotHolder {
  readonly node: string;
  readonly zone: string;
}

/** Members put in order once, for the subsets of many Services. */
export interface Slots<M extends SlotHolder> {
  readonly members: readonly M[];
  readonly zones: readonly {
    readonly hash: number;
    /** In the order of their names. */
    readonly members: readonly M[];
    readonly hashes: Uint32Array;
    /** Where each of them stands among all members. */
    readonly positions: Uint32Array;
  }[];
}

/** Pure. */
export function slotsOf<M extends SlotHolder>(members: readonly M[]): Slots<M> {
  const zones = new Map<string, M[]>();
  const positions = new Map<M, number>();
  for (const [position, member] of members.entries()) {
    positions.set(member, position);
    const zone = zones.get(member.zone);
    if (zone) zone.push(member);
    else zones.set(member.zone, [member]);
  }
  return {
    members,
    zones: [...zones]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([zone, list]) => {
        const ordered = list.sort((a, b) => (a.node < b.node ? -1 : 1));
        return {
          hash: hash(`zone ${zone}`),
          members: ordered,
          hashes: Uint32Array.from(ordered, ({ node }) => hash(node)),
          positions: Uint32Array.from(ordered, (member) => positions.get(member) as number),
        };
      }),
  };
}

/**
 * Picks `max` of the members for one Service where the cloud accepts no more. Zones take turns, and within a zone
 * rendezvous hashing decides, so that each Service has its own members and one Node more or less changes at most one
 * slot. A smaller `max` picks a part of what a larger one picks. The order of the input does not matter; it is kept in
 * the answer. Pure.
 *
 * @param seed UID of the Service
 */
export function subsetOf<M extends SlotHolder>({ members, zones }: Slots<M>, max: number, seed: string): readonly M[] {
  if (members.length <= max) return members;
  if (max <= 0) return [];
  const seeded = hash(seed);
  const turns = zones.map((zone) => ({ zone, score: mix(seeded ^ zone.hash) })).sort((a, b) => b.score - a.score);
  const slots = slotsPerZone(
    turns.map(({ zone }) => zone.members.length),
    max,
  );
  const picked = turns.flatMap(({ zone }, turn) =>
    highest(zone.hashes, seeded, slots[turn] ?? 0).map((index) => zone.positions[index] as number),
  );
  return picked.sort((a, b) => a - b).map((position) => members[position] as M);
}

/**
 * The indices of the `count` highest scores. Scores are spread evenly, so it sorts only those above a bound that about
 * twice as many exceed.
 */
function highest(hashes: Uint32Array, seeded: number, count: number): readonly number[] {
  for (let share = (2 * count + 16) / Math.max(1, hashes.length); ; share *= 4) {
    const bound = (1 - share) * 2 ** 32;
    const keys: number[] = [];
    for (let index = 0; index < hashes.length; index += 1) {
      const score = mix(seeded ^ (hashes[index] as number));
      if (score >= bound) keys.push(score * maxIndex + index);
    }
    if (keys.length < count && share < 1) continue;
    return keys
      .sort((a, b) => b - a)
      .slice(0, count)
      .map((key) => key % maxIndex);
  }
}

/** Score and index share the 53 bits of a number. */
const maxIndex = 2 ** 21;

/** In each round, every zone with members left gets one slot, in order, until no slot is left. */
function slotsPerZone(sizes: readonly number[], max: number): number[] {
  const slots = sizes.map(() => 0);
  for (let left = max, round = 0; left > 0; round += 1) {
    for (const [zone, size] of sizes.entries()) {
      if (size <= round || left === 0) continue;
      slots[zone] = round + 1;
      left -= 1;
    }
  }
  return slots;
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
