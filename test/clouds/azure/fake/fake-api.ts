import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';

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
export function pageOf(items: readonly Json[], { query, origin, path }: ReceivedCall, pageSize: number): FakeAnswer {
  const from = Number(query.get('$skiptoken') ?? 0);
  const next = new URL(path, origin);
  for (const [name, value] of query) next.searchParams.set(name, value);
  next.searchParams.set('$skiptoken', String(from + pageSize));
  const value = items.slice(from, from + pageSize);
  return { status: 200, body: { value, ...(from + pageSize < items.length ? { nextLink: next.href } : {}) } };
}
