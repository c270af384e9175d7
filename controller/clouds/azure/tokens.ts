import { CloudError, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http, HttpAnswer } from '../../../common/process/http.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CloudCall } from '../cloud.ts';
import { createCountedHttp } from '../counted-http.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import type { ReadText } from '../variables.ts';
import { type Credential, tokenRequest } from './credential.ts';
import type { Environment } from './environment.ts';
import { cloud } from './fault.ts';

/** The tokens of one credential. */
export interface Tokens {
  /**
   * A token that is good for a while. Callers at once share one request; a token whose renewal fails is used as long as
   * it lasts. Throws a CloudError.
   */
  get(): Promise<string>;
  /** Resource Manager has refused this token: it is not used again. No other one is asked for at once if it was new. */
  refused(token: string, error: CloudError): void;
}

export interface TokenOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly credential: Credential;
  environment(): Promise<Environment>;
  readonly readText: ReadText;
  readonly uniqueId: () => string;
  readonly onCall: (call: CloudCall) => void;
}

interface Token {
  readonly text: string;
  /** On the monotonic clock, like the next two. */
  readonly since: number;
  readonly renewAt: number;
  readonly expiresAt: number;
}

const timeoutMs = 10_000;
/** A token is renewed so long before it expires, or at half of its life. */
const renewBeforeMs = 300_000;
/** The pause after a refusal, so that a wrong credential does not become a flood. */
const retryMs = 5000;
const operation = 'token';

export function createTokens(options: TokenOptions): Tokens {
  const { clock, credential } = options;
  const http = createCountedHttp({ ...options, cloud });
  let current: Token | undefined;
  let running: Promise<Token> | undefined;
  let failure: { readonly error: unknown; readonly until: number } | undefined;

  async function exchange(): Promise<Token> {
    const environment = await options.environment();
    const { readText, uniqueId } = options;
    const request = await tokenRequest(credential, {
      environment,
      readText,
      nowMs: clock.now(),
      uniqueId: uniqueId(),
    });
    const startedAt = clock.monotonic();
    const answer = await http(operation, { ...request, timeoutMs });
    if (answer.status !== 200) throw refusalOf(answer, clock.now());
    return tokenOf(answer, startedAt);
  }

  function renew(): Promise<Token> {
    const now = clock.monotonic();
    if (failure !== undefined && failure.until > now) return Promise.reject(failure.error);
    running ??= exchange().then(
      (token) => {
        running = undefined;
        failure = undefined;
        current = token;
        return token;
      },
      (error: unknown) => {
        running = undefined;
        const askedMs = isCloudError(error) ? (error.retryAfterMs ?? 0) : 0;
        failure = { error, until: clock.monotonic() + Math.max(askedMs, retryMs) };
        throw error;
      },
    );
    return running;
  }

  return {
    async get() {
      const now = clock.monotonic();
      const kept = current;
      if (kept !== undefined && now < kept.renewAt) return kept.text;
      try {
        return (await renew()).text;
      } catch (error) {
        if (kept !== undefined && kept === current && clock.monotonic() < kept.expiresAt) return kept.text;
        throw error;
      }
    },
    refused(token, error) {
      if (current?.text !== token) return;
      const until = current.since + retryMs;
      if (until > clock.monotonic()) failure = { error, until };
      current = undefined;
    },
  };
}

function tokenOf(answer: HttpAnswer, startedAt: number): Token {
  const fields = answerFields(parsed(answer.text), { cloud, operation, secret: true });
  // The metadata service writes numbers as texts.
  const seconds = Number(fields.json()['expires_in']);
  if (!(seconds > 0)) {
    const message = 'answer.expires_in: expected a number of seconds';
    throw new CloudError({ kind: 'Invalid', cloud, operation, message });
  }
  const lifeMs = seconds * 1000;
  return {
    text: readToken(fields.json()['access_token']),
    since: startedAt,
    renewAt: startedAt + Math.max(lifeMs / 2, lifeMs - renewBeforeMs),
    expiresAt: startedAt + lifeMs,
  };
}

/** What it holds is not shown where it is wrong. */
function readToken(value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new CloudError({ kind: 'Invalid', cloud, operation, message: 'answer.access_token: expected a token' });
}

/** The authority's word and number for it (`invalid_client AADSTS7000215`), and not its sentence, which has names. */
function refusalOf(answer: HttpAnswer, nowMs: number): CloudError {
  const { status } = answer;
  let words: readonly string[] = [];
  try {
    const { error, error_description: description } = parsed(answer.text) as Record<string, unknown>;
    const number = /^AADSTS\d+/.exec(String(description))?.[0];
    words = [...(typeof error === 'string' ? [error.slice(0, 60)] : []), ...(number === undefined ? [] : [number])];
  } catch {
    // A proxy's page: the status says enough.
  }
  // The metadata service answers 404 and 410 while it comes up.
  const kind = status === 400 ? 'Unauthorized' : [404, 410].includes(status) ? 'Unavailable' : kindOfHttpStatus(status);
  const message = ['no token:', String(status), ...words].join(' ');
  return new CloudError({ kind, cloud, operation, message, retryAfterMs: retryAfterMsOf(answer, nowMs) });
}

function parsed(text: string): unknown {
  return parseAnswer(text, { cloud, operation }) ?? {};
}
