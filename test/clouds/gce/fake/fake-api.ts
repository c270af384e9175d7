/** One call as the fake has it. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** As it was sent. */
  readonly text: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

export interface FakeAnswer {
  readonly status: number;
  /** A text is sent as it is, all else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error answer of the API. */
export class FakeRefusal extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }

  get answer(): FakeAnswer {
    return refusal(this.status, this.reason, this.message);
  }
}

export function refusal(status: number, reason: string, message: string): FakeAnswer {
  const errors = [{ message, domain: 'global', reason }];
  return { status, body: { error: { code: status, message, errors } } };
}

export const notFound = (resource: string) =>
  new FakeRefusal(404, 'notFound', `The resource '${resource}' was not found`);

/** The items that a filter leaves: `name = "a"`, and `name eq regular-expression`. */
export function filtered<Item extends object>(items: readonly Item[], filter: string | null): readonly Item[] {
  if (filter === null) return items;
  const textOf = (item: Item, field: string) => String((item as Readonly<Record<string, unknown>>)[field] ?? '');
  const equal = /^(\w+) ?= ?"([^"]*)"$/.exec(filter);
  if (equal) return items.filter((item) => textOf(item, equal[1]!) === equal[2]);
  const quoted = /^(\w+) eq "([^"]*)"$/.exec(filter);
  if (quoted) return items.filter((item) => new RegExp(`^(?:${quoted[2]})$`).test(textOf(item, quoted[1]!)));
  const clauses = [...filter.matchAll(/\(?(\w+) eq ([^()]+(?:\([^)]*\))?[^()]*)\)?/g)];
  if (clauses.length === 0)
    throw new FakeRefusal(
      400,
      'invalid',
      `Invalid value for field 'filter': '${filter}'. Invalid list filter expression.`,
    );
  return items.filter((item) =>
    clauses.every(([, field, pattern]) => new RegExp(`^(?:${pattern!.trim()})$`).test(textOf(item, field!))),
  );
}

/** A page of a list, and the token of the next one. */
export function pageOf<Item>(items: readonly Item[], query: URLSearchParams) {
  const size = Math.min(Number(query.get('maxResults') ?? 500), 500);
  const from = Number(Buffer.from(query.get('pageToken') ?? '', 'base64url').toString() || 0);
  const more = from + size < items.length;
  const next = more ? { nextPageToken: Buffer.from(String(from + size)).toString('base64url') } : {};
  return { items: items.slice(from, from + size), next };
}
