import { CloudError, type CloudErrorKind, kindOfHttpStatus } from '../../../../common/cloud-error.ts';
import type { Expiring } from '../../expiring-credential.ts';
import { cloud } from '../fault.ts';

/** An access token. */
export type Token = Expiring<string>;

/** Reads one token. Safe to repeat. Throws a CloudError without any part of a credential. */
export type TokenSource = () => Promise<Token>;

/** An access token and how long it lives, in the words of one service. */
interface TokenFields {
  readonly token: string;
  /** Seconds, or a time in ISO 8601. */
  readonly expiry: string;
}

export const oauthFields: TokenFields = { token: 'access_token', expiry: 'expires_in' };
export const googleFields: TokenFields = { token: 'accessToken', expiry: 'expireTime' };

/** @param nowMs Unix time */
export function readToken(
  operation: string,
  text: string,
  { token, expiry }: TokenFields,
  nowMs: number,
): Expiring<string> {
  const fields = jsonObject(text);
  const [value, expires] = [fields?.[token], fields?.[expiry]];
  // Some services give the seconds as a text, which would be read as a year.
  const isTime = typeof expires === 'string' && !/^\d+$/.test(expires);
  const lifeMs = isTime ? Date.parse(expires) - nowMs : Number(expires ?? Number.NaN) * 1000;
  // Neither is shown: the answer holds the token.
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) throw bad(operation, token, 'a token');
  if (!Number.isFinite(lifeMs)) throw bad(operation, expiry, 'when the token ends');
  return { value, lifeMs };
}

function bad(operation: string, field: string, expected: string): CloudError {
  const message = `answer.${field}: a wrong value (not shown), expected ${expected}`;
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}

/** A refusal of a service that gives tokens. @param secrets what it may repeat of the request */
export function refusedToken(
  operation: string,
  { status, text }: { readonly status: number; readonly text: string },
  secrets: readonly string[],
): CloudError {
  const { error, error_description: description } = jsonObject(text) ?? {};
  const nested = typeof error === 'object' && error !== null ? (error as Readonly<Record<string, unknown>>) : undefined;
  const words = [status, nested?.['status'] ?? error, nested?.['message'] ?? description].filter(
    (word) => typeof word === 'string' || typeof word === 'number',
  );
  let message = words.join(' ');
  for (const secret of secrets) message = message.replaceAll(secret, '[hidden]');
  // OAuth says 400 where it refuses what it was shown (RFC 6749, 5.2).
  const kind: CloudErrorKind = status === 400 ? 'Unauthorized' : status === 404 ? 'Invalid' : kindOfHttpStatus(status);
  return new CloudError({ kind, cloud, operation, message: message.slice(0, 300) });
}

export function jsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
