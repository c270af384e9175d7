import { type Random, seededRandom } from '../../../common/process/random.ts';

/** Draws of one stream of chance. */
export interface Dice {
  readonly random: Random;
  chance(probability: number): boolean;
  /** In [from, to). */
  between(from: number, to: number): number;
  /** A whole number in [from, to]. */
  whole(from: number, to: number): number;
  pick<T>(of: readonly T[]): T;
  /** A time to wait for what happens once in `mean` on average. */
  wait(mean: number): number;
}

/** A stream of its own for every name, so that what is drawn for one purpose changes nothing elsewhere. */
export function createDice(seed: number, name: string): Dice {
  let mixed = seed >>> 0;
  for (let at = 0; at < name.length; at += 1) mixed = Math.imul(mixed ^ name.charCodeAt(at), 0x01000193) >>> 0;
  const random = seededRandom(mixed ^ Math.imul(seed + 1, 0x9e3779b1));
  return {
    random,
    chance: (probability) => random() < probability,
    between: (from, to) => from + (to - from) * random(),
    whole: (from, to) => from + Math.floor((to - from + 1) * random()),
    pick: (of) => of[Math.floor(random() * of.length)]!,
    wait: (mean) => -Math.log(1 - random()) * mean,
  };
}
