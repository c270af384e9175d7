import { createHash, createHmac } from 'node:crypto';
import type { SignableRequest } from '../json-api.ts';

/** An access key, with the token that a temporary one needs. */
export interface AccessKey {
  readonly id: string;
  readonly secret: string;
  readonly token?: string | undefined;
}

const algorithm = 'SDK-HMAC-SHA256';

/**
 * The headers of a request that is signed with an access key: SDK-HMAC-SHA256 (support.huaweicloud.com, API Signing
 * Guide). Every header that it answers is signed, and the host. Pure.
 *
 * @param nowMs since 1970
 */
export function sign(
  request: SignableRequest,
  key: AccessKey,
  projectId: string | undefined,
  nowMs: number,
): Readonly<Record<string, string>> {
  const date = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const headers: Readonly<Record<string, string>> = {
    'x-sdk-date': date,
    ...(projectId !== undefined && { 'x-project-id': projectId }),
    ...(key.token !== undefined && { 'x-security-token': key.token }),
  };
  const signed = Object.entries({ host: request.url.host, ...headers }).sort(([a], [b]) => (a < b ? -1 : 1));
  const names = signed.map(([name]) => name).join(';');
  const signature = createHmac('sha256', key.secret)
    .update(textToSign(request, signed, date))
    .digest('hex');
  return {
    ...headers,
    authorization: `${algorithm} Access=${key.id}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

/** What the signature is made of. @param signed names in lower case and values, in the order of the names */
export function textToSign(
  { method, url, body = '' }: SignableRequest,
  signed: readonly (readonly [string, string])[],
  date: string,
): string {
  const path = url.pathname.split('/').map((part) => encode(decodeURIComponent(part)));
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort();
  const canonical = [
    method,
    `${path.join('/').replace(/\/$/, '')}/`,
    query.join('&'),
    signed.map(([name, value]) => `${name}:${value.trim()}\n`).join(''),
    signed.map(([name]) => name).join(';'),
    sha256(body),
  ];
  return [algorithm, date, sha256(canonical.join('\n'))].join('\n');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}
