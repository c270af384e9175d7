import { CloudError, isCloudError, kindOfHttpStatus } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http, HttpAnswer } from '../../../common/process/http.ts';
import { answerFields, parseAnswer } from '../answer-fields.ts';
import type { CloudCall } from '../cloud.ts';
import { createCountedHttp } from '../counted-http.ts';
import { createExpiringCredential, type Expiring, type ExpiringCredential } from '../expiring-credential.ts';
import { retryAfterMsOf } from '../retry-after.ts';
import type { ReadText } from '../variables.ts';
import { type Credential, tokenRequest } from './credential.ts';
import type { Environment } from './environment.ts';
import { cloud } from './fault.ts';

export interface TokenOptions {
  readonly http: Http;
  readonly clock: Clock;
  readonly credential: Credential;
  environment(): Promise<Environment>;
  readonly readText: ReadText;
  readonly uniqueId: () => string;
  readonly onCall: (call: CloudCall) => void;
}

const timeoutMs = 10_000;
/** The pause after a refusal, so that a wrong credential does not become a flood. */
const retryMs = 5000;
const operation = 'token';

/** The tokens of one credential. */
export function createTokens(options: TokenOptions): ExpiringCredential<string> {
  const { clock, credential, readText } = options;
  const http = createCountedHttp({ ...options, cloud });
  let failure: { readonly error: unknown; readonly until: number } | undefined;

  async function read(): Promise<Expiring<string>> {
    const environment = await options.environment();
    const parts = { environment, readText, nowMs: clock.now(), uniqueId: options.uniqueId() };
    const answer = await http(operation, { ...(await tokenRequest(credential, parts)), timeoutMs });
    if (answer.status !== 200) throw refusalOf(answer, clock.now());
    return tokenOf(answer);
  }

  async function readUnlessRefused(): Promise<Expiring<string>> {
    if (failure !== undefined && failure.until > clock.monotonic()) throw failure.error;
    return read().catch((error: unknown) => {
      const askedMs = isCloudError(error) ? (error.retryAfterMs ?? 0) : 0;
      failure = { error, until: clock.monotonic() + Math.max(askedMs, retryMs) };
      throw error;
    });
  }
  return createExpiringCredential(readUnlessRefused, clock);
}

function tokenOf(answer: HttpAnswer): Expiring<string> {
  const fields = answerFields(parsed(answer.text), { cloud, operation, secret: true });
  // The metadata service writes numbers as texts.
  const seconds = Number(fields.json()['expires_in']);
  if (!(seconds > 0)) {
    const message = 'answer.expires_in: expected a number of seconds';
    throw new CloudError({ kind: 'Invalid', cloud, operation, message });
  }
  return { value: readToken(fields.json()['access_token']), lifeMs: seconds * 1000 };
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
