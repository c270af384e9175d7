import { errorOfAnswer } from '../../../controller/kube/answer.ts';
import {
  defaultCallTimeoutMs,
  type KubeApi,
  type KubeCall,
  KubeError,
  type PatchType,
} from '../../../controller/kube/api.ts';
import { resourceOf } from '../../../controller/kube/client.ts';
import { isMutating } from '../../../controller/kube/fence.ts';
import type { ApiAnswer } from '../../kit/kube-api/api/answer.ts';
import { faultAnswer } from '../../kit/kube-api/fault-answer.ts';
import type { JsonObject } from '../../kit/kube-api/json.ts';
import type { KubeApiCore } from '../../kit/kube-api/kube-api-core.ts';
import { type KubeFault, reviewSite } from '../engine/faults.ts';
import { isReviewFault, misjudged } from './review-wire.ts';
import { openWatch } from './watch-wire.ts';
import { keyIn, lastOfPath, namespaceOf, type Wire } from './wire.ts';

const mediaTypes: Readonly<Record<PatchType, string>> = {
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};
const methods = { get: 'GET', list: 'GET', create: 'POST', update: 'PUT', patch: 'PATCH', delete: 'DELETE' } as const;
const metadataOnly =
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=' +
  'meta.k8s.io;v=v1,application/json';

/** `patch nodes/status`; calls to the Leases of Nodes stand apart from the leader's. */
export function kubeSite(call: Pick<KubeCall, 'verb' | 'path'>): string {
  const resource = resourceOf(call.path);
  const ofNodes = resource === 'leases' && namespaceOf(call.path) === 'kube-node-lease';
  return `kube ${call.verb} ${resource}${ofNodes ? ' (node)' : ''}`;
}

/**
 * The API server as one process reaches it: every call travels, takes effect at its own moment, and may fail in every
 * way.
 */
export function kubeWire(wire: Wire): KubeApi {
  const { core, faults, dice, clock, world, observers, process } = wire;

  function send(call: KubeCall, query: Readonly<Record<string, string>> | undefined): ApiAnswer {
    const contentType = call.verb === 'patch' ? mediaTypes[call.patch ?? 'merge'] : 'application/json';
    const answer = core.handle({
      method: methods[call.verb],
      path: decodeURI(call.path),
      query: new URLSearchParams(query),
      headers: {
        accept: call.answer === 'metadata' ? metadataOnly : 'application/json',
        'user-agent': 'mooring-controller',
        ...(call.body === undefined ? {} : { 'content-type': contentType }),
      },
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      user: wire.user,
    });
    if (answer.watch !== undefined) throw new Error('a watch where none was asked for');
    return answer;
  }

  /** The call as the server carries it out, with what it changed. */
  function effect(call: KubeCall, sent: Sent, query: Readonly<Record<string, string>> | undefined): ApiAnswer {
    const resource = resourceOf(call.path);
    const name =
      call.verb === 'create' ? nameIn(call.body) : call.verb === 'list' ? '' : lastOfPath(call.path, resource);
    const namespace = namespaceOf(call.path);
    const mutating = changes(call);
    const holder = wire.holder();
    const [before, answer, after] = around(core, resource, keyIn(namespace, name), () => send(call, query));
    const seen = { at: world.monotonic(), ...sent, process, call, resource, namespace, name, mutating, holder };
    const record = { ...seen, status: answer.status, before, after };
    if (mutating) wire.trace?.(`${process.identity}  took effect: ${call.verb} ${call.path} -> ${answer.status}`);
    for (const observer of observers) observer.kubeEffect?.(record);
    return answer;
  }

  async function call<T>(request: KubeCall): Promise<T> {
    const site = kubeSite(request);
    const timeoutMs = request.timeoutMs ?? defaultCallTimeoutMs;
    const fault = faults.kube(site, request);
    wire.trace?.(
      `${process.identity}  ${request.verb} ${request.path}${queryText(request.query)}${bodyText(request)}` +
        `${fault === undefined ? '' : `  !! ${fault}`}`,
    );
    if (changes(request)) {
      const name = lastOfPath(request.path, resourceOf(request.path));
      for (const observer of observers) observer.kubeSent?.(process, request, resourceOf(request.path), name);
    }
    if (fault === 'crash before') return wire.crash();
    return new Promise<T>((resolve, reject) => {
      let over = false;
      const settle = (act: () => void) => {
        if (over) return;
        over = true;
        timer.cancel();
        request.signal?.removeEventListener('abort', giveUp);
        act();
      };
      const fail = (reason: string, message: string) =>
        settle(() =>
          reject(new KubeError({ status: 0, reason, message: `${request.verb} ${request.path}: ${message}` })),
        );
      const giveUp = () => fail('Aborted', 'given up');
      const timer = clock.setTimer(timeoutMs, () => fail('Timeout', `no answer within ${timeoutMs} ms`));
      if (request.signal?.aborted) return giveUp();
      request.signal?.addEventListener('abort', giveUp, { once: true });
      if (fault === 'pause') wire.pause();
      const sent: Sent = { sentAt: world.monotonic(), holderWhenSent: wire.holder() };
      // Never longer than the sender waits: what is still on its way then is lost with its connection.
      const travelMs = /slow|timeout/.test(fault ?? '') ? dice.between(0.2, 0.9) * timeoutMs : dice.between(0.5, 12);
      world.setTimer(travelMs, () => {
        const answer = answered(fault, request, sent);
        if (answer === undefined) return;
        const servedMs = Math.floor(world.now() / 1000) * 1000;
        clock.deliver(dice.between(0.5, 8), () => {
          if (answer === 'cut') return fail('Unreachable', 'socket hang up');
          if (answer === 'unreadable') return fail('Unreadable', 'a body that is no JSON');
          settle(() => {
            if (answer.status < 200 || answer.status > 299) {
              const { status, headers, body } = answer;
              return reject(
                errorOfAnswer(
                  `${request.verb} ${request.path}`,
                  { status, headers, body: Buffer.from(body) },
                  clock.now(),
                ),
              );
            }
            request.onDate?.(servedMs);
            const value = JSON.parse(answer.body) as T;
            if (request.verb === 'list') tellList(request, value as ListAnswer);
            if (site === reviewSite) tellReview(request, value);
            resolve(value);
          });
        });
      });
    });
  }

  /** What comes back; undefined = nothing ever. */
  function answered(
    fault: KubeFault | undefined,
    request: KubeCall,
    sent: Sent,
  ): ApiAnswer | 'cut' | 'unreadable' | undefined {
    switch (fault) {
      case 'lost request':
        return 'cut';
      case 'timeout':
        return undefined;
      case 'conflict':
        return faultAnswer({ kind: 'answer', status: 409 });
      case 'throttled':
        return faultAnswer({ kind: 'answer', status: 429, retryAfterSeconds: dice.whole(1, 4) });
      case 'server error':
        return faultAnswer({ kind: 'answer', status: dice.pick([500, 503, 504]) });
      case 'unauthorized':
        return faultAnswer({ kind: 'answer', status: 401 });
      case 'forbidden':
        return faultAnswer({ kind: 'answer', status: 403 });
      case 'expired page':
        if (request.query?.['continue'] !== undefined) return faultAnswer({ kind: 'answer', status: 410 });
        break;
      case 'stale list': {
        // A server that is behind and does not know it; what is watched from there goes on without a gap.
        const revision = wire.revisionBefore(dice.between(1000, 30_000));
        const query = { ...request.query, resourceVersion: String(revision), resourceVersionMatch: 'Exact' };
        return effect(request, sent, query);
      }
      case 'short page':
        // A server may give less than it was asked for, and says where the rest begins.
        return effect(request, sent, { ...request.query, limit: '1' });
    }
    const answer = effect(request, sent, request.query);
    switch (fault) {
      case 'lost answer':
        return 'cut';
      case 'timeout after the effect':
        return undefined;
      case 'error after the effect':
        return faultAnswer({ kind: 'answer', status: 504 });
      case 'unreadable':
        return 'unreadable';
      case 'crash after':
        void wire.crash();
        return undefined;
      default:
        return isReviewFault(fault) ? misjudged(fault, answer, wire) : answer;
    }
  }

  function tellReview({ body }: KubeCall, answer: unknown): void {
    const { token } = (body as { spec: { token: string } }).spec;
    const review = { process, localMs: clock.monotonic(), token, answer: answer as JsonObject };
    for (const observer of observers) observer.reviewed?.(review);
  }

  function tellList({ path, query }: KubeCall, { items, metadata }: ListAnswer): void {
    const resource = resourceOf(path);
    const at = world.monotonic();
    if (query?.['continue'] === undefined) for (const observer of observers) observer.listing?.(process, resource);
    for (const object of items ?? []) {
      const key = keyIn(object.metadata.namespace ?? '', object.metadata.name);
      for (const observer of observers) observer.told?.({ at, process, resource, key, object, list: true });
    }
    if (metadata.continue) return;
    for (const observer of observers) observer.listed?.(process, resource);
  }

  return { call, watch: (request) => openWatch(wire, request) };
}

interface Sent {
  readonly sentAt: number;
  readonly holderWhenSent: string;
}

interface ListAnswer {
  readonly items?: readonly { readonly metadata: { readonly name: string; readonly namespace?: string } }[] | null;
  readonly metadata: { readonly continue?: string };
}

/** Reviews are made, and change nothing. */
function changes(call: KubeCall): boolean {
  return isMutating(call) && resourceOf(call.path) !== 'tokenreviews';
}

/** Without the token, which is long. */
function bodyText({ body, path }: KubeCall): string {
  if (body === undefined) return '';
  return resourceOf(path) === 'tokenreviews' ? '' : ` ${JSON.stringify(body)}`;
}

function queryText(query: Readonly<Record<string, string>> | undefined): string {
  return query === undefined ? '' : `?${new URLSearchParams(query)}`;
}

function nameIn(body: unknown): string {
  return (body as { metadata?: { name?: string } } | undefined)?.metadata?.name ?? '';
}

/** The object of that key before and after `act`. */
export function around<R>(core: KubeApiCore, resource: string, key: string, act: () => R) {
  const collection = core.store.collection(storageOf(resource));
  const before = collection.items.get(key)?.value;
  const result = act();
  return [before, result, collection.items.get(key)?.value] as const;
}

/** Under what name the API server stores objects of a resource. */
function storageOf(resource: string): string {
  const [plural = ''] = resource.split('/');
  return plural === 'leases' ? 'coordination.k8s.io/leases' : plural;
}
