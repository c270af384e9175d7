import { constants, verify, X509Certificate } from 'node:crypto';
import type { Clock } from '../../../../common/process/clock.ts';
import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';
import { tenant } from './fake-state.ts';

export const application = {
  clientId: '11111111-2222-4333-8444-555555555555',
  secret: 'client~s3cret.Q8',
  federated: 'eyJhbGciOiJSUzI1NiJ9.federated.token-of-the-cluster',
};

/** Where tokens are issued: to applications by the authority, to VMs by their metadata service. */
export interface FakeLogin {
  /** Undefined for a path of something else. */
  answer(call: ReceivedCall): FakeAnswer | undefined;
  accepts(authorization: string): boolean;
  /** Every token that was issued so far is refused from now on. */
  revoke(): void;
  secret: string;
  federated: string;
  /** What a certificate's assertion is verified with, in PEM. */
  certificate: string | undefined;
  /** Seconds. */
  lifetime: number;
  /** Client ids that VMs have; the empty one is that of the system. */
  readonly identities: Set<string>;
  issued: number;
}

export function createFakeLogin(clock: Clock): FakeLogin {
  const tokens = new Map<string, number>();

  function issue(typed: (seconds: number) => unknown): FakeAnswer {
    login.issued += 1;
    const token = `fake.azure-token-${login.issued}.s3cret`;
    tokens.set(token, clock.now() + login.lifetime * 1000);
    const expiry = { expires_in: typed(login.lifetime), ext_expires_in: typed(login.lifetime) };
    const expires_on = typed(Math.floor(clock.now() / 1000) + login.lifetime);
    return { status: 200, body: { token_type: 'Bearer', access_token: token, ...expiry, expires_on } };
  }

  function ofApplication(form: URLSearchParams, audience: string): FakeAnswer {
    const refuse = (error: string, number: number): FakeAnswer => ({
      status: error === 'invalid_client' ? 401 : 400,
      body: { error, error_description: `AADSTS${number}: refused. Trace ID: 1`, error_codes: [number] },
    });
    const scope = form.get('scope') ?? form.get('resource') ?? '';
    if (form.get('grant_type') !== 'client_credentials' || scope === '') return refuse('invalid_request', 900144);
    if (form.get('client_id') !== application.clientId) return refuse('unauthorized_client', 700016);
    const secret = form.get('client_secret');
    if (secret !== null) return secret === login.secret ? issue(Number) : refuse('invalid_client', 7000215);
    const assertion = form.get('client_assertion') ?? '';
    const isBearer = form.get('client_assertion_type') === 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
    const good = assertion === login.federated || isSigned(assertion, audience);
    return isBearer && good ? issue(Number) : refuse('invalid_client', 700027);
  }

  function isSigned(assertion: string, audience: string): boolean {
    if (login.certificate === undefined) return false;
    const [head = '', claims = '', signature = ''] = assertion.split('.');
    const decoded = (part: string): Json => JSON.parse(Buffer.from(part, 'base64url').toString());
    const certificate = new X509Certificate(login.certificate);
    const { aud, iss, sub, exp, nbf, jti } = decoded(claims) as Record<string, string & number>;
    const thumbprint = Buffer.from(certificate.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url');
    const now = clock.now() / 1000;
    const facts = decoded(head)['x5t#S256'] === thumbprint && decoded(head)['alg'] === 'PS256' && jti !== undefined;
    const about = aud === audience && iss === application.clientId && sub === iss && nbf! <= now && exp! > now;
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    const key = { key: certificate.publicKey, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
    return (
      facts && about && verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))
    );
  }

  function ofVm({ query, headers }: ReceivedCall): FakeAnswer {
    if (headers['metadata'] !== 'true' || !query.get('resource'))
      return { status: 400, body: { error: 'bad_request' } };
    const identity = query.get('client_id') ?? query.get('msi_res_id') ?? '';
    if (login.identities.has(identity)) return issue(String);
    return { status: 400, body: { error: 'invalid_request', error_description: 'Identity not found' } };
  }

  const login: FakeLogin = {
    secret: application.secret,
    federated: application.federated,
    certificate: undefined,
    lifetime: 3599,
    identities: new Set(),
    issued: 0,
    answer(call) {
      const { path, origin, text, method } = call;
      if (path === '/metadata/endpoints') return { status: 200, body: endpointsAt(origin) };
      if (path === '/metadata/identity/oauth2/token') return ofVm(call);
      if (/\/\.well-known\/openid-configuration$/.test(path)) return { status: 200, body: openIdAt(origin, path) };
      if (method !== 'POST' || !/^\/[^/]+\/oauth2\/(v2\.0\/)?token$/.test(path)) return undefined;
      return ofApplication(new URLSearchParams(text), `${origin}${path}`);
    },
    accepts: (authorization) => (tokens.get(authorization.replace(/^Bearer /, '')) ?? 0) > clock.now(),
    revoke: () => tokens.clear(),
  };
  return login;
}

function endpointsAt(origin: string): Json[] {
  const authentication = {
    loginEndpoint: origin,
    audiences: ['https://management.core.windows.net/'],
    tenant: 'common',
  };
  return [{ name: 'AzurePublicCloud', authentication, resourceManager: origin }];
}

/** @param path `/adfs/.well-known/openid-configuration`, `/TENANT/v2.0/.well-known/openid-configuration` */
function openIdAt(origin: string, path: string): Json {
  const [, of = '', version] = path.split('/');
  const isAdfs = version !== 'v2.0';
  return {
    issuer: isAdfs ? `${origin}/${of}` : `${origin}/${of}/v2.0`,
    token_endpoint: `${origin}/${of}/oauth2/${isAdfs ? '' : 'v2.0/'}token`,
    authorization_endpoint: `${origin}/${of}/oauth2/authorize`,
    device_authorization_endpoint: `${origin}/${of}/oauth2/devicecode`,
    tenant,
  };
}
