import { providerIdCodecs } from '../../common/provider-id/registry.ts';

/**
 * Whether a parsed body is a report, written a second time and by other means than the schema: where the two differ,
 * one is wrong.
 */
export function isReport(value: unknown): boolean {
  return record(value, {
    version: (v) => v === 1,
    agentVersion: line(64),
    agentId: match(64, /^[A-Za-z0-9._-]+$/),
    sequence: whole,
    observedAt: time,
    'bootId?': match(64, /^[A-Za-z0-9-]+$/),
    'smbiosUuid?': match(36, /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/),
    'instance?': isInstance,
    metadata: isMetadata,
    'notices?': list(16, isNotice),
    'evidence?': isEvidence,
    'leaving?': bool,
  });
}

type Check = (value: unknown) => boolean;

const bool: Check = (value) => typeof value === 'boolean';
const whole: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const word = match(32, /^[a-z][a-z0-9-]*$/);

function record(value: unknown, fields: Readonly<Record<string, Check>>): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const known = new Map(Object.entries(fields).map(([name, check]) => [name.replace('?', ''), check]));
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'));
  if (required.some((name) => !Object.hasOwn(value, name))) return false;
  return Object.entries(value).every(([name, field]) => known.get(name)?.(field) === true);
}

/** Characters as a person with a ruler counts them here: code points. */
function text(value: unknown, most: number, least = 0): value is string {
  if (typeof value !== 'string') return false;
  const length = [...value].length;
  return length >= least && length <= most;
}

function match(most: number, pattern: RegExp): Check {
  return (value) => text(value, most, 1) && pattern.test(value);
}

/**
 * Ranges of characters that are invisible or change how text is shown: Unicode's Cc, Cf, Zl and Zp, written apart from
 * the schema.
 */
const unseen: readonly (readonly [from: number, to: number])[] = [
  [0, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x600, 0x605],
  [0x61c, 0x61c],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x890, 0x891],
  [0x8e2, 0x8e2],
  [0x180e, 0x180e],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2064],
  [0x2066, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0001, 0xe0001],
  [0xe0020, 0xe007f],
];

function isSeen(char: string): boolean {
  const code = char.codePointAt(0) ?? 0;
  return unseen.every(([from, to]) => code < from || code > to);
}

/** One line of characters that are seen; no halves of surrogate pairs. */
function line(most: number, least = 1): Check {
  return (value) => text(value, most, least) && value.isWellFormed() && [...value].every(isSeen);
}

function list(most: number, check: Check): Check {
  return (value) => Array.isArray(value) && value.length <= most && value.every((each) => check(each));
}

const days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function time(value: unknown): boolean {
  if (!text(value, 40)) return false;
  const parts = /^(\d{4})-(\d\d)-(\d\d)t(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/i.exec(value);
  if (!parts) return false;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [aheadHours, aheadMinutes] = [Number(parts[8] ?? 0), Number(parts[9] ?? 0)];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 && leap ? 29 : (days[month - 1] ?? 0);
  if (day < 1 || day > last || aheadHours > 23 || aheadMinutes > 59) return false;
  if (hour <= 23 && minute <= 59 && second <= 59) return true;
  // A leap second ends a day of UTC.
  const ahead = (aheadHours * 60 + aheadMinutes) * (parts[7] === '-' ? -1 : 1);
  const utc = (((hour * 60 + minute - ahead) % 1440) + 1440) % 1440;
  return hour <= 23 && minute <= 59 && second === 60 && utc === 1439;
}

function isInstance(value: unknown): boolean {
  if (!shapedLikeInstance(value)) return false;
  const { cloud, id, providerID } = value as {
    readonly cloud: string;
    readonly id: string;
    readonly providerID: string;
  };
  const codec = providerIdCodecs.get(cloud);
  return codec === undefined || codec.parse(providerID)?.instanceId.toLowerCase() === id.toLowerCase();
}

function shapedLikeInstance(value: unknown): boolean {
  return record(value, {
    cloud: word,
    id: (v) => line(512)(v) && !/\s/.test(v as string),
    providerID: match(512, /^[!-~\p{L}\p{Nd}]+$/u),
    'incarnation?': match(256, /^[\x21-\x7e]+$/),
    'name?': line(253),
    'zone?': line(128),
    'region?': line(128),
    'type?': line(128),
    addresses: (v) => list(1000, isAddress)(v) && distinct(v as Address[]),
    'labels?': isLabels,
  });
}

interface Address {
  readonly type: string;
  readonly address: string;
}

function distinct(addresses: readonly Address[]): boolean {
  return new Set(addresses.map(({ type, address }) => `${type} ${address}`)).size === addresses.length;
}

function isAddress(value: unknown): boolean {
  if (!record(value, { type: (v) => typeof v === 'string', address: match(253, /^[A-Za-z0-9._:-]+$/) })) return false;
  const { type, address } = value as Address;
  if (type === 'Hostname' || type === 'InternalDNS' || type === 'ExternalDNS') {
    return /^[A-Za-z0-9_]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\.?$/.test(address);
  }
  return (type === 'InternalIP' || type === 'ExternalIP') && usable(address);
}

function usable(address: string): boolean {
  const four = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1);
  if (four) return four.every((part) => Number(part) <= 255 && !/^0\d/.test(part)) && usableFour(four.map(Number));
  if (!address.includes(':') || !URL.canParse(`http://[${address}]/`)) return false;
  const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped) {
    const bits = Number.parseInt(mapped[1]!, 16) * 65_536 + Number.parseInt(mapped[2]!, 16);
    return usableFour([24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256));
  }
  return canonical !== '::' && canonical !== '::1' && !canonical.startsWith('ff');
}

/** Neither this network's own 0/8, loopback, multicast nor broadcast. */
function usableFour([a = 0, b = 0, c = 0, d = 0]: readonly number[]): boolean {
  return a !== 0 && a !== 127 && (a < 224 || a > 239) && !(a === 255 && b === 255 && c === 255 && d === 255);
}

const labelKey = /^(?:[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?){0,20}\/)?[^/]+$/;
const labelText = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

function isLabels(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length <= 64 &&
    entries.every(
      ([key, label]) =>
        labelKey.test(key) &&
        labelText.test(key.slice(key.indexOf('/') + 1)) &&
        (label === '' || (typeof label === 'string' && labelText.test(label))),
    )
  );
}

function isMetadata(value: unknown): boolean {
  const age: Check = (v) => typeof v === 'number' && v >= 0 && v <= 1e10;
  return record(value, { ok: bool, ageSeconds: age, failures: whole, 'error?': line(2048, 0) });
}

function isNotice(value: unknown): boolean {
  const kinds = ['preemption', 'maintenance', 'termination', 'rebalance'];
  return record(value, {
    kind: (v) => kinds.includes(v as string),
    'deadline?': time,
    'message?': line(2048, 0),
  });
}

function isEvidence(value: unknown): boolean {
  return record(value, {
    cloud: word,
    kind: match(64, /^[A-Za-z0-9._-]+$/),
    document: (v) => text(v, 24 * 1024, 1),
  });
}
