import { generateKeyPairSync, verify } from 'node:crypto';
import type { Clock } from '../../../../common/process/clock.ts';
import { type FakeAnswer, type FakeCall, refusal } from './fake-api.ts';

/** What gives out tokens: Google's OAuth, the exchange of federated tokens, impersonation, the metadata service. */
export interface FakeIdentity {
  /** Tokens that the API takes, and when they end. */
  readonly tokens: Map<string, number>;
  lifeSeconds: number;
  /** Answers of the metadata service by path from `computeMetadata/v1/`. */
  readonly metadata: Map<string, string>;
  /** The tokens of another issuer that can be exchanged. */
  readonly subjectTokens: Set<string>;
  readonly privateKey: string;
  /** Undefined: none of these calls. */
  answer(call: FakeCall): FakeAnswer | undefined;
  isValid(token: string): boolean;
}

export const serviceAccount = 'mooring@proj.iam.gserviceaccount.com';

const createPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 });

export function createIdentity(clock: Clock): FakeIdentity {
  let pair: ReturnType<typeof createPair> | undefined;
  const keys = () => {
    pair ??= createPair();
    return pair;
  };
  let count = 0;
  const oauth = (error: string, description: string) => ({
    status: 400,
    body: { error, error_description: description },
  });
  function issue(): string {
    count += 1;
    const token = `ya29.fake-token-${count}`;
    self.tokens.set(token, clock.now() + self.lifeSeconds * 1000);
    return token;
  }
  const oauthToken = (): FakeAnswer => ({
    status: 200,
    body: { access_token: issue(), expires_in: self.lifeSeconds, token_type: 'Bearer' },
  });

  function byAssertion(assertion: string, host: string): FakeAnswer {
    const [header = '', claims = '', signature = ''] = assertion.split('.');
    const signed = Buffer.from(`${header}.${claims}`);
    if (!verify('RSA-SHA256', signed, keys().publicKey, Buffer.from(signature, 'base64url')))
      return oauth('invalid_grant', `Invalid JWT Signature: ${assertion}`);
    const { iss, aud, exp, iat, scope } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    const isTimely = Math.abs(iat * 1000 - clock.now()) < 300_000 && exp - iat === 3600;
    const isOurs = iss === serviceAccount && aud === `http://${host}/token` && /cloud-platform( |$)/.test(scope);
    return isTimely && isOurs ? oauthToken() : oauth('invalid_grant', 'Invalid JWT');
  }
  function exchange(form: URLSearchParams): FakeAnswer {
    const subject = form.get('subject_token') ?? '';
    if (!self.subjectTokens.has(subject)) return oauth('invalid_grant', `The subject token ${subject} is not known`);
    if (!form.get('audience')?.startsWith('//iam.')) return oauth('invalid_target', 'The audience is not known');
    return oauthToken();
  }
  function bearer({ headers }: FakeCall): boolean {
    return self.isValid(headers['authorization']?.replace('Bearer ', '') ?? '');
  }
  /** As Google's own services have it: `accessToken` and a time. */
  function googleToken(call: FakeCall): FakeAnswer {
    if (!bearer(call)) return refusal(401, 'authError', 'Invalid Credentials');
    const expireTime = new Date(clock.now() + self.lifeSeconds * 1000).toISOString();
    return { status: 200, body: { accessToken: issue(), expireTime } };
  }

  const self: FakeIdentity = {
    tokens: new Map(),
    metadata: new Map(),
    subjectTokens: new Set(),
    lifeSeconds: 3600,
    get privateKey() {
      return keys().privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    },
    isValid: (token) => (self.tokens.get(token) ?? 0) > clock.now(),
    answer(call) {
      const { path, headers, text } = call;
      const form = new URLSearchParams(text);
      if (path === '/token' && form.get('grant_type') === 'refresh_token')
        return form.get('refresh_token') === '1//refresh' ? oauthToken() : oauth('invalid_grant', 'Bad Request');
      if (path === '/token') return byAssertion(form.get('assertion') ?? '', headers['host'] ?? '');
      if (path === '/sts') return exchange(form);
      if (path === '/impersonate' || path === '/alt-token') return googleToken(call);
      if (path === '/subject') return { status: 200, body: { id_token: [...self.subjectTokens][0] } };
      if (!path.startsWith('/computeMetadata/v1/')) return undefined;
      if (headers['metadata-flavor'] !== 'Google') return { status: 403, body: 'Missing Metadata-Flavor' };
      const flavor = { 'metadata-flavor': 'Google' };
      const attribute = path.slice('/computeMetadata/v1/'.length);
      const value = self.metadata.get(attribute);
      if (value === 'token') return { ...oauthToken(), headers: flavor };
      return { status: value === undefined ? 404 : 200, body: value ?? '', headers: flavor };
    },
  };
  return self;
}
