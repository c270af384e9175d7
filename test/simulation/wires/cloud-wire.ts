import type { Http } from '../../../common/process/http.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import type { Effect } from '../../kit/cloud/faults.ts';
import { inProcessHttp } from '../../kit/cloud/in-process.ts';
import type { WireHandler, WireReply, WireRequest } from '../../kit/cloud/wire.ts';
import type { CloudFault } from '../engine/faults.ts';
import type { Wire } from './wire.ts';

/** What a request to the cloud is, by its shape: `GET instances/*`, `POST load-balancers`. */
export interface CloudSite {
  readonly operation: string;
  readonly mutating: boolean;
  readonly lists: boolean;
}

const readsByPost = /:lookup$/;

export function cloudSite({ method, path, query }: Pick<WireRequest, 'method' | 'path' | 'query'>): CloudSite {
  const rest = path.replace(/^\/v1\/projects\/[^/]+\/regions\/[^/]+\/?/, '');
  const shape = rest
    .split('/')
    .map((part, index) => (index % 2 === 1 ? part.replace(/^[^:]*/, '*') : part))
    .join('/');
  const keys = ['ids', 'name'].filter((key) => query.has(key)).join('&');
  const mutating = method !== 'GET' && !readsByPost.test(path);
  const lists = !mutating && (readsByPost.test(path) || shape.split('/').length % 2 === 1);
  return { operation: `${method} ${shape}${keys === '' ? '' : `?${keys}`}`, mutating, lists: lists && shape !== '' };
}

/**
 * The cloud's API as one process reaches it: every request travels, takes effect at its own moment, and may fail in
 * every way.
 */
export function cloudHttp(wire: Wire, cloud: SimulatedCloud): Http {
  return (request) => inProcessHttp(handlerFor(wire, cloud, request.timeoutMs), wire.clock)(request);
}

function handlerFor(wire: Wire, cloud: SimulatedCloud, timeoutMs: number): WireHandler {
  const { faults, dice, clock, world, process, observers } = wire;
  const later = (ms: number) => new Promise<void>((resolve) => world.setTimer(ms, resolve));
  const never = new Promise<never>(() => {});

  return async (request) => {
    const site = cloudSite(request);
    const { operation, mutating } = site;
    const fault = faults.cloud(`cloud ${operation}`, site);
    const { method, path, body } = request;
    wire.trace?.(
      `${process.identity}  cloud ${method} ${path}${request.query.size > 0 ? `?${request.query}` : ''}` +
        `${body === '' ? '' : ` ${body}`}${fault === undefined ? '' : `  !! ${fault}`}`,
    );
    for (const observer of observers) observer.cloudSent?.(process, operation, mutating);
    if (fault === 'crash before') return wire.crash();
    if (fault === 'pause') wire.pause();
    const sentAt = world.monotonic();
    // Never longer than the sender waits: what is still on its way then is lost with its connection.
    const lagMs = mutating || !dice.chance(0.4) ? 60 : Math.max(60, Math.min(wire.cloudLagMs, 0.9 * timeoutMs));
    await later(fault === 'slow' ? dice.between(0.1, 0.9) * timeoutMs : dice.between(1, lagMs));
    const reply = await answered(fault, request, site, sentAt);
    if (reply.kind === 'silence') return never;
    await new Promise<void>((resolve) => clock.deliver(dice.between(1, 30), resolve));
    const at = world.monotonic();
    for (const observer of observers) observer.cloudAnswer?.({ at, sentAt, process, operation, method, path, reply });
    return reply;
  };

  async function answered(
    fault: CloudFault | undefined,
    request: WireRequest,
    site: CloudSite,
    sentAt: number,
  ): Promise<WireReply> {
    if (fault === 'lost request') return { kind: 'lost' };
    if (fault === 'timeout') return { kind: 'silence' };
    if (fault === 'empty answer') {
      const found = site.lists ? { items: [] } : {};
      return {
        kind: 'answer',
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(found),
      };
    }
    const effect = fault === undefined ? undefined : effectOf(fault);
    // Both are read at the start of the call, so they strike this one alone.
    const added = effect === undefined ? undefined : cloud.faults.add({ operation: '*', effect });
    const holder = wire.holder();
    if (site.mutating) wire.acting.current = { process, sentAt, what: `${request.method} ${request.path}` };
    const answering = cloud.api(request, new AbortController().signal);
    if (added !== undefined) cloud.faults.remove(added);
    const reply = await answering;
    wire.acting.current = undefined;
    const { operation, mutating } = site;
    const { method, path, body } = request;
    const [status, answer] = reply.kind === 'answer' ? [reply.status, reply.body] : [0, ''];
    if (mutating) wire.trace?.(`${process.identity}  took effect: ${method} ${path} -> ${status} ${answer}`);
    const at = world.monotonic();
    for (const observer of observers)
      observer.cloudEffect?.({ at, sentAt, process, operation, mutating, method, path, body, status, answer, holder });
    if (fault === 'crash after') return wire.crash();
    if (fault === 'timeout after the effect') return { kind: 'silence' };
    return reply;
  }

  function effectOf(fault: CloudFault): Effect | undefined {
    switch (fault) {
      case 'lost answer':
        return { kind: 'lost-answer' };
      case 'throttled':
        return { kind: 'throttle', retryAfterSeconds: dice.whole(1, 5) };
      case 'server error':
        return { kind: 'error', status: dice.pick([500, 502, 503]) };
      case 'conflict':
        return { kind: 'error', status: 409, code: 'conflict' };
      case 'unauthorized':
        return { kind: 'error', status: 401, code: 'unauthorized' };
      case 'forbidden':
        return { kind: 'error', status: 403, code: 'forbidden' };
      case 'cut body':
        return { kind: 'cut-body' };
      case 'malformed':
        return { kind: 'malformed' };
      case 'wrong shape':
        return { kind: 'wrong-shape' };
      case 'missing fields':
        return {
          kind: 'missing-fields',
          fields: [dice.pick(['id', 'power', 'interfaces', 'incarnation', 'zone', 'name'])],
        };
      case 'partial page':
        return { kind: 'missing-items', count: dice.whole(1, 3) };
      case 'chain ends early':
        return { kind: 'chain-ends-early' };
      case 'chain loops':
        return { kind: 'chain-loops' };
      case 'stale':
        return { kind: 'stale', ageMs: dice.whole(2000, 90_000) };
      case 'redirect':
        return { kind: 'redirect', location: 'http://elsewhere/' };
      case 'oversized':
        return { kind: 'oversized', bytes: 17 * 1024 * 1024 };
      default:
        return undefined;
    }
  }
}
