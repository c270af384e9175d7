import ipaddr from 'ipaddr.js';
import { normalCidr } from '../../ip-address.ts';

interface Range {
  readonly start: bigint;
  readonly bits: number;
}

/**
 * Ranges of one address family without those that others hold, and with neighbours in one: as the classic controller
 * writes them, so that both give their rule the same name.
 */
export function aggregated(cidrs: readonly string[]): readonly string[] {
  const width = cidrs.some((cidr) => cidr.includes(':')) ? 128 : 32;
  const sizeOf = ({ bits }: Range) => 2n ** BigInt(width - bits);
  const areHalves = (a: Range, b: Range) =>
    a.bits === b.bits && b.start === a.start + sizeOf(a) && a.start % (2n * sizeOf(a)) === 0n;
  const ranges = cidrs.map(parse).sort((a, b) => (a.start === b.start ? a.bits - b.bits : a.start < b.start ? -1 : 1));
  const merged: Range[] = [];
  for (const range of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && last.bits <= range.bits && range.start < last.start + sizeOf(last)) continue;
    merged.push(range);
    for (let two = merged.slice(-2); two.length === 2 && areHalves(two[0]!, two[1]!); two = merged.slice(-2))
      merged.splice(-2, 2, { start: two[0]!.start, bits: two[0]!.bits - 1 });
  }
  return merged.map((range) => print(range, width));
}

/** Of either family. */
export const isForEveryone = (ranges: readonly string[]) => ranges.some((range) => range.endsWith('/0'));

function parse(cidr: string): Range {
  const [address, bits] = ipaddr.parseCIDR(cidr);
  return { start: address.toByteArray().reduce((sum, byte) => sum * 256n + BigInt(byte), 0n), bits };
}

function print({ start, bits }: Range, width: number): string {
  const bytes = Array.from({ length: width / 8 }, (_, at) => Number((start >> BigInt(width - 8 - at * 8)) & 255n));
  return normalCidr(`${ipaddr.fromByteArray(bytes).toString()}/${bits}`)!;
}
