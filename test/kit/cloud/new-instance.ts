import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { AddressAllocator } from './addresses.ts';
import { type Place, placeKey } from './geography.ts';
import { randomHex, randomUuid } from './identifiers.ts';
import { type InstanceSpec, ModelError, type NetworkInterface, type SimulatedInstance } from './instance.ts';

export interface NewInstanceParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly places: ReadonlyMap<string, Place>;
  readonly allocator: AddressAllocator;
  readonly serial: number;
}

/** Fills in what the spec leaves open. Throws a ModelError `invalid` for a place or an id that cannot be. */
export function newInstance(spec: InstanceSpec, parts: NewInstanceParts): SimulatedInstance {
  const { clock, random, allocator, serial } = parts;
  const place = placeOf(spec, parts.places);
  const id = spec.id ?? `i-${randomHex(random, 12)}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) throw new ModelError('invalid', `bad id ${JSON.stringify(id)}`);
  const name = spec.name ?? `vm-${serial}`;
  const zone = spec.zone ?? place.zones[serial % place.zones.length]!;
  const { external = false, dualStack = false, interfaceCount = 1 } = spec;
  return {
    id,
    name,
    incarnation: randomUuid(random),
    project: place.project,
    region: place.region,
    zone,
    type: spec.type ?? 'sim.small',
    power: spec.power ?? 'pending',
    hostname: spec.hostname ?? name,
    internalDns: spec.internalDns ?? [`${name}.${zone}.simulated.internal`],
    externalDns: spec.externalDns ?? (external ? [`${name}.${place.region}.simulated.example`] : []),
    interfaces: spec.interfaces
      ? completeInterfaces(spec.interfaces, allocator)
      : allocator.allocate(place.index, { interfaceCount, external, dualStack }),
    ...(spec.smbiosUuid !== null && { smbiosUuid: spec.smbiosUuid ?? randomUuid(random) }),
    tags: spec.tags ?? {},
    notices: spec.notices ?? [],
    createdAt: new Date(clock.now()).toISOString(),
    serial,
  };
}

export function completeInterfaces(
  interfaces: readonly Partial<NetworkInterface>[],
  allocator: AddressAllocator,
): NetworkInterface[] {
  return interfaces.map((given, index) => ({
    index: given.index ?? index,
    mac: given.mac?.toLowerCase() ?? allocator.mac(),
    internal: given.internal ?? [],
    external: given.external ?? [],
  }));
}

/** The place a spec names; left out = the first project, and a project's first region. */
function placeOf(spec: InstanceSpec, places: ReadonlyMap<string, Place>): Place {
  const all = [...places.values()];
  const project = spec.project ?? all[0]!.project;
  const region = spec.region ?? all.find((place) => place.project === project)?.region;
  const place = region === undefined ? undefined : places.get(placeKey(project, region));
  const shown = `region ${JSON.stringify(region)} of project ${JSON.stringify(project)}`;
  if (!place) throw new ModelError('invalid', `no ${shown}`);
  if (spec.zone !== undefined && !place.zones.includes(spec.zone)) {
    throw new ModelError('invalid', `no zone ${JSON.stringify(spec.zone)} in ${shown}`);
  }
  return place;
}
