import { createHmac } from 'node:crypto';
import { CloudError } from '../../../common/cloud-error.ts';
import type { OperationState, WriteIo } from '../../engine/resource.ts';
import { type AnswerFields, answerFields, parseAnswer } from '../answer-fields.ts';
import { type CountedHttpOptions, createCountedHttp } from '../counted-http.ts';
import { unchangedList } from '../pages.ts';
import { inParallel } from '../parallel.ts';
import type { Permit } from '../permit.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import type { Urgency } from '../urgency.ts';
import { cloud, errorOf, errorOfJob, isNoEntity } from './fault.ts';

/** Of one command; lists are joined by commas, and what is undefined is left out. */
export type Params = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface CallOptions {
  /** Default `need`. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type CloudStackClient = ReturnType<typeof createClient>;

export interface ClientOptions extends Omit<CountedHttpOptions, 'cloud'> {
  readonly rateLimiter: RateLimiter;
  readonly endpoint: string;
  readonly apiKey: string;
  readonly secretKey: string;
  /** Of a mutating call. */
  readonly mutationTimeoutMs: number;
}

const timeoutMs = 30_000;
const maxBytes = 16 * 1024 * 1024;
/** The most that a page holds, unless the operator has changed it. */
const perPage = 500;
const jobsAtOnce = 4;
/** A request is good for so long. */
const expiresMs = 900_000;

/** Commands to one management server. Each is one HTTP exchange with a deadline, never repeated. */
export function createClient(options: ClientOptions) {
  const { clock, rateLimiter, endpoint, apiKey, secretKey, mutationTimeoutMs } = options;
  const http = createCountedHttp({ ...options, cloud });

  async function send(command: string, params: Params, { urgency, signal }: CallOptions, permit?: Permit) {
    const limitMs = permit === undefined ? timeoutMs : Math.min(timeoutMs, mutationTimeoutMs);
    const exchange = async () => {
      const expires = new Date(clock.now() + expiresMs).toISOString().replace(/\.\d+Z$/, '+0000');
      const signed = { ...params, command, apiKey, response: 'json', signatureVersion: 3, expires };
      permit?.(limitMs);
      const request = {
        method: 'POST',
        url: endpoint,
        body: signedForm(signed, secretKey),
        timeoutMs: limitMs,
        maxBytes,
        signal,
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      };
      const answer = await http(command, request, (given) => {
        if (given.status >= 300) throw errorOf(command, given, clock.now());
      });
      const place = { cloud, operation: command };
      const [named] = Object.entries(answerFields(parseAnswer(answer.text, place), place).json());
      // Something in between may answer with JSON, too: an empty list has its name.
      if (named !== undefined && /^(?!error).*response$/.test(named[0])) return answerFields(named[1], place);
      throw new CloudError({ kind: 'Unavailable', ...place, message: 'the answer is not that of a command' });
    };
    return rateLimiter.run(command, exchange, {
      urgency: urgency ?? (permit === undefined ? 'need' : 'change'),
      signal,
    });
  }
  /** Reads only. */
  const call = (command: string, params: Params, given: CallOptions = {}) => send(command, params, given);

  /** Undefined: something came or went while the pages were read. */
  async function tryList(command: string, collection: string, params: Params, given: CallOptions) {
    const items = new Map<string, AnswerFields>();
    let total: number | undefined;
    for (let page = 1; ; page += 1) {
      const answer = await call(command, { ...params, page, pagesize: perPage }, given);
      // An empty list has neither.
      const here = answer.optionalNumber('count') ?? 0;
      const found = answer.optionalObjects(collection);
      if (total !== undefined && total !== here && found.length > 0) return undefined;
      total ??= here;
      for (const item of found) items.set(item.text('id'), item);
      if (items.size === total) return [...items.values()];
      if (found.length === 0) return undefined;
    }
  }

  /** As the API shows it; undefined where it does not know it any more. */
  async function job(id: string, signal?: AbortSignal): Promise<AnswerFields | undefined> {
    try {
      return await call('queryAsyncJobResult', { jobid: id }, { urgency: 'change', signal });
    } catch (error) {
      if (isNoEntity(error, 'jobid')) return undefined;
      throw error;
    }
  }

  return {
    call,
    job,
    /** Every item of a collection: complete, or throws. One call for 500 items. Reads only. */
    list: (command: string, collection: string, params: Params, given: CallOptions = {}) =>
      unchangedList({ cloud, operation: command }, () => tryList(command, collection, params, given)),
    /** Sends a command that changes something, and answers when its job has begun. `id`: of what is created. */
    async start(command: string, params: Params, { permit, signal }: Pick<WriteIo, 'permit' | 'signal'>) {
      const answer = await send(command, params, { signal }, permit);
      return { job: answer.text('jobid'), id: answer.optionalText('id') };
    },
    /** States of these jobs, in one call each. A job that the API does not know any more is not in the answer. */
    async jobs(ids: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, OperationState>> {
      const states = await inParallel(jobsAtOnce, ids, async (id): Promise<[string, OperationState][]> => {
        const shown = await job(id, signal);
        return shown === undefined ? [] : [[id, stateOf(shown)]];
      });
      return new Map(states.flat());
    },
  };
}

export function stateOf(job: AnswerFields): OperationState {
  const status = job.number('jobstatus');
  if (status === 0) return 'running';
  return status === 1 ? 'done' : errorOfJob('queryAsyncJobResult', job);
}

/**
 * The body of a request, signed with HMAC-SHA1 over all that it says: names and values in the order of the names, in
 * lower case, with `%20` for blanks (docs.cloudstack.apache.org, "Signing API Requests").
 */
export function signedForm(params: Params, secretKey: string): string {
  const pairs = Object.entries(params)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encode(Array.isArray(value) ? value.join(',') : String(value))}`)
    .sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const signature = createHmac('sha1', secretKey).update(pairs.join('&').toLowerCase()).digest('base64');
  return `${pairs.join('&')}&signature=${encode(signature)}`;
}

/** As Java's URLEncoder does it, but for blanks. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}
