/** A value of an answer. Members that are undefined are left out. */
export type Wire = string | number | boolean | undefined | readonly Wire[] | { readonly [name: string]: Wire };

/** A refusal as the API sends it. */
export class AwsFault extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

interface Branch {
  readonly [name: string]: string | Branch;
}

/**
 * The parameters of a request as an object: `Listeners.member.1.Protocol` and `Filter.1.Value.2` are in lists. Every
 * value is text. An empty parameter is left out, since the SDK sends an empty list as one.
 */
export function decoded<Request>(form: URLSearchParams): Request {
  const root = {};
  for (const [key, value] of form) {
    const path = key.split('.');
    if (value === '' && path.length === 1) continue;
    let at: Record<string, string | Branch> = root;
    for (const name of path.slice(0, -1)) {
      at[name] ??= {};
      at = at[name] as Record<string, string | Branch>;
    }
    at[path.at(-1)!] = value;
  }
  return withLists(root) as Request;
}

function withLists(value: string | Branch): unknown {
  if (typeof value === 'string') return value;
  const names = Object.keys(value);
  if (names.length === 1 && names[0] === 'member') return withLists(value['member']!);
  if (names.length > 0 && names.every((name) => /^\d+$/.test(name))) {
    return names.toSorted((one, other) => Number(one) - Number(other)).map((name) => withLists(value[name]!));
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withLists(one)]));
}

/** @param item what the API calls an element of a list: EC2 says `item`, Elastic Load Balancing `member` */
export function encoded(value: Wire, item: 'item' | 'member'): string {
  if (value === undefined) return '';
  if (typeof value !== 'object') return escaped(String(value));
  if (Array.isArray(value)) return value.map((one: Wire) => `<${item}>${encoded(one, item)}</${item}>`).join('');
  return Object.entries(value)
    .map(([name, one]) => (one === undefined ? '' : `<${name}>${encoded(one, item)}</${name}>`))
    .join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** One page of a list, and the marker of the next one. */
export function pageOf<Item>(
  items: readonly Item[],
  marker: string | undefined,
  size: number,
): { readonly page: readonly Item[]; readonly next: string | undefined } {
  const from = Number(marker ?? 0);
  const next = from + size < items.length ? String(from + size) : undefined;
  return { page: items.slice(from, from + size), next };
}

export interface SdkTag {
  readonly Key: string;
  readonly Value?: string;
}

export function setTags(tags: Map<string, string>, given: readonly SdkTag[] = []): void {
  for (const { Key, Value = '' } of given) tags.set(Key, Value);
}

/** Tags as Elastic Load Balancing shows them. */
export function sdkTags(tags: ReadonlyMap<string, string>): Wire[] {
  return [...tags].map(([Key, Value]) => ({ Key, Value }));
}
