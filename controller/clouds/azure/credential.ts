import { constants, createHash, createSign, type KeyObject } from 'node:crypto';
import { CloudError } from '../../../common/cloud-error.ts';
import type { ReadText } from '../variables.ts';
import type { Environment } from './environment.ts';

interface Application {
  readonly clientId: string;
  /** Id or domain. */
  readonly tenant: string;
}

export type Credential =
  /** Of the VM that this process runs on. `identity`: client id or resource id; undefined: the VM's own. */
  | { readonly kind: 'managed'; readonly identity: string | undefined; readonly endpoint: string }
  | (Application & { readonly kind: 'secret'; readonly secret: string })
  | (Application & { readonly kind: 'certificate'; readonly privateKey: KeyObject; readonly certificate: Buffer })
  /** A token of the cluster, in a file that is written again before it expires. */
  | (Application & { readonly kind: 'federated'; readonly tokenFile: string });

export interface TokenRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface TokenRequestParts {
  readonly environment: Pick<Environment, 'authority' | 'audience'>;
  readonly readText: ReadText;
  /** Unix time, milliseconds. */
  readonly nowMs: number;
  /** Of an assertion: unique. */
  readonly uniqueId: string;
}

/** How long an assertion that is signed with a certificate counts, seconds. */
const assertionSeconds = 600;

/** The request that a token comes from. Reads the federated token each time. Throws a CloudError. */
export async function tokenRequest(credential: Credential, parts: TokenRequestParts): Promise<TokenRequest> {
  const { environment, readText } = parts;
  if (credential.kind === 'managed') {
    const url = new URL(`${credential.endpoint}/metadata/identity/oauth2/token`);
    url.searchParams.set('api-version', '2018-02-01');
    url.searchParams.set('resource', `${environment.audience}/`);
    const { identity } = credential;
    if (identity !== undefined) url.searchParams.set(identity.startsWith('/') ? 'msi_res_id' : 'client_id', identity);
    return { method: 'GET', url: url.href, headers: { metadata: 'true' } };
  }
  const url = `${environment.authority}/${encodeURIComponent(credential.tenant)}/oauth2/v2.0/token`;
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: credential.clientId,
    scope: `${environment.audience}/.default`,
    ...(await proofOf(credential)),
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' };
  return { method: 'POST', url, headers, body: form.toString() };

  async function proofOf(shown: Exclude<Credential, { kind: 'managed' }>): Promise<Record<string, string>> {
    if (shown.kind === 'secret') return { client_secret: shown.secret };
    const assertion = shown.kind === 'certificate' ? signed(shown, url, parts) : await federated(shown.tokenFile);
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    return { client_assertion_type: type, client_assertion: assertion };
  }
  async function federated(path: string): Promise<string> {
    const token = (await readText(path).catch(() => undefined))?.trim();
    if (token) return token;
    const message = `the federated token file ${path} cannot be read, or is empty`;
    throw new CloudError({ kind: 'Unauthorized', cloud: 'azure', operation: 'token', message });
  }
}

/** learn.microsoft.com, "Microsoft identity platform application authentication certificate credentials". */
function signed(
  { clientId, privateKey, certificate }: Extract<Credential, { kind: 'certificate' }>,
  audience: string,
  { nowMs, uniqueId }: TokenRequestParts,
): string {
  const now = Math.floor(nowMs / 1000);
  const thumbprint = createHash('sha256').update(certificate).digest('base64url');
  // The chain lets an authority check subject and issuer, where it does not have this very certificate.
  const header = { alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint, x5c: [certificate.toString('base64')] };
  const claims = {
    aud: audience,
    iss: clientId,
    sub: clientId,
    jti: uniqueId,
    nbf: now - 60,
    iat: now,
    exp: now + assertionSeconds,
  };
  const encoded = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = createSign('sha256')
    .update(encoded)
    .sign({ key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST });
  return `${encoded}.${signature.toString('base64url')}`;
}
