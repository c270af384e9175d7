import { createHash, createHmac } from 'node:crypto';
import type { ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal, type FakeRequest } from './fake-api.ts';
import type { FakeKey } from './fake-region.ts';

const skewMs = 15 * 60_000;

/**
 * Reads a call and verifies its signature, of either generation: `ACS3-HMAC-SHA256` in a header, or HMAC-SHA1 over all
 * parameters. Written from the vendor's description, not from what Mooring sends.
 */
export function verified(
  received: ReceivedCall,
  keys: ReadonlyMap<string, FakeKey>,
  nonces: Set<string>,
  nowMs: number,
): FakeRequest {
  const params = new Map(received.query);
  if (/x-www-form-urlencoded/.test(received.headers['content-type'] ?? ''))
    for (const [name, value] of new URLSearchParams(received.text)) params.set(name, value);
  const header = /^ACS3-HMAC-SHA256 Credential=([^,]+),SignedHeaders=([^,]+),Signature=([0-9a-f]{64})$/.exec(
    received.authorization,
  );
  if (header !== null) {
    const [, id, names, signature] = header;
    const { headers } = received;
    const key = keyOf(keys, id!, headers['x-acs-security-token'], nowMs);
    const used = names!.split(';');
    for (const name of ['host', 'x-acs-action', 'x-acs-version', 'x-acs-date', 'x-acs-content-sha256'])
      if (!used.includes(name)) throw new FakeRefusal(400, 'IncompleteSignature', `${name} is not signed`);
    if (sha256(received.text) !== headers['x-acs-content-sha256'])
      throw new FakeRefusal(400, 'SignatureDoesNotMatch', 'the body has another digest');
    const byName = [...received.query].sort(([a], [b]) => (quoted(a) < quoted(b) ? -1 : 1));
    const query = byName.map(([name, value]) => `${quoted(name)}=${quoted(value)}`);
    const signed = used.map((name) => `${name}:${(headers[name] ?? '').trim()}\n`).join('');
    const digest = headers['x-acs-content-sha256'];
    const canonical = [received.method, received.path, query.join('&'), signed, names, digest].join('\n');
    const wanted = createHmac('sha256', key.secret)
      .update(`ACS3-HMAC-SHA256\n${sha256(canonical)}`)
      .digest('hex');
    if (wanted !== signature) throw new FakeRefusal(400, 'SignatureDoesNotMatch', `canonical: ${canonical}`);
    once(nonces, headers['x-acs-signature-nonce'], headers['x-acs-date'], nowMs);
    const called = { action: headers['x-acs-action']!, version: headers['x-acs-version']! };
    return { ...called, params, received, algorithm: 'ACS3-HMAC-SHA256' };
  }
  if (params.get('SignatureMethod') !== 'HMAC-SHA1')
    throw new FakeRefusal(400, 'MissingAccessKeyId', 'AccessKeyId is mandatory for this action.');
  const key = keyOf(keys, params.get('AccessKeyId') ?? '', params.get('SecurityToken'), nowMs);
  const sorted = [...params].filter(([name]) => name !== 'Signature').sort(([a], [b]) => (a < b ? -1 : 1));
  const canonical = sorted.map(([name, value]) => `${quoted(name)}=${quoted(value)}`).join('&');
  const text = `${received.method}&${quoted('/')}&${quoted(canonical)}`;
  const wanted = createHmac('sha1', `${key.secret}&`).update(text).digest('base64');
  if (wanted !== params.get('Signature')) throw new FakeRefusal(400, 'SignatureDoesNotMatch', `signed: ${text}`);
  once(nonces, params.get('SignatureNonce'), params.get('Timestamp'), nowMs);
  const called = { action: params.get('Action') ?? '', version: params.get('Version') ?? '' };
  return { ...called, params, received, algorithm: 'HMAC-SHA1' };
}

function keyOf(keys: ReadonlyMap<string, FakeKey>, id: string, token: string | undefined, nowMs: number): FakeKey {
  const key = keys.get(id);
  if (key === undefined)
    throw new FakeRefusal(404, 'InvalidAccessKeyId.NotFound', 'Specified access key is not found.');
  if (key.token !== token) throw new FakeRefusal(400, 'InvalidSecurityToken.Malformed', 'SecurityToken is malformed.');
  if (key.endsAtMs !== undefined && nowMs >= key.endsAtMs)
    throw new FakeRefusal(400, 'InvalidSecurityToken.Expired', 'Specified SecurityToken is expired.');
  return key;
}

function once(nonces: Set<string>, nonce: string | undefined, date: string | undefined, nowMs: number): void {
  if (!nonce || nonces.has(nonce)) throw new FakeRefusal(400, 'SignatureNonceUsed', 'the nonce was used already');
  nonces.add(nonce);
  const at = Date.parse(date ?? '');
  if (!(Math.abs(at - nowMs) < skewMs)) throw new FakeRefusal(400, 'InvalidTimeStamp.Expired', 'too far from now');
}

function quoted(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
