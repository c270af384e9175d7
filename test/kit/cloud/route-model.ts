import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { type Body, cidr, optionalText, type Tags, tagsOf, text, wrong } from './body.ts';
import { randomHex } from './identifiers.ts';
import type { Quotas } from './quotas.ts';
import { notFound, Refused } from './refused.ts';
import { type Resource, type ResourceEvent, type ResourceStore, resourceStore } from './resource-store.ts';

/** Packets for `destination` go to this instance. */
export interface SimulatedRoute extends Resource {
  /** Normalised; unique in the region's table. */
  readonly destination: string;
  readonly instanceId: string;
  readonly description: string;
  readonly tags: Tags;
  /** A person says that packets are dropped, whatever becomes of the instance. */
  readonly broken: boolean;
  readonly createdAt: string;
}

export interface RouteSpec {
  readonly destination: string;
  readonly instanceId: string;
  readonly description: string;
  readonly tags: Tags;
  readonly clientToken: string | undefined;
}

export interface RouteModel {
  readonly store: Pick<ResourceStore<SimulatedRoute>, 'get' | 'all' | 'inPlace' | 'inPlaceAsOf' | 'countIn'>;
  /**
   * The token of an existing one returns that one. Refusals: 409 `route-exists` (with its id), 400 `no-such-instance`,
   * 403 `quota-exceeded`.
   */
  create(place: string, spec: RouteSpec): { readonly route: SimulatedRoute; readonly made: boolean };
  delete(id: string): void;
  setTags(id: string, tags: Tags): SimulatedRoute;
  setBroken(id: string, broken: boolean): SimulatedRoute;
  /** Broken, or its instance is gone or at its end. */
  blackhole(route: SimulatedRoute): boolean;
  onChange(listener: (event: ResourceEvent<SimulatedRoute>) => void): () => void;
}

export interface RouteModelParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly quotas: Quotas;
  /** Whether the place has such an instance that is not at its end. */
  readonly serves: (place: string, instanceId: string) => boolean;
  readonly historyMs: number;
}

export function createRouteModel({ clock, random, quotas, serves, historyMs }: RouteModelParts): RouteModel {
  const store = resourceStore<SimulatedRoute>(historyMs);
  const byDestination = new Map<string, SimulatedRoute>();
  const key = ({ place, destination }: Pick<SimulatedRoute, 'place' | 'destination'>) => `${place} ${destination}`;
  store.onChange(({ before, after }) => {
    if (after) byDestination.set(key(after), after);
    else if (before) byDestination.delete(key(before));
  });

  function change(id: string, fields: Partial<SimulatedRoute>): SimulatedRoute {
    const route = store.get(id);
    if (!route) throw notFound('route', id);
    return store.put({ ...route, ...fields }, clock.monotonic());
  }

  return {
    store,
    create(place, spec) {
      const known = store.byToken(place, spec.clientToken);
      if (known) return { route: known, made: false };
      const taken = byDestination.get(key({ place, destination: spec.destination }));
      if (taken) throw new Refused(409, 'route-exists', `${taken.id} leads to ${spec.destination}`, { id: taken.id });
      if (!serves(place, spec.instanceId)) {
        throw new Refused(
          400,
          'no-such-instance',
          `instanceId: no instance ${JSON.stringify(spec.instanceId)} to lead to`,
        );
      }
      quotas.demand('routes', store.countIn(place));
      const serial = store.nextSerial();
      const createdAt = new Date(clock.now()).toISOString();
      const route = { ...spec, id: `rt-${randomHex(random, 12)}`, place, serial, broken: false, createdAt };
      return { route: store.put(route, clock.monotonic()), made: true };
    },
    delete(id) {
      if (!store.get(id)) throw notFound('route', id);
      store.remove(id, clock.monotonic());
    },
    setTags: (id, tags) => change(id, { tags }),
    setBroken: (id, broken) => change(id, { broken }),
    blackhole: ({ broken, place, instanceId }) => broken || !serves(place, instanceId),
    onChange: store.onChange,
  };
}

export function routeSpec(body: Body): RouteSpec {
  return {
    destination: network(cidr(body['destination'], 'destination')),
    instanceId: text(body, 'instanceId'),
    description: optionalText(body, 'description') ?? '',
    tags: tagsOf(body),
    clientToken: optionalText(body, 'clientToken'),
  };
}

/** In one spelling; host bits are refused. */
function network(given: string): string {
  const [address, length] = ipaddr.parseCIDR(given);
  const base = isIPv6(address.toString())
    ? (ipaddr.IPv6.networkAddressFromCIDR(given) as ipaddr.IPv6).toRFC5952String()
    : ipaddr.IPv4.networkAddressFromCIDR(given).toString();
  const spelt = address.kind() === 'ipv6' ? (address as ipaddr.IPv6).toRFC5952String() : address.toString();
  if (spelt !== base) throw wrong('destination', given, `${base}/${length}`);
  return `${base}/${length}`;
}
