import ipaddr from 'ipaddr.js';

interface Range {
  readonly start: number;
  readonly bits: number;
}

/**
 * Ranges of IPv4 without those that others hold, and with neighbours in one: as the classic controller writes them, so
 * that both give their rule the same name.
 */
export function aggregated(cidrs: readonly string[]): readonly string[] {
  const ranges = cidrs.map(parse).sort((a, b) => a.start - b.start || a.bits - b.bits);
  const merged: Range[] = [];
  for (const range of ranges) {
    const last = merged.at(-1);
    if (last !== undefined && last.bits <= range.bits && range.start < last.start + sizeOf(last)) continue;
    merged.push(range);
    for (let two = merged.slice(-2); two.length === 2 && areHalves(two[0]!, two[1]!); two = merged.slice(-2))
      merged.splice(-2, 2, { start: two[0]!.start, bits: two[0]!.bits - 1 });
  }
  return merged.map(print);
}

const sizeOf = ({ bits }: Range) => 2 ** (32 - bits);

function areHalves(a: Range, b: Range): boolean {
  return a.bits === b.bits && b.start === a.start + sizeOf(a) && a.start % (2 * sizeOf(a)) === 0;
}

function parse(cidr: string): Range {
  const [address, bits] = ipaddr.IPv4.parseCIDR(cidr);
  return { start: address.octets.reduce((sum, octet) => sum * 256 + octet, 0), bits };
}

function print({ start, bits }: Range): string {
  return `${[24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join('.')}/${bits}`;
}
