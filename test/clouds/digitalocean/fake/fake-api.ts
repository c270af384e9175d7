import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';

const ids: Readonly<Record<number, string>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  422: 'unprocessable_entity',
  429: 'too_many_requests',
  500: 'server_error',
};

/** An error answer of the API. */
export class FakeRefusal extends Error {
  readonly answer: FakeAnswer;

  constructor(status: number, message: string) {
    super(message);
    this.answer = { status, body: { id: ids[status], message, request_id: '4d9d8375-3c56-4925-a3e7-eb137fed17e9' } };
  }
}

export const notFound = () => new FakeRefusal(404, 'The resource you requested could not be found.');
export const invalid = (message: string) => new FakeRefusal(422, message);

/** A page of a collection, as lists answer it. */
export function pageOf(collection: string, all: readonly Json[], { path, query }: FakeCall): FakeAnswer {
  const [page, perPage] = [Number(query.get('page') ?? 1), Math.min(Number(query.get('per_page') ?? 20), 200)];
  const last = Math.max(1, Math.ceil(all.length / perPage));
  const urlOf = (number: number) => `https://api.digitalocean.com${path}?page=${number}&per_page=${perPage}`;
  const pages = {
    ...(page > 1 && { first: urlOf(1), prev: urlOf(page - 1) }),
    ...(page < last && { next: urlOf(page + 1), last: urlOf(last) }),
  };
  const body = {
    [collection]: all.slice((page - 1) * perPage, page * perPage),
    links: Object.keys(pages).length === 0 ? {} : { pages },
    meta: { total: all.length },
  };
  return { status: 200, body };
}
