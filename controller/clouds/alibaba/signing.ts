import { createHash, createHmac } from 'node:crypto';

/** One set of credentials. */
export interface AccessKey {
  readonly id: string;
  readonly secret: string;
  /** Beside keys that end: of a RAM role. */
  readonly token?: string | undefined;
}

export interface SignedCall {
  readonly method: 'GET' | 'POST';
  /** Path `/`; parameters are in its query. */
  readonly url: URL;
  readonly action: string;
  /** Of the API: `2014-05-26`. */
  readonly version: string;
  /** Unix time in milliseconds. */
  readonly nowMs: number;
  /** Never used twice. */
  readonly nonce: string;
}

const algorithm = 'ACS3-HMAC-SHA256';

/**
 * Headers that sign a call without a body, as "Request syntax and signature method V3" of Alibaba Cloud describes it.
 * Pure.
 */
export function signedHeaders(call: SignedCall, key: AccessKey): Readonly<Record<string, string>> {
  const { method, url, action, version, nowMs, nonce } = call;
  const payload = sha256('');
  const headers: Record<string, string> = {
    host: url.host,
    'x-acs-action': action,
    'x-acs-content-sha256': payload,
    'x-acs-date': new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    ...(key.token === undefined ? {} : { 'x-acs-security-token': key.token }),
    'x-acs-signature-nonce': nonce,
    'x-acs-version': version,
  };
  const names = Object.keys(headers).sort();
  const signed = names.join(';');
  const lines = names.map((name) => `${name}:${headers[name]}\n`).join('');
  const request = [method, '/', canonicalQuery(url.searchParams), lines, signed, payload].join('\n');
  const signature = createHmac('sha256', key.secret)
    .update(`${algorithm}\n${sha256(request)}`)
    .digest('hex');
  return {
    ...headers,
    accept: 'application/json',
    authorization: `${algorithm} Credential=${key.id},SignedHeaders=${signed},Signature=${signature}`,
  };
}

/** Sorted by name, with the escapes of RFC 3986. */
export function canonicalQuery(query: URLSearchParams): string {
  const pairs = [...query].map(([name, value]) => [escaped(name), escaped(value)] as const);
  pairs.sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.map(([name, value]) => `${name}=${value}`).join('&');
}

export function escaped(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
