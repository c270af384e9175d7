import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CountedHttp } from '../counted-http.ts';
import type { ReadText } from '../variables.ts';
import type { CredentialSource } from './config.ts';
import { cloud, errorOf, invalid } from './fault.ts';
import type { Metadata } from './metadata.ts';
import type { AccessKey } from './signing.ts';

export interface CredentialOptions {
  readonly source: CredentialSource;
  readonly clock: Clock;
  readonly http: CountedHttp;
  readonly metadata: Metadata;
  readonly readText: ReadText;
  /** Of STS, with a scheme and without a slash at the end. */
  stsEndpoint(signal: AbortSignal | undefined): Promise<string>;
}

/** The key that calls are signed with now. Throws a CloudError. */
export type Credentials = (signal?: AbortSignal) => Promise<AccessKey>;

interface EndingKey {
  readonly key: AccessKey;
  /** Unix time in milliseconds. */
  readonly endsAtMs: number;
}

/** A key is renewed this long before it ends. */
const renewMs = 10 * 60_000;
/** After a failure, while the held key is still good. */
const retryMs = 30_000;
const timeoutMs = 10_000;

/** Keys of a RAM role are kept until shortly before they end; one that cannot be renewed is used until its end. */
export function createCredentials(options: CredentialOptions): Credentials {
  const { source, clock } = options;
  if (source.from === 'key') return async () => source.key;
  let held: EndingKey | undefined;
  let renewing: Promise<EndingKey> | undefined;
  let nextTryMs = 0;

  const read = (signal: AbortSignal | undefined) =>
    source.from === 'role' ? ofRole(source.role, options, signal) : ofOidc(source, options, signal);

  return async (signal) => {
    const now = clock.now();
    if (held !== undefined && (now < held.endsAtMs - renewMs || now < nextTryMs)) return held.key;
    renewing ??= read(signal).finally(() => {
      renewing = undefined;
    });
    try {
      held = await renewing;
    } catch (error) {
      if (held === undefined || clock.now() >= held.endsAtMs) throw error;
      nextTryMs = clock.now() + retryMs;
    }
    return held.key;
  };
}

/** The keys of the RAM role of this instance. */
async function ofRole(
  role: string | undefined,
  { metadata }: CredentialOptions,
  signal: AbortSignal | undefined,
): Promise<EndingKey> {
  const path = 'ram/security-credentials/';
  const [name] = (role ?? (await metadata.read(path, signal))).split('\n');
  return keyIn(await metadata.read(path + name!.trim(), signal), 'GET ram/security-credentials', (fields) => fields);
}

/** AssumeRoleWithOIDC, which needs no signature: the token of the service account is the proof. */
async function ofOidc(
  { role, provider, tokenFile, session }: Extract<CredentialSource, { from: 'oidc' }>,
  { http, clock, readText, stsEndpoint }: CredentialOptions,
  signal: AbortSignal | undefined,
): Promise<EndingKey> {
  const operation = 'AssumeRoleWithOIDC';
  const token = (await readText(tokenFile))?.trim() ?? '';
  if (token === '')
    throw invalid(operation, `ALIBABA_CLOUD_OIDC_TOKEN_FILE: ${tokenFile}, expected a file with a token`);
  const body = new URLSearchParams({
    ...{ Action: operation, Version: '2015-04-01', Format: 'JSON', RoleArn: role, OIDCProviderArn: provider },
    ...{ OIDCToken: token, RoleSessionName: session, DurationSeconds: '3600' },
    Timestamp: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const url = `${await stsEndpoint(signal)}/`;
  const answer = await http(operation, { method: 'POST', url, headers, body: body.toString(), timeoutMs, signal });
  if (answer.status >= 300) throw errorOf(operation, answer);
  return keyIn(answer.text, operation, (fields) => fields.object('Credentials'));
}

type Fields = ReturnType<typeof answerFields>;

function keyIn(text: string, operation: string, part: (fields: Fields) => Fields): EndingKey {
  const place = { cloud, operation, secret: true };
  const fields = part(answerFields(parseAnswer(text, place), place));
  const endsAtMs = Date.parse(fields.text('Expiration'));
  if (Number.isNaN(endsAtMs))
    throw new CloudError({ kind: 'Invalid', cloud, operation, message: 'Expiration: expected a time in ISO 8601' });
  const [id, secret, token] = (['AccessKeyId', 'AccessKeySecret', 'SecurityToken'] as const).map(fields.text);
  return { key: { id: id!, secret: secret!, token }, endsAtMs };
}
