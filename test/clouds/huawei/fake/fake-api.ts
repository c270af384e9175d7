import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';

/** An error answer of one of the services. */
export class FakeRefusal extends Error {
  readonly answer: FakeAnswer;

  constructor(status: number, code: string, message: string, shape: 'top' | 'error' | 'plain' = 'top') {
    super(message);
    const bodies = {
      top: { error_code: code, error_msg: message, request_id: '80ef2ff4a8b44b6a9e7a8dbd0e0f1f11' },
      error: { error: { code, message } },
      plain: { code, message },
    };
    this.answer = { status, body: bodies[shape] };
  }
}

export const request_id = '80ef2ff4a8b44b6a9e7a8dbd0e0f1f11';

/** Of ELB. */
export const absent = (what: string, id: string) =>
  new FakeRefusal(404, 'ELB.8904', `${what} ${id} could not be found.`);
export const bad = (message: string) => new FakeRefusal(400, 'ELB.8902', message);

/** Of VPC and ELB: by the id of the last item of the page before. */
export function markerPage(collection: string, all: readonly Json[], { query }: FakeCall, most = 2000): FakeAnswer {
  const limit = Math.min(Number(query.get('limit') ?? most), most);
  const marker = query.get('marker');
  const sorted = all.toSorted((one, other) => (String(one['id']) < String(other['id']) ? -1 : 1));
  const from = marker === null ? 0 : sorted.findIndex(({ id }) => id === marker) + 1;
  if (marker !== null && from === 0) throw new FakeRefusal(400, 'VPC.0003', `marker ${marker} is invalid`);
  return { status: 200, body: { [collection]: sorted.slice(from, from + limit) } };
}
