export type Json = Record<string, unknown>;

/** One request as the fake has it. */
export interface FakeCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** As it was sent. */
  readonly text: string;
  /** By names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Where the fake was reached: `http://127.0.0.1:1234`. */
  readonly origin: string;
}

export interface FakeAnswer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error answer of Resource Manager. */
export class FakeRefusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly details: readonly Json[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    more: { readonly details?: readonly Json[]; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = more.details ?? [];
    this.headers = more.headers ?? {};
  }
}

export function answerOf({ status, code, message, details, headers }: FakeRefusal): FakeAnswer {
  return { status, headers, body: { error: { code, message, ...(details.length === 0 ? {} : { details }) } } };
}

/** One page of a list, with the link to the next one. Items keep their places while pages are read. */
export function pageOf(items: readonly Json[], { query, origin, path }: FakeCall, pageSize: number): FakeAnswer {
  const from = Number(query.get('$skiptoken') ?? 0);
  const next = new URL(path, origin);
  for (const [name, value] of query) next.searchParams.set(name, value);
  next.searchParams.set('$skiptoken', String(from + pageSize));
  const value = items.slice(from, from + pageSize);
  return { status: 200, body: { value, ...(from + pageSize < items.length ? { nextLink: next.href } : {}) } };
}
