import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CountedHttp } from '../counted-http.ts';
import { createExpiringCredential, type Expiring, type ExpiringCredential, lasting } from '../expiring-credential.ts';
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
  stsEndpoint(): Promise<string>;
}

/** The key that calls are signed with. */
export type Credentials = ExpiringCredential<AccessKey>;

const timeoutMs = 10_000;

export function createCredentials(options: CredentialOptions): Credentials {
  const { source, clock } = options;
  switch (source.from) {
    case 'key':
      return lasting(source.key);
    case 'role':
      return createExpiringCredential(() => ofRole(source.role, options), clock);
    case 'oidc':
      return createExpiringCredential(() => ofOidc(source, options), clock);
  }
}

/** The keys of the RAM role of this instance. */
async function ofRole(role: string | undefined, { metadata, clock }: CredentialOptions): Promise<Expiring<AccessKey>> {
  const path = 'ram/security-credentials/';
  const [name] = (role ?? (await metadata.read(path))).split('\n');
  const text = await metadata.read(path + name!.trim());
  return keyIn(text, 'GET ram/security-credentials', clock.now(), (fields) => fields);
}

/** AssumeRoleWithOIDC, which needs no signature: the token of the service account is the proof. */
async function ofOidc(
  { role, provider, tokenFile, session }: Extract<CredentialSource, { from: 'oidc' }>,
  { http, clock, readText, stsEndpoint }: CredentialOptions,
): Promise<Expiring<AccessKey>> {
  const operation = 'AssumeRoleWithOIDC';
  const token = (await readText(tokenFile))?.trim() ?? '';
  if (token === '')
    throw invalid(operation, `ALIBABA_CLOUD_OIDC_TOKEN_FILE: ${tokenFile}, expected a file with a token`);
  const body = new URLSearchParams({
    Action: operation,
    Version: '2015-04-01',
    Format: 'JSON',
    RoleArn: role,
    OIDCProviderArn: provider,
    OIDCToken: token,
    RoleSessionName: session,
    DurationSeconds: '3600',
    Timestamp: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z'),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  const url = `${await stsEndpoint()}/`;
  const answer = await http(operation, { method: 'POST', url, headers, body: body.toString(), timeoutMs });
  if (answer.status >= 300) throw errorOf(operation, answer);
  return keyIn(answer.text, operation, clock.now(), (fields) => fields.object('Credentials'));
}

type Fields = ReturnType<typeof answerFields>;

function keyIn(text: string, operation: string, nowMs: number, part: (fields: Fields) => Fields): Expiring<AccessKey> {
  const place = { cloud, operation, secret: true };
  const fields = part(answerFields(parseAnswer(text, place), place));
  const endsAtMs = Date.parse(fields.text('Expiration'));
  if (Number.isNaN(endsAtMs))
    throw new CloudError({ kind: 'Invalid', cloud, operation, message: 'Expiration: expected a time in ISO 8601' });
  const [id, secret, token] = (['AccessKeyId', 'AccessKeySecret', 'SecurityToken'] as const).map(fields.text);
  return { value: { id: id!, secret: secret!, token }, lifeMs: endsAtMs - nowMs };
}
