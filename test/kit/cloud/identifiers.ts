import type { Random } from '../../../common/process/random.ts';

/** `digits` lower-case hexadecimal digits. */
export function randomHex(random: Random, digits: number): string {
  let text = '';
  while (text.length < digits) {
    text += Math.floor(random() * 0x1_0000_0000)
      .toString(16)
      .padStart(8, '0');
  }
  return text.slice(0, digits);
}

/** A version 4 UUID from the given randomness, so that one seed gives one sequence. */
export function randomUuid(random: Random): string {
  const hex = randomHex(random, 32);
  const variant = (8 + (Number.parseInt(hex.charAt(16), 16) % 4)).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}
