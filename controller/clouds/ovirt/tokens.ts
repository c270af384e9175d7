import { CloudError, type CloudErrorKind } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import { type CountedHttpOptions, createCountedHttp } from '../counted-http.ts';
import type { OvirtConfig } from './config.ts';

export const cloud = 'ovirt';

/** Tokens of the engine's single sign-on for one user: asked for once, however many requests wait for one. */
export interface Tokens {
  /** Throws a CloudError `Unauthorized` where the engine refuses the user. */
  token(): Promise<string>;
  /** After the engine has refused this token: the next request logs in again. */
  drop(token: string): void;
}

/** The engine locks a user after some refusals. */
const refusalHoldsMs = 60_000;
const timeoutMs = 15_000;
const operation = 'POST /sso/oauth/token';

export function createTokens(
  { endpoint, user, password }: OvirtConfig,
  options: Omit<CountedHttpOptions, 'cloud'> & { readonly clock: Clock },
): Tokens {
  const http = createCountedHttp({ ...options, cloud });
  const { clock } = options;
  // The API and the single sign-on are beside each other.
  const url = `${endpoint.replace(/\/api$/, '')}/sso/oauth/token`;
  let current: string | undefined;
  let asking: Promise<string> | undefined;
  let refused: { readonly until: number; readonly error: CloudError } | undefined;

  async function logIn(): Promise<string> {
    if (refused !== undefined && clock.monotonic() < refused.until) throw refused.error;
    const form = { grant_type: 'password', scope: 'ovirt-app-api', username: user, password };
    const answer = await http(operation, {
      method: 'POST',
      url,
      timeoutMs,
      headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
    const failed = (kind: CloudErrorKind, message: string) => new CloudError({ kind, cloud, operation, message });
    if (answer.status >= 500 || answer.status === 404)
      throw failed('Unavailable', `${answer.status} of the single sign-on`);
    const fields = answerFields(parseAnswer(answer.text, { cloud, operation }), { cloud, operation, secret: true });
    // A refusal may come with status 200.
    if (answer.status >= 300 || fields.json()['error'] !== undefined) {
      const error = failed('Unauthorized', `${answer.status}: the engine refuses ${user}`);
      refused = { until: clock.monotonic() + refusalHoldsMs, error };
      throw error;
    }
    const token = fields.text('access_token');
    if (/^[\x21-\x7e]+$/.test(token)) return token;
    throw failed('Invalid', 'access_token: no word of ASCII characters');
  }

  return {
    async token() {
      if (current !== undefined) return current;
      asking ??= logIn()
        .then((token) => {
          current = token;
          return token;
        })
        .finally(() => {
          asking = undefined;
        });
      return asking;
    },
    drop(token) {
      // Another request may have renewed it meanwhile.
      if (current === token) current = undefined;
    },
  };
}
