import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';

/** One call as the fake reads it, however its parameters and its action were sent. */
export interface FakeRequest {
  readonly action: string;
  readonly version: string;
  /** `Tag.1.Key` and so on, as they were sent. */
  readonly params: ReadonlyMap<string, string>;
  /** Of its signature: `ACS3-HMAC-SHA256` or `HMAC-SHA1`. */
  readonly algorithm: string;
  readonly received: ReceivedCall;
}

/** An error answer of the API. */
export class FakeRefusal extends Error {
  readonly answer: FakeAnswer;

  constructor(status: number, code: string, message = code) {
    super(message);
    this.answer = {
      status,
      body: { RequestId: requestId, HostId: 'ecs.cn-hangzhou.aliyuncs.com', Code: code, Message: message },
    };
  }
}

export const requestId = '473469C7-AA6F-4DC5-B3DB-A3DC0DE3C83E';
export const notFound = (code: string) => new FakeRefusal(404, code, 'The specified resource does not exist.');
export const invalid = (name: string) => new FakeRefusal(400, `InvalidParameter.${name}`, `${name} is not valid.`);

/** What the parameters say, as lists and objects: `Tag.1.Key=a` is `{ Tag: [{ Key: 'a' }] }`. */
export function read(params: ReadonlyMap<string, string>, name: string): Json[] {
  const items = new Map<number, Json>();
  for (const [key, value] of params) {
    const [, at, field] = new RegExp(`^${name}\\.(\\d+)(?:\\.(.+))?$`).exec(key) ?? [];
    if (at === undefined) continue;
    const item = items.get(Number(at)) ?? {};
    item[field ?? ''] = value;
    items.set(Number(at), item);
  }
  return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
}

export function required({ params }: FakeRequest, name: string): string {
  const value = params.get(name);
  if (value === undefined || value === '') throw new FakeRefusal(400, `MissingParameter.${name}`, `${name} is missing`);
  return value;
}

/** A page by number, as old lists answer it. */
export function pageByNumber(all: readonly Json[], { params }: FakeRequest, most: number) {
  const [page, size] = [Number(params.get('PageNumber') ?? 1), Number(params.get('PageSize') ?? 10)];
  if (!(size >= 1 && size <= most)) throw new FakeRefusal(400, 'InvalidParameter.PageSize', 'PageSize is not valid.');
  return {
    items: all.slice((page - 1) * size, page * size),
    paging: { TotalCount: all.length, PageNumber: page, PageSize: size },
  };
}

/** A page by token, as new lists answer it. */
export function pageByToken(all: readonly Json[], { params }: FakeRequest, most: number) {
  const asked = params.get('MaxResults') ?? params.get('MaxResult') ?? '10';
  const size = Number(asked);
  if (!(size >= 1 && size <= most)) throw new FakeRefusal(400, 'InvalidMaxResults', 'MaxResults is not valid.');
  const token = params.get('NextToken') ?? '';
  const from = token === '' ? 0 : Number(Buffer.from(token, 'base64').toString().split(' ')[1]);
  if (!(from >= 0)) throw new FakeRefusal(400, 'InvalidParameter.NextToken', 'NextToken is not valid.');
  const next = from + size < all.length ? Buffer.from(`at ${from + size}`).toString('base64') : '';
  return { items: all.slice(from, from + size), paging: { NextToken: next } };
}

export function ok(body: Json): FakeAnswer {
  return { status: 200, body: { RequestId: requestId, ...body } };
}
