import type { Random } from '../../../common/process/random.ts';

/** A version 4 UUID from the given randomness. */
export function randomUuid(random: Random): string {
  const bytes = Buffer.alloc(16);
  for (let index = 0; index < 16; index += 1) bytes[index] = Math.floor(random() * 256);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
