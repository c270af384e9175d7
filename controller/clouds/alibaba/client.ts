import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { WriteIo } from '../../engine/resource.ts';
import { type AnswerFields, answerFields, parseAnswer } from '../answer-fields.ts';
import type { CountedHttp } from '../counted-http.ts';
import { pagesByToken, unchangedList } from '../pages.ts';
import type { Permit } from '../permit.ts';
import type { RateLimiter } from '../rate-limiter.ts';
import type { Urgency } from '../urgency.ts';
import type { Product } from './config.ts';
import type { Credentials } from './credentials.ts';
import { cloud, errorOf } from './fault.ts';
import { signedHeaders } from './signing.ts';

/** What is left out is undefined; lists and objects become `Tag.1.Key`. */
export type Param = string | number | boolean | undefined | readonly Param[] | { readonly [name: string]: Param };
export type Params = Readonly<Record<string, Param>>;

export interface AlibabaRequest {
  readonly product: Product;
  /** `DescribeInstances`. */
  readonly action: string;
  readonly params?: Params;
  /** Default `need`, and `change` for what has a permit. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Of a call that changes something: called right before it is sent. */
  readonly permit?: Permit | undefined;
}

export interface ListRequest extends AlibabaRequest {
  /** Pages have numbers, or by default tokens: then it is the parameter for their size, by default `MaxResults`. */
  readonly paging?: 'MaxResults' | 'MaxResult' | 'numbers';
  /** Default 100. */
  readonly perPage?: number;
  /** Where the items stand: `['Instances', 'Instance']`. */
  readonly items: readonly [string, string?];
}

export type Mutating = Pick<WriteIo, 'permit' | 'signal'>;

export type AlibabaClient = ReturnType<typeof createClient>;

export interface ClientOptions {
  readonly http: CountedHttp;
  readonly clock: Clock;
  readonly random: Random;
  readonly credentials: Credentials;
  rateLimiterOf(product: Product): RateLimiter;
  region(signal?: AbortSignal): Promise<string>;
  endpointOf(product: Product, region: string): string;
  readonly mutationTimeoutMs: number;
}

const versions: Readonly<Record<Product, string>> = {
  ecs: '2014-05-26',
  vpc: '2016-04-28',
  slb: '2014-05-15',
  nlb: '2022-04-30',
  sts: '2015-04-01',
};
const timeoutMs = 15_000;
const usualPage = 100;
const maxBytes = 16 * 1024 * 1024;

/** Calls to one region. Each is one HTTP exchange with a deadline, never repeated. Fails with a CloudError. */
export function createClient(options: ClientOptions) {
  const { http, clock, random, credentials, rateLimiterOf, region, endpointOf, mutationTimeoutMs } = options;
  let sent = 0;

  function call({ product, action, params = {}, urgency, signal, permit }: AlibabaRequest): Promise<AnswerFields> {
    const limitMs = permit === undefined ? timeoutMs : Math.min(timeoutMs, mutationTimeoutMs);
    async function exchange(): Promise<AnswerFields> {
      const regionId = await region(signal);
      const key = await credentials.get();
      const url = new URL(`${endpointOf(product, regionId)}/`);
      const whole = product === 'sts' ? params : { RegionId: regionId, ...params };
      for (const [name, value] of flat(whole)) url.searchParams.append(name, value);
      sent += 1;
      const nonce = `${clock.now().toString(36)}${sent.toString(36)}${random().toString(36).slice(2)}`;
      const version = versions[product];
      const headers = signedHeaders({ method: 'POST', url, action, version, nowMs: clock.now(), nonce }, key);
      permit?.(limitMs);
      const request = { method: 'POST', url: url.href, headers, timeoutMs: limitMs, maxBytes, signal };
      const answer = await http(action, request, (given) => {
        if (given.status < 300) return;
        const error = errorOf(action, given);
        if (error.kind === 'Unauthorized') credentials.forget();
        throw error;
      });
      return answerFields(parseAnswer(answer.text, { cloud, operation: action }), { cloud, operation: action });
    }
    return rateLimiterOf(product).run(action, exchange, { urgency: urgency ?? (permit ? 'change' : 'need'), signal });
  }

  async function byToken(request: ListRequest, size: string): Promise<readonly AnswerFields[]> {
    const { params, perPage = usualPage } = request;
    const read = (token: string | undefined) =>
      call({ ...request, params: { ...params, [size]: perPage, NextToken: token } });
    const pages = await Array.fromAsync(pagesByToken({ cloud, operation: request.action }, 'NextToken', read));
    return pages.flatMap((page) => itemsIn(page, request.items));
  }

  /** Undefined: something came or went while the pages were read, so what moved to a page before may be missing. */
  async function byNumber(request: ListRequest): Promise<readonly AnswerFields[] | undefined> {
    const { perPage = usualPage } = request;
    const items: AnswerFields[] = [];
    let total: number | undefined;
    for (let page = 1; ; page += 1) {
      const params = { ...request.params, PageNumber: page, PageSize: perPage };
      const answer = await call({ ...request, params });
      const here = answer.number('TotalCount');
      if (total !== undefined && total !== here) return undefined;
      total = here;
      const found = itemsIn(answer, request.items);
      items.push(...found);
      if (items.length >= total) return items;
      if (found.length === 0) return undefined;
    }
  }

  return {
    call,
    /** Asked once, where it is not configured. */
    region,
    /** A call that changes something. */
    change: (product: Product, action: string, params: Params, { permit, signal }: Mutating) =>
      call({ product, action, params, permit, signal }),
    /** Every item: complete, or throws. Reads only. */
    list: (request: ListRequest) =>
      request.paging === 'numbers'
        ? unchangedList({ cloud, operation: request.action }, () => byNumber(request))
        : byToken(request, request.paging ?? 'MaxResults'),
  };
}

/** Names and values as the API reads them: `{ Tag: [{ Key: 'a' }] }` is `Tag.1.Key=a`. */
export function flat(params: Params): [string, string][] {
  return Object.entries(params).flatMap(([name, value]) => flatOne(name, value));
}

function flatOne(name: string, value: Param): [string, string][] {
  if (value === undefined) return [];
  if (typeof value !== 'object') return [[name, String(value)]];
  if (Array.isArray(value)) return value.flatMap((one, at) => flatOne(`${name}.${at + 1}`, one as Param));
  return Object.entries(value as Params).flatMap(([key, one]) => flatOne(`${name}.${key}`, one));
}

/** A list in an object is there, also where it is empty. */
function itemsIn(answer: AnswerFields, path: ListRequest['items']): readonly AnswerFields[] {
  const [name, below] = path;
  return below === undefined ? answer.optionalObjects(name) : answer.object(name).objects(below);
}
