import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { ApiAnswer, ApiRequest, WatchAnswer } from './api/answer.ts';
import { bodyLimit, tooLarge } from './api/body.ts';
import { answerPath } from './api/paths.ts';
import { type RequestInfo, readRequest } from './api/request-info.ts';
import { answerResource, type Routes } from './api/route.ts';
import type { WatchStream } from './api/watch.ts';
import { methodNotAllowed } from './api-error.ts';
import { authenticator, headerOf } from './auth/authenticate.ts';
import { authorizeRequest } from './auth/authorize-request.ts';
import { rbacAuthorizer } from './auth/authorizer.ts';
import { kubeletUser } from './auth/node-restriction.ts';
import { reviews } from './auth/reviews.ts';
import { serviceAccountTokens } from './auth/service-account-token.ts';
import { rsaSigner, type TokenSigner } from './auth/token-signer.ts';
import { admin, type User } from './auth/user.ts';
import { bootstrap } from './bootstrap.ts';
import { afterFault, cutAnswer, errorAnswer, faultAnswer } from './fault-answer.ts';
import { createFaults, type FaultMatch, type Faults, matchesFault, type RequestFacts } from './faults.ts';
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

/** A Kubernetes API in memory. Everything happens inside `handle`, in order, on the given clock and randomness. */
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

/** `nodes`, `nodes/status`, or the path of what is no resource. */
function subjectOf(info: RequestInfo): string {
  if (info.kind === 'path') return info.path;
  return info.subresource === '' ? info.resource : `${info.resource}/${info.subresource}`;
}

export function createKubeApiCore(options: KubeApiCoreOptions): KubeApiCore {
  const { clock, random } = options;
  const store = createStore(options.historyLimit);
  const world: World = { store, clock, random, uuid: () => randomUuid(random) };
  const registry = createRegistry(createAllocations());
  const authorizer = rbacAuthorizer(world);
  const tokens = serviceAccountTokens(world, options.signer ?? rsaSigner());
  const adminToken = options.adminToken ?? `admin-${world.uuid()}`;
  const fixed = new Map(options.tokens ?? []).set(adminToken, admin);
  const nodeTokens = new Map<string, string>();
  const authentication = authenticator(fixed, tokens, authorizer);
  const lines = createLineCache();
  const routes: Routes = {
    world,
    registry,
    tokens,
    lines,
    reviews: reviews(world, tokens, authentication, authorizer),
  };
  const faults = createFaults();
  const requests = createRequestCounts();
  const watches = new Map<WatchStream, RequestFacts>();
  bootstrap(world, registry, options.caPem ?? '');

  function answer(request: ApiRequest, info: RequestInfo, user: User): ApiAnswer | WatchAnswer {
    try {
      authorizeRequest(authorizer, user, info);
      if (request.body !== undefined && request.body.length > bodyLimit) throw tooLarge();
      if (request.method === 'HEAD' || request.method === 'OPTIONS') throw methodNotAllowed();
      if (info.kind === 'path') return answerPath(registry, request);
      const authorizeCreate = () => authorizeRequest(authorizer, user, { ...info, verb: 'create' });
      return answerResource(routes, info, request, user, authorizeCreate);
    } catch (error) {
      return errorAnswer(error);
    }
  }

  /** Keeps the watch in the list of open ones until either side ends it. */
  function listed(result: ApiAnswer | WatchAnswer, facts: RequestFacts): ApiAnswer | WatchAnswer {
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

  return {
    handle(request) {
      try {
        const info = readRequest(request.method, request.path, request.query);
        const userAgent = headerOf(request.headers, 'user-agent') ?? '';
        const resource = subjectOf(info);
        requests.add(info.verb, resource, userAgent);
        const user = request.user ?? authentication.authenticate(request.headers);
        const { namespace, name } = info.kind === 'path' ? { namespace: '', name: '' } : info;
        const facts: RequestFacts = { verb: info.verb, resource, namespace, name, userAgent, user: user.name };
        const effect = faults.take(facts);
        if (effect?.kind === 'drop') return cutAnswer;
        if (effect?.kind === 'answer') return faultAnswer(effect);
        const result = answer(request, info, user);
        return listed(effect ? afterFault(result, effect) : result, facts);
      } catch (error) {
        return errorAnswer(error);
      }
    },
    store,
    faults,
    requests,
    adminToken,
    nodeToken(name) {
      const token = nodeTokens.get(name) ?? `node-${name}-${world.uuid()}`;
      nodeTokens.set(name, token);
      fixed.set(token, kubeletUser(name));
      return token;
    },
    endWatches(match = {}, cut = true) {
      const found = [...watches].filter(([, facts]) => matchesFault(match, facts));
      for (const [stream] of found) {
        watches.delete(stream);
        stream.end(cut);
      }
      return found.length;
    },
    compact: () => store.compact(),
    get openWatches() {
      return watches.size;
    },
  };
}
