const decimalExponents: Record<string, number> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const binaryExponents: Record<string, number> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 };
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, exponent]) => [exponent, suffix]));
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/**
 * A resource quantity in Kubernetes' canonical form: no fraction, the largest suffix that leaves an integer
 * (`3.5` -> `3500m`, `1024Ki` -> `1Mi`); undefined when it is no quantity. Finer than nano is rounded up.
 */
export function normaliseQuantity(text: string): string | undefined {
  const match = /^([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$/.exec(text);
  if (!match) return undefined;
  const sign = match[1] === '-' ? -1n : 1n;
  const suffix = match[3] ?? '';
  const [whole = '', fraction = ''] = (match[2] ?? '').split('.');
  // Everything is counted in nano units.
  let nano = scaled(BigInt(`${whole}${fraction}` || '0'), 9 - fraction.length + exponentOf(suffix));
  const binary = binaryExponents[suffix];
  if (binary !== undefined) nano *= 1024n ** BigInt(binary);
  nano *= sign;
  if (nano === 0n) return '0';
  if (/^[eE][+-]?\d/.test(suffix)) return scientific(nano);
  return binary !== undefined && nano % 1_000_000_000n === 0n && magnitude(nano) >= 1024n * 1_000_000_000n
    ? inBinary(nano / 1_000_000_000n)
    : inDecimal(nano);
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value;
}

function exponentOf(suffix: string): number {
  if (/^[eE][+-]?\d/.test(suffix)) return Number(suffix.slice(1));
  return decimalExponents[suffix] ?? 0;
}

function scaled(value: bigint, exponent: number): bigint {
  if (exponent >= 0) return value * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return (value + divisor - 1n) / divisor;
}

function inBinary(value: bigint): string {
  let power = 0;
  let rest = value;
  while (power < 6 && rest % 1024n === 0n) {
    rest /= 1024n;
    power += 1;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function thousands(nano: bigint): { rest: bigint; exponent: number } {
  let exponent = -9;
  let rest = nano;
  while (exponent < 18 && rest % 1000n === 0n) {
    rest /= 1000n;
    exponent += 3;
  }
  return { rest, exponent };
}

function inDecimal(nano: bigint): string {
  const { rest, exponent } = thousands(nano);
  return `${rest}${decimalSuffixes.get(exponent)}`;
}

function scientific(nano: bigint): string {
  const { rest, exponent } = thousands(nano);
  return exponent === 0 ? `${rest}` : `${rest}e${exponent}`;
}
