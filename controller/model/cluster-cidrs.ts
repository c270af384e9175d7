import { type Cidr, overlap, parseCidr } from './cidr.ts';

/**
 * Parses `--cluster-cidr` and similar flags: one range, or one of each family, separated by a comma; none for an empty
 * text. Returns what was expected when the text does not parse.
 */
export function parseClusterCidrs(text: string): readonly Cidr[] | { readonly expected: string } {
  const expected = 'one CIDR, or one of each family, such as 10.244.0.0/16 or 10.244.0.0/16,fd00:10::/56';
  const parts = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  if (parts.length > 2) return { expected };
  const cidrs = parts.map(parseCidr);
  const parsed = cidrs.filter((cidr) => cidr !== undefined);
  if (parsed.length < cidrs.length || new Set(parsed.map(({ family }) => family)).size < parsed.length)
    return { expected };
  return parsed;
}

export function overlapsAny(cidr: Cidr, others: readonly Cidr[]): boolean {
  return others.some((other) => overlap(cidr, other));
}
