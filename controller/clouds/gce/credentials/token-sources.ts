import { sign } from 'node:crypto';
import { CloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { Exchange } from '../../exchange.ts';
import type { ReadText } from '../../variables.ts';
import { cloud } from '../fault.ts';
import type { AuthorizedUser, ExternalAccount, FileCredential, ServiceAccountKey } from './credential-file.ts';
import type { MetadataServer } from './metadata-server.ts';
import {
  googleFields,
  jsonObject,
  oauthFields,
  readToken,
  refusedToken,
  type Token,
  type TokenSource,
} from './token.ts';

/** How a credential becomes a token. */
export interface TokenParts {
  readonly exchange: Exchange;
  readonly clock: Clock;
  readonly readText: ReadText;
}

const scope = 'https://www.googleapis.com/auth/cloud-platform';
const timeoutMs = 10_000;

export function tokensOfFile(credential: FileCredential, parts: TokenParts): TokenSource {
  switch (credential.type) {
    case 'service_account':
      return () => ofServiceAccount(credential, parts);
    case 'authorized_user':
      return () => ofUser(credential, parts);
    case 'external_account':
      return () => ofExternalAccount(credential, parts);
  }
}

export function tokensOfMetadata(metadata: MetadataServer, { clock }: TokenParts): TokenSource {
  const path = 'instance/service-accounts/default/token';
  return async () => readToken(`GET metadata ${path}`, await metadata.read(path), oauthFields, clock.now());
}

/** The classic controller's `token-url`: asked with the VM's own token, as that one does. */
export function tokensOfUrl(
  { url, body }: { readonly url: string; readonly body: string },
  vm: TokenSource,
  parts: TokenParts,
): TokenSource {
  return async () => {
    const operation = 'POST token-url';
    const { value } = await vm();
    const headers = { authorization: `Bearer ${value}`, 'content-type': 'application/json' };
    const answer = await parts.exchange(operation, { method: 'POST', url, headers, body, timeoutMs });
    if (answer.status !== 200) throw refusedToken(operation, answer, [value, body].filter(Boolean));
    return readToken(operation, answer.text, googleFields, parts.clock.now());
  };
}

/** RFC 7523, as Google's "Using OAuth 2.0 for server to server applications" has it. */
function ofServiceAccount({ email, key, keyId, tokenUrl }: ServiceAccountKey, parts: TokenParts): Promise<Token> {
  const issuedAt = Math.floor(parts.clock.now() / 1000);
  const header = { alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) };
  const claims = { iss: email, scope, aud: tokenUrl, iat: issuedAt, exp: issuedAt + 3600 };
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const signed = `${encode(header)}.${encode(claims)}`;
  const assertion = `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
  return post(parts, 'POST token of the service account', tokenUrl, form, [assertion]);
}

function ofUser({ clientId, clientSecret, refreshToken, tokenUrl }: AuthorizedUser, parts: TokenParts): Promise<Token> {
  const form = { grant_type: 'refresh_token', client_id: clientId, client_secret: clientSecret };
  const secrets = [clientSecret, refreshToken];
  return post(parts, 'POST token of the user', tokenUrl, { ...form, refresh_token: refreshToken }, secrets);
}

/** RFC 8693, and the impersonation of a service account with what comes out. */
async function ofExternalAccount(account: ExternalAccount, parts: TokenParts): Promise<Token> {
  const { audience, subjectTokenType, tokenUrl, client, impersonationUrl, lifetimeSeconds } = account;
  const subjectToken = await subjectTokenOf(account, parts);
  const form = {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    audience,
    scope,
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    subject_token_type: subjectTokenType,
    subject_token: subjectToken,
  };
  const basic = client && Buffer.from(`${client.id}:${client.secret}`).toString('base64');
  const secrets = [subjectToken, ...(client?.secret ? [client.secret] : [])];
  const headers = basic === undefined ? {} : { authorization: `Basic ${basic}` };
  const federated = await post(parts, 'POST token exchange', tokenUrl, form, secrets, headers);
  if (impersonationUrl === undefined) return federated;
  const operation = 'POST impersonation';
  const answer = await parts.exchange(operation, {
    method: 'POST',
    url: impersonationUrl,
    timeoutMs,
    headers: { authorization: `Bearer ${federated.value}`, 'content-type': 'application/json' },
    body: JSON.stringify({ scope: [scope], lifetime: `${lifetimeSeconds}s` }),
  });
  if (answer.status !== 200) throw refusedToken(operation, answer, [federated.value]);
  return readToken(operation, answer.text, googleFields, parts.clock.now());
}

/** Read again each time: a projected token changes every hour. */
async function subjectTokenOf({ source, tokenField }: ExternalAccount, parts: TokenParts): Promise<string> {
  const operation = 'read subject token';
  const fail = (message: string) => new CloudError({ kind: 'Unauthorized', cloud, operation, message });
  let text: string | undefined;
  let from: string;
  if ('file' in source) {
    from = source.file;
    text = await parts.readText(source.file).catch(() => undefined);
    if (text === undefined) throw fail(`${from}: no file that can be read`);
  } else {
    from = 'credential_source.url';
    const answer = await parts.exchange(operation, { url: source.url, headers: source.headers, timeoutMs });
    if (answer.status !== 200) throw fail(`${from}: ${answer.status}`);
    text = answer.text;
  }
  const token = tokenField === undefined ? text.trim() : jsonObject(text)?.[tokenField];
  if (typeof token === 'string' && token !== '') return token;
  throw fail(`${from}: no token${tokenField === undefined ? '' : ` in its field ${tokenField}`}`);
}

async function post(
  { exchange, clock }: TokenParts,
  operation: string,
  url: string,
  form: Readonly<Record<string, string>>,
  secrets: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Promise<Token> {
  const answer = await exchange(operation, {
    method: 'POST',
    url,
    timeoutMs,
    body: new URLSearchParams(form).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json', ...headers },
  });
  if (answer.status !== 200) throw refusedToken(operation, answer, secrets);
  return readToken(operation, answer.text, oauthFields, clock.now());
}
