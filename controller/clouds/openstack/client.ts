import { CloudError } from '../../../common/cloud-error.ts';
import type { Http, HttpAnswer, HttpRequest } from '../../../common/process/http.ts';
import { type AnswerFields, answerFields, parseAnswer } from '../answer-fields.ts';
import type { CloudCall } from '../cloud.ts';
import { createCountedHttp } from '../counted-http.ts';
import { operationOf } from '../json-api.ts';
import type { Permit } from '../permit.ts';
import type { Urgency } from '../urgency.ts';
import { errorOf } from './fault.ts';
import { textsIn } from './json.ts';
import type { RateLimiters } from './rate-limiters.ts';
import { endpointOf, rootOf, type ServiceType, type Session } from './session.ts';
import { createTokens, type TokensOptions } from './tokens.ts';

/** Name and values of a query; a name may repeat. */
export type Query = readonly (readonly [string, string])[];

export interface GetRequest {
  readonly service: ServiceType;
  /** From the service's base URL, with a slash first. */
  readonly path: string;
  /** For metrics and errors: no ids and names in it. Default: method and path, with `{id}` for each UUID. */
  readonly operation?: string;
  readonly query?: Query;
  /** Default `need`. */
  readonly urgency?: Urgency | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One request that changes something. */
export interface ChangeRequest extends GetRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  /** `if-match: revision_number=7`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Asked right before each sending: after the token and every wait, and again after a 401. */
  readonly permit: Permit;
  /** Less than the usual time of a change. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Calls to the services of one project and region. Each is one HTTP exchange with a deadline; a 401 renews the token
 * once and repeats. Throws a CloudError whose `cause` is the service's fault (`faultOf`). No redirect is followed, no
 * proxy used.
 */
export interface OpenStackClient {
  get(request: GetRequest): Promise<AnswerFields>;
  /**
   * One mutating exchange, repeated only after a 401 (which changed nothing). An empty answer has no fields. Also
   * throws what the permit throws.
   */
  change(request: ChangeRequest): Promise<AnswerFields>;
  /** Everything of a collection. */
  list(request: GetRequest, collection: string): Promise<AnswerFields[]>;
  pages(request: GetRequest, collection: string): AsyncIterable<AnswerFields[]>;
  /** A token and its catalog, from Keystone if need be. */
  session(): Promise<Session>;
  /** Id of the project that the tokens are of. Once it is known, a token of another project is refused. */
  project(signal?: AbortSignal): Promise<string>;
  endpoint(service: ServiceType): Promise<string>;
  /** The ids of the versions a service lists at its root (`v2.0` ... `v2.27`), read once. */
  versions(service: ServiceType, signal?: AbortSignal): Promise<readonly string[]>;
}

type ExchangeInput = Pick<GetRequest, 'urgency' | 'signal'> &
  Partial<Pick<ChangeRequest, 'permit' | 'timeoutMs'>> & {
    readonly service: ServiceType | 'identity';
    readonly operation: string;
  };

export interface ClientOptions extends TokensOptions {
  readonly http: Http;
  readonly rateLimiters: RateLimiters;
  readonly onCall: (call: CloudCall) => void;
  readonly interface: string;
  readonly region: string | undefined;
  readonly timeoutMs: number;
  /** Of calls that change something. */
  readonly mutationTimeoutMs: number;
}

/** From here on Nova puts the flavour's name and properties into the server, so no flavour has to be read. */
const computeMicroversion = '2.47';
const maxBytes = 64 * 1024 * 1024;

export function createClient(options: ClientOptions): OpenStackClient {
  const { rateLimiters, clock } = options;
  const http = createCountedHttp({ ...options, cloud: 'openstack' });
  const tokens = createTokens(options, exchange);
  let microversions = true;
  const listed = new Map<ServiceType, Promise<readonly string[]>>();

  /** One exchange, counted and gated. Answers 2xx, 300, 401, 404 and 406; throws for everything else. */
  function exchange(
    { service, operation, urgency, signal, permit, timeoutMs: requestedMs }: ExchangeInput,
    request: Omit<HttpRequest, 'timeoutMs' | 'signal'>,
  ): Promise<HttpAnswer> {
    const longest = permit === undefined ? options.timeoutMs : options.mutationTimeoutMs;
    const timeoutMs = Math.min(longest, requestedMs ?? longest);
    const send = async () => {
      permit?.(timeoutMs);
      const answer = await http(operation, { ...request, timeoutMs, maxBytes, signal });
      if (answer.status <= 300 || [401, 404, 406].includes(answer.status)) return answer;
      throw errorOf(operation, answer, clock.now());
    };
    return rateLimiters[service].run(operation, send, { ...(urgency === undefined ? {} : { urgency }), signal });
  }

  function sendOnce(request: GetRequest | ChangeRequest, session: Session): Promise<HttpAnswer> {
    const url = new URL(endpointOf(session, request.service, options) + request.path);
    for (const [name, value] of request.query ?? []) url.searchParams.append(name, value);
    const microversion = microversions && request.service === 'compute';
    const change = 'permit' in request ? request : undefined;
    const body = change?.body === undefined ? undefined : JSON.stringify(change.body);
    return exchange(
      { ...request, operation: operationOf(request) },
      {
        ...(change === undefined ? {} : { method: change.method }),
        url: url.href,
        headers: {
          accept: 'application/json',
          'x-auth-token': session.token,
          ...(microversion
            ? {
                'openstack-api-version': `compute ${computeMicroversion}`,
                'x-openstack-nova-api-version': computeMicroversion,
              }
            : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...change?.headers,
        },
        ...(body === undefined ? {} : { body }),
      },
    );
  }

  /** Of a 2xx answer; a token that is refused is renewed once. */
  async function send(request: GetRequest | ChangeRequest): Promise<AnswerFields> {
    const operation = operationOf(request);
    let session = await tokens.session(request.signal);
    let answer = await sendOnce(request, session);
    if (answer.status === 406 && request.service === 'compute' && microversions) {
      microversions = false;
      answer = await sendOnce(request, session);
    }
    if (answer.status === 401) {
      tokens.forget();
      session = await tokens.session(request.signal);
      answer = await sendOnce(request, session);
    }
    if (answer.status >= 300) throw errorOf(operation, answer, clock.now());
    return fieldsOf(answer, operation);
  }

  async function readVersions(service: ServiceType, signal: AbortSignal | undefined): Promise<readonly string[]> {
    const operation = `GET ${service} versions`;
    const session = await tokens.session(signal);
    const url = rootOf(endpointOf(session, service, options));
    const headers = { accept: 'application/json', 'x-auth-token': session.token };
    const answer = await exchange({ service, operation, signal }, { url, headers });
    if (answer.status > 300) throw errorOf(operation, answer, clock.now());
    const fields = fieldsOf(answer, operation);
    const ids = textsIn(fields, 'versions', 'id');
    if (ids.length === 0) throw fields.wrong('versions', 'those of the service');
    return ids;
  }

  function versions(service: ServiceType, signal?: AbortSignal): Promise<readonly string[]> {
    let answer = listed.get(service);
    if (answer === undefined) {
      answer = readVersions(service, signal).catch((error: unknown) => {
        listed.delete(service);
        throw error;
      });
      listed.set(service, answer);
    }
    return answer;
  }

  async function* pages(request: GetRequest, collection: string): AsyncGenerator<AnswerFields[]> {
    const { query = [] } = request;
    const markers = new Set<string>();
    const broken = (message: string) =>
      new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation: operationOf(request), message });
    for (let page = query; ; ) {
      const answer = await send({ ...request, query: page });
      yield answer.objects(collection);
      const next = answer.optionalObjects(`${collection}_links`).find((link) => link.optionalText('rel') === 'next');
      if (next === undefined) return;
      // Behind a proxy the host of the link need not be the one we reach; its marker is all we need.
      const marker = URL.parse(next.text('href'), 'http://localhost')?.searchParams.get('marker');
      if (!marker) throw broken('the link to the next page has no marker');
      if (markers.has(marker)) throw broken('the pages go in a circle');
      markers.add(marker);
      page = [...query, ['marker', marker]];
    }
  }

  return {
    get: send,
    change: send,
    list: async (request, collection) => (await Array.fromAsync(pages(request, collection))).flat(),
    pages,
    versions,
    session: tokens.session,
    project: tokens.project,
    endpoint: async (service) => endpointOf(await tokens.session(), service, options),
  };
}

function fieldsOf({ text }: HttpAnswer, operation: string): AnswerFields {
  const place = { cloud: 'openstack', operation };
  return answerFields(text === '' ? {} : parseAnswer(text, place), place);
}
