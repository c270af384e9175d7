import { createHash, createHmac } from 'node:crypto';
import type { ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);

export interface FakeKey {
  readonly secret: string;
  readonly token?: string;
}

/** Refuses a call that the access key did not sign as it came, or that is older than 15 minutes. */
export function verifySignature(call: ReceivedCall, keys: ReadonlyMap<string, FakeKey>, nowMs: number): void {
  const { method, path, query, headers, text, origin, authorization } = call;
  const refuse = (why: string) =>
    new FakeRefusal(401, 'APIGW.0301', `Incorrect IAM authentication information: ${why}`);
  const parts = /^SDK-HMAC-SHA256 Access=(.+), SignedHeaders=(.+), Signature=([0-9a-f]{64})$/.exec(authorization);
  if (parts === null) throw refuse('authorization');
  const [, access = '', names = '', signature] = parts;
  const key = keys.get(access);
  if (key === undefined) throw refuse('ak not exist');
  if (headers['x-security-token'] !== key.token) throw refuse('verify security token');
  const all: Readonly<Record<string, string>> = { host: new URL(origin).host, ...headers };
  if (key.token !== undefined && !names.split(';').includes('x-security-token')) throw refuse('token is not signed');
  const date = all['x-sdk-date'] ?? '';
  const sentMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
  if (!names.split(';').includes('x-sdk-date') || !(Math.abs(sentMs - nowMs) < 15 * 60_000)) throw refuse('date');
  const pairs = [...query].map(([name, value]) => [encode(name), encode(value)] as const);
  pairs.sort((one, other) => (one < other ? -1 : 1));
  const canonical = [
    method,
    `${path}/`,
    pairs.map((pair) => pair.join('=')).join('&'),
    names
      .split(';')
      .map((name) => `${name}:${(all[name] ?? '').trim()}\n`)
      .join(''),
    names,
    sha256(text),
  ].join('\n');
  const expected = createHmac('sha256', key.secret);
  if (expected.update(`SDK-HMAC-SHA256\n${date}\n${sha256(canonical)}`).digest('hex') !== signature)
    throw refuse('verify ak sk signature fail');
}
