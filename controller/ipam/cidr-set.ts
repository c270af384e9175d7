import { bitsOf, type Cidr, cidrAt, overlap } from '../model/cidr.ts';

/** A range divided into parts of equal size, some of which are allocated. */
export interface CidrSet {
  readonly range: Cidr;
  readonly partPrefix: number;
  /** How many parts there are. */
  readonly size: number;
  /** How many parts are allocated. */
  readonly used: number;
  /**
   * Allocates a free part; undefined when none is left. The search starts behind the part allocated last, so that
   * released parts are reused late. Avoided parts come last. `tries`: allocated parts that were skipped.
   */
  allocate(): { readonly cidr: Cidr; readonly tries: number } | undefined;
  /** From now on, parts that overlap these ranges are allocated only when no other is left. */
  avoid(cidrs: readonly Cidr[]): void;
  /**
   * Marks every part that overlaps the range as allocated, once more if it is already. Each call needs its own
   * `release`. Returns whether any part overlaps, and whether all of them were free.
   */
  occupy(cidr: Cidr): { readonly touches: boolean; readonly free: boolean };
  /** Reverts one `allocate` or `occupy` of this range. */
  release(cidr: Cidr): void;
}

/** First and last part, both included. */
type Interval = readonly [first: number, last: number];

/** @param partPrefix not shorter than the mask of `range` */
export function createCidrSet(range: Cidr, partPrefix: number): CidrSet {
  const { family } = range;
  const step = 1n << BigInt(bitsOf(family) - partPrefix);
  const size = Number((range.last - range.first + 1n) / step);
  const taken = new Uint32Array(Math.ceil(size / 32));
  /** The number of additional holders of a part: pod ranges from other allocators may be smaller than a part. */
  const more = new Map<number, number>();
  let used = 0;
  let next = 0;
  let avoided: readonly Interval[] = [];

  const isTaken = (at: number) => ((taken[at >>> 5]! >>> (at & 31)) & 1) === 1;

  function take(at: number): void {
    if (isTaken(at)) {
      more.set(at, (more.get(at) ?? 0) + 1);
      return;
    }
    taken[at >>> 5]! |= 1 << (at & 31);
    used += 1;
  }

  function give(at: number): void {
    const others = more.get(at) ?? 0;
    if (others > 1) more.set(at, others - 1);
    else if (others === 1) more.delete(at);
    else if (isTaken(at)) {
      taken[at >>> 5]! &= ~(1 << (at & 31));
      used -= 1;
    }
  }

  /** First and last part that overlap the range. */
  function parts(cidr: Cidr): Interval | undefined {
    if (!overlap(range, cidr)) return undefined;
    const clamp = (address: bigint) =>
      address < range.first ? range.first : address > range.last ? range.last : address;
    return [Number((clamp(cidr.first) - range.first) / step), Number((clamp(cidr.last) - range.first) / step)];
  }

  function partAt(at: number): Cidr {
    return cidrAt(family, range.first + BigInt(at) * step, partPrefix);
  }

  /** @param avoidedParts parts that are skipped, sorted and disjoint */
  function search(avoidedParts: readonly Interval[]): { readonly cidr: Cidr; readonly tries: number } | undefined {
    let tries = 0;
    for (let passed = 0; passed < size; ) {
      const at = (next + passed) % size;
      const beyond = lastOf(avoidedParts, at);
      if (beyond !== undefined) {
        passed += beyond - at + 1;
      } else if ((at & 31) === 0 && taken[at >>> 5] === 0xffffffff) {
        // Skips a whole word when all of its 32 parts are allocated.
        tries += 32;
        passed += 32;
      } else if (isTaken(at)) {
        tries += 1;
        passed += 1;
      } else {
        take(at);
        next = (at + 1) % size;
        return { cidr: partAt(at), tries };
      }
    }
    return undefined;
  }

  return {
    range,
    partPrefix,
    size,
    get used() {
      return used;
    },
    allocate() {
      if (used === size) return undefined;
      return search(avoided) ?? search([]);
    },
    avoid(cidrs) {
      avoided = merged(cidrs.map(parts).filter((each) => each !== undefined));
    },
    occupy(cidr) {
      const touched = parts(cidr);
      if (!touched) return { touches: false, free: true };
      let free = true;
      for (let at = touched[0]; at <= touched[1]; at += 1) {
        free &&= !isTaken(at);
        take(at);
      }
      return { touches: true, free };
    },
    release(cidr) {
      const touched = parts(cidr);
      if (touched) for (let at = touched[0]; at <= touched[1]; at += 1) give(at);
    },
  };
}

/** Sorted and disjoint. */
function merged(intervals: readonly Interval[]): readonly Interval[] {
  const result: [number, number][] = [];
  for (const [first, last] of [...intervals].sort((a, b) => a[0] - b[0])) {
    const before = result.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else result.push([first, last]);
  }
  return result;
}

/** The last part of the interval that contains this part. */
function lastOf(intervals: readonly Interval[], at: number): number | undefined {
  let [low, high] = [0, intervals.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (intervals[middle]![1] < at) low = middle + 1;
    else high = middle;
  }
  const found = intervals[low];
  return found && found[0] <= at ? found[1] : undefined;
}
