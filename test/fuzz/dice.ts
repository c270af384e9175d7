import { type Random, seededRandom } from '../../common/process/random.ts';

/** Choices drawn from one seed. */
export interface Dice {
  readonly random: Random;
  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number;
  /** Both ends included. */
  between(first: number, last: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly [T, ...T[]] | readonly T[]): T;
  /** By weight. */
  weighed<T>(list: readonly (readonly [weight: number, value: T])[]): T;
  text(length: number, alphabet?: string): string;
  bytes(length: number): Buffer;
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

export function createDice(random: Random): Dice {
  const dice: Dice = {
    random,
    below: (end) => Math.floor(random() * end),
    between: (first, last) => first + dice.below(last - first + 1),
    chance: (probability) => random() < probability,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError('nothing to pick from');
      return list[dice.below(list.length)] as T;
    },
    weighed(list) {
      let left = random() * list.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of list) {
        left -= weight;
        if (left < 0) return value;
      }
      return list[list.length - 1]![1];
    },
    text: (length, alphabet = letters) => Array.from({ length }, () => alphabet[dice.below(alphabet.length)]).join(''),
    bytes: (length) => Buffer.from(Array.from({ length }, () => dice.below(256))),
  };
  return dice;
}

/** The dice of one case: the same for the same seed and number, whatever other cases did. */
export function diceOf(seed: number, caseNumber: number): Dice {
  const mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(caseNumber + 1, 0xc2b2ae35);
  return createDice(seededRandom(mixed));
}
