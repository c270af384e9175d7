import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { type ApiCall, modelFailure, type RegionView, recognise } from './api.ts';
import type { CallCounter } from './calls.ts';
import type { Credentials } from './credentials.ts';
import { delay, effectOf, refusal, spoil, throttled } from './effects.ts';
import type { Effect, Faults } from './faults.ts';
import { placeKey } from './geography.ts';
import type { SimulatedInstance } from './instance.ts';
import type { CloudModel } from './model.ts';
import type { Network } from './network.ts';
import type { NetworkView } from './network-call.ts';
import type { ResourceView } from './network-wire.ts';
import type { Resource, ResourceStore } from './resource-store.ts';
import type { Throttle } from './throttle.ts';
import { type Answer, failure, toReply, type WireHandler, type WireReply, type WireRequest } from './wire.ts';

export interface CloudServiceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly model: CloudModel;
  readonly network: Network;
  readonly faults: Faults;
  readonly calls: CallCounter;
  readonly credentials: Credentials;
  readonly throttle: Throttle;
}

/** The cloud's API: authentication, faults, answers. Every call is counted once, when its outcome is decided. */
export function cloudService(parts: CloudServiceParts): WireHandler {
  const { clock, random, model, network, faults, calls } = parts;

  return async (request, signal) => {
    const call = recognise(model, network, request);
    if (!call) {
      calls.count('unknown', '404');
      return toReply(failure(404, 'path-not-found', `no ${request.method} ${request.path}`));
    }
    const effects = faults.strike(call);
    await delay(effects, clock, random, signal);
    const answer = refusal(effects) ?? admit(call, request) ?? carryOut(call, request, effects);
    const reply: WireReply = answer === 'silence' ? { kind: 'silence' } : spoil(answer, effects, random);
    calls.count(call.operation, codeOf(reply));
    return reply;
  };

  function admit(call: ApiCall, request: WireRequest): Answer | undefined {
    const mode = parts.credentials.modeFor(bearer(request), call.project);
    if (mode === 'unauthorized') return failure(401, 'unauthorized', 'the credential is not known');
    if (mode === 'forbidden') return failure(403, 'forbidden', `the credential may not call ${call.operation}`);
    const wait = parts.throttle.take(call.project);
    return wait > 0 ? throttled(wait) : undefined;
  }

  function carryOut(call: ApiCall, request: WireRequest, effects: readonly Effect[]): Answer {
    const blind = parts.credentials.modeFor(bearer(request), call.project) === 'sees-nothing';
    if (!blind && !model.places.has(placeKey(call.project, call.region))) {
      return failure(404, 'region-not-found', `no region ${call.project}/${call.region}`);
    }
    const stale = effectOf(effects, 'stale');
    try {
      const place = placeKey(call.project, call.region);
      const endsFailed = effectOf(effects, 'ends-failed') !== undefined;
      const asOf = stale && clock.monotonic() - stale.ageMs;
      const instances = blind ? emptyView : stale ? pastView(model, call, stale.ageMs) : presentView(model, call);
      return call.run({ ...instances, network: networkView(network, place, { blind, asOf, endsFailed }) });
    } catch (error) {
      return modelFailure(error);
    }
  }
}

export function codeOf(reply: WireReply): string {
  if (reply.kind !== 'answer') return reply.kind;
  return reply.cutAfterBytes === undefined ? String(reply.status) : 'cut';
}

function bearer(request: WireRequest): string | undefined {
  return /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1];
}

type InstancesView = Omit<RegionView, 'network'>;

const emptyView: InstancesView = { list: () => [], get: () => undefined, named: () => [] };

function presentView(model: CloudModel, { project, region }: ApiCall): InstancesView {
  return {
    list: () => model.list(project, region),
    get(id) {
      const instance = model.get(id);
      return instance?.project === project && instance.region === region ? instance : undefined;
    },
    named: (name) => model.named(project, region, name),
  };
}

function pastView(model: CloudModel, { project, region }: ApiCall, ageMs: number): InstancesView {
  let then: Map<string, SimulatedInstance> | undefined;
  const byId = () => {
    then ??= new Map(model.listAsOf(project, region, ageMs).map((instance) => [instance.id, instance]));
    return then;
  };
  return {
    list: () => [...byId().values()],
    get: (id) => byId().get(id),
    named: (name) => [...byId().values()].filter((instance) => instance.name === name),
  };
}

interface Visibility {
  readonly blind: boolean;
  /** Lists are those of this moment. */
  readonly asOf: number | undefined;
  readonly endsFailed: boolean;
}

function networkView(network: Network, place: string, { blind, asOf, endsFailed }: Visibility): NetworkView {
  function view<R extends Resource>(store: Pick<ResourceStore<R>, 'get' | 'inPlace' | 'inPlaceAsOf'>): ResourceView<R> {
    return {
      list: () => (blind ? [] : asOf === undefined ? store.inPlace(place) : store.inPlaceAsOf(place, asOf)),
      get(id) {
        const found = blind ? undefined : store.get(id);
        return found?.place === place ? found : undefined;
      },
    };
  }
  return {
    blind,
    endsFailed,
    loadBalancers: view(network.loadBalancers.store),
    addresses: view(network.addresses.store),
    routes: view(network.routes.store),
  };
}
