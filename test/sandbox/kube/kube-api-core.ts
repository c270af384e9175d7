import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { ApiAnswer, ApiRequest, WatchAnswer } from './api/answer.ts';
import { bodyLimit, mediaType, readObject, tooLarge } from './api/body.ts';
import { answerObjects, checkMethod } from './api/objects.ts';
import { answerPath } from './api/paths.ts';
import { readProtobufReview } from './api/protobuf.ts';
import { type RequestInfo, type ResourceRequest, readRequest } from './api/request-info.ts';
import type { Target } from './api/target.ts';
import type { WatchStream } from './api/watch.ts';
import { ApiError, forbidden, methodNotAllowed, noSuchPath, noSuchResource, notFound } from './api-error.ts';
import { authenticator, headerOf } from './auth/authenticate.ts';
import { rbacAuthorizer } from './auth/authorizer.ts';
import { kubeletUser } from './auth/node-restriction.ts';
import { reviewKinds, reviews } from './auth/reviews.ts';
import { serviceAccountTokens } from './auth/service-account-token.ts';
import { rsaSigner, type TokenSigner } from './auth/token-signer.ts';
import { admin, type User } from './auth/user.ts';
import { bootstrap } from './bootstrap.ts';
import {
  createFaults,
  type FaultEffect,
  type FaultMatch,
  type Faults,
  matchesFault,
  type RequestFacts,
} from './faults.ts';
import { objectOf } from './json.ts';
import { createRegistry } from './kinds/registry.ts';
import { createAllocations } from './kinds/service-allocation.ts';
import { createRequestCounts, type RequestCounts } from './request-counts.ts';
import type { World } from './store/resource.ts';
import { createStore, type Store } from './store/store.ts';
import { randomUuid } from './uuid.ts';
import { createLineCache } from './view/watch-encoder.ts';

export interface KubeApiCoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Changes kept per resource for watches and pages; default 5000. */
  readonly historyLimit?: number;
  /** Signs ServiceAccount tokens; default RS256 with a key of its own, made when first needed. */
  readonly signer?: TokenSigner;
  /** Static bearer tokens, in addition to `adminToken`. */
  readonly tokens?: ReadonlyMap<string, User>;
  readonly adminToken?: string;
  /** Shown as client CA in `extension-apiserver-authentication`. */
  readonly caPem?: string;
}

/** A Kubernetes API in memory. Everything it does happens inside `handle`, in order, on the given clock and randomness. */
export interface KubeApiCore {
  /** Answers one request, at once. Never throws. */
  handle(request: ApiRequest): ApiAnswer | WatchAnswer;
  readonly store: Store;
  readonly faults: Faults;
  readonly requests: RequestCounts;
  readonly adminToken: string;
  /** A bearer token of the kubelet of that node; the same one each time. The Node need not exist. */
  nodeToken(name: string): string;
  /** Ends open watches that match, as broken connections unless told otherwise. Returns how many. */
  endWatches(match?: FaultMatch, cut?: boolean): number;
  /** Forgets all history: older watches and page tokens get 410. */
  compact(): void;
  readonly openWatches: number;
}

const anyPath = new Set(['/livez', '/readyz', '/healthz', '/version', '/version/']);

export function createKubeApiCore(options: KubeApiCoreOptions): KubeApiCore {
  const { clock, random } = options;
  const store = createStore(options.historyLimit);
  const world: World = { store, clock, random, uuid: () => randomUuid(random) };
  const registry = createRegistry(createAllocations());
  const authorizer = rbacAuthorizer(world);
  const tokens = serviceAccountTokens(world, options.signer ?? rsaSigner());
  const adminToken = options.adminToken ?? `admin-${world.uuid()}`;
  const fixed = new Map(options.tokens ?? []).set(adminToken, admin);
  const authentication = authenticator(fixed, tokens, authorizer);
  const reviewer = reviews(world, tokens, authentication, authorizer);
  const faults = createFaults();
  const requests = createRequestCounts();
  const lines = createLineCache();
  const watches = new Map<WatchStream, RequestFacts>();
  bootstrap(world, registry, options.caPem ?? '');

  function authorize(user: User, info: RequestInfo): void {
    if (info.kind === 'path') {
      const { verb, path } = info;
      if (anyPath.has(path) || authorizer.decide(user, { verb, path }).allowed) return;
      const message = `forbidden: User ${JSON.stringify(user.name)} cannot ${verb} path ${JSON.stringify(path)}`;
      throw new ApiError(403, 'Forbidden', message, { details: {} });
    }
    const { verb, group, resource, subresource, namespace, name } = info;
    const home = resource === 'namespaces' ? '' : namespace;
    if (authorizer.decide(user, { verb, group, resource, subresource, namespace, name }).allowed) return;
    const where = home === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(home)}`;
    const whole = subresource === '' ? resource : `${resource}/${subresource}`;
    throw forbidden(
      { group, plural: resource, kind: '' },
      name,
      `User ${JSON.stringify(user.name)} cannot ${verb} resource ${JSON.stringify(whole)} in API group ${JSON.stringify(group)} ${where}`,
    );
  }

  function answerReview(info: ResourceRequest, request: ApiRequest, user: User): ApiAnswer {
    if (info.verb !== 'create' || info.name !== '') throw methodNotAllowed();
    const type = headerOf(request.headers, 'content-type');
    const protobuf = mediaType(type) === 'application/vnd.kubernetes.protobuf' && request.body instanceof Uint8Array;
    const read = protobuf ? readProtobufReview(request.body) : undefined;
    const body = read ?? readObject(request.body, type, reviewKinds[info.resource]?.kind ?? '');
    const answer = reviewer.answer(info.resource, info.namespace, body, user);
    return { status: 201, headers: { 'content-type': 'application/json' }, warnings: [], body: JSON.stringify(answer) };
  }

  function answerToken(target: Target, info: ResourceRequest, request: ApiRequest): ApiAnswer {
    if (info.verb !== 'create') throw methodNotAllowed();
    const account = store.collection('serviceaccounts').items.get(`${target.namespace}/${target.name}`);
    if (!account) throw notFound(target.resource, target.name);
    const body = readObject(request.body, headerOf(request.headers, 'content-type'), 'TokenRequest');
    const answer = tokens.issue(account, objectOf(body['spec']));
    return { status: 201, headers: { 'content-type': 'application/json' }, warnings: [], body: JSON.stringify(answer) };
  }

  function answerResource(info: ResourceRequest, request: ApiRequest, user: User): ApiAnswer | WatchAnswer {
    const version = info.group === '' ? info.version : `${info.group}/${info.version}`;
    const review = reviewKinds[info.resource];
    if (review && `${review.group}/v1` === version) return answerReview(info, request, user);
    if (!registry.groupVersions.includes(version)) throw info.group === '' ? noSuchResource() : noSuchPath();
    const resource = registry.find(version, info.resource);
    if (!resource) throw noSuchResource();
    const namespace = resource.namespaced ? info.namespace : '';
    const onCollection = ['list', 'create', 'deletecollection'].includes(info.verb) || !namesObject(request.path, info);
    const name = onCollection ? '' : info.name;
    if (info.verb === 'create' && info.name !== '' && info.subresource === '') throw methodNotAllowed();
    const target: Target = { world, resource, namespace, name: name || info.name, subresource: info.subresource, user };
    if (info.subresource === 'token' && resource.subresources.includes('token'))
      return answerToken(target, info, request);
    checkMethod({ ...target, name }, info.verb, onCollection && info.subresource === '');
    return answerObjects(
      { ...target, name: onCollection && info.subresource === '' ? '' : target.name },
      info.verb,
      request,
      lines,
    );
  }

  function answer(request: ApiRequest, info: RequestInfo, user: User): ApiAnswer | WatchAnswer {
    authorize(user, info);
    const { body } = request;
    if (body !== undefined && body.length > bodyLimit) throw tooLarge();
    if (request.method === 'HEAD' || request.method === 'OPTIONS') throw methodNotAllowed();
    return info.kind === 'path' ? answerPath(registry, request) : answerResource(info, request, user);
  }

  function refuse(error: unknown): ApiAnswer {
    const known =
      error instanceof ApiError
        ? error
        : new ApiError(
            500,
            'InternalError',
            `Internal error occurred: ${error instanceof Error ? error.message : String(error)}`,
          );
    const headers = {
      'content-type': known.plain ? 'text/plain; charset=utf-8' : 'application/json',
      ...known.headers,
    };
    const body = known.plain ? known.message : JSON.stringify(known.status());
    const base = { status: known.code, headers, body, warnings: [] };
    return known.delayMs > 0 ? { ...base, delayMs: known.delayMs } : base;
  }

  function remember(result: ApiAnswer | WatchAnswer, facts: RequestFacts): ApiAnswer | WatchAnswer {
    if (result.watch === undefined) return result;
    const inner = result.watch;
    watches.set(inner, facts);
    const watch: WatchStream = {
      target: inner.target,
      start: (sink) =>
        inner.start({
          line: (line) => sink.line(line),
          end(cut) {
            watches.delete(inner);
            sink.end(cut);
          },
        }),
      close() {
        watches.delete(inner);
        inner.close();
      },
      end: (cut) => inner.end(cut),
    };
    return { ...result, watch };
  }

  function afterFault(result: ApiAnswer | WatchAnswer, effect: FaultEffect): ApiAnswer | WatchAnswer {
    if (effect.kind === 'lose-answer') return { status: 0, headers: {}, body: '', warnings: [], cut: true };
    if (effect.kind === 'delay' && result.watch === undefined) return { ...result, delayMs: effect.ms };
    return result;
  }

  return {
    handle(request) {
      try {
        const info = readRequest(request.method, request.path, request.query);
        const userAgent = headerOf(request.headers, 'user-agent') ?? '';
        const what =
          info.kind === 'path'
            ? info.path
            : info.subresource === ''
              ? info.resource
              : `${info.resource}/${info.subresource}`;
        requests.add(info.verb, what, userAgent);
        const user = request.user ?? authentication.authenticate(request.headers);
        const where = info.kind === 'path' ? { namespace: '', name: '' } : info;
        const facts: RequestFacts = {
          verb: info.verb,
          resource: what,
          namespace: where.namespace,
          name: where.name,
          userAgent,
          user: user.name,
        };
        const effect = faults.take(facts);
        if (effect?.kind === 'drop') return { status: 0, headers: {}, body: '', warnings: [], cut: true };
        if (effect?.kind === 'answer') return faultAnswer(effect);
        let result: ApiAnswer | WatchAnswer;
        try {
          result = answer(request, info, user);
        } catch (error) {
          result = refuse(error);
        }
        return remember(effect ? afterFault(result, effect) : result, facts);
      } catch (error) {
        return refuse(error);
      }
    },
    store,
    faults,
    requests,
    adminToken,
    nodeToken(name) {
      const user = kubeletUser(name);
      for (const [token, known] of fixed) if (known.name === user.name) return token;
      const token = `node-${name}-${world.uuid()}`;
      fixed.set(token, user);
      return token;
    },
    endWatches(match = {}, cut = true) {
      let count = 0;
      for (const [stream, facts] of [...watches]) {
        if (!matchesFault(match, facts)) continue;
        stream.end(cut);
        watches.delete(stream);
        count += 1;
      }
      return count;
    },
    compact: () => store.compact(),
    get openWatches() {
      return watches.size;
    },
  };
}

/** Whether the path itself names an object, rather than a field selector of a collection. */
function namesObject(path: string, info: ResourceRequest): boolean {
  return info.name !== '' && !path.replace(/\/$/, '').endsWith(`/${info.resource}`);
}

function faultAnswer(effect: Extract<FaultEffect, { kind: 'answer' }>): ApiAnswer {
  const { status, retryAfterSeconds, body } = effect;
  const headers: Record<string, string> = {};
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds);
  if (body !== undefined) return { status, headers: { 'content-type': 'text/plain', ...headers }, body, warnings: [] };
  if (status === 429) {
    const text = 'Too many requests, please try again later.\n';
    return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: text, warnings: [] };
  }
  const [reason, message] = faultTexts[status] ?? ['InternalError', 'Internal error occurred: injected fault'];
  const error = new ApiError(status, reason, message);
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(error.status()),
    warnings: [],
  };
}

const faultTexts: Readonly<Record<number, [string, string]>> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden: injected fault'],
  409: ['Conflict', 'Operation cannot be fulfilled: injected fault'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within the allotted timeout'],
};
