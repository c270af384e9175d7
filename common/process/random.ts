/** Where randomness comes from: a number in [0, 1). Product code takes one and never asks Math.random itself. */
export type Random = () => number;

/** A small seeded generator (mulberry32), for tests and simulations: one seed gives one sequence. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
