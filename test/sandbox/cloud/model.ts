import type { Notice } from '../../../common/instance.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { addressAllocator } from './addresses.ts';
import { defaultGeography, type Geography, type Place, placeKey, places } from './geography.ts';
import { history } from './history.ts';
import { randomHex, randomUuid } from './identifiers.ts';
import {
  type AddressChange,
  type InstanceSpec,
  ModelError,
  type NetworkInterface,
  type PowerState,
  type SimulatedInstance,
} from './instance.ts';
import { transitions } from './transitions.ts';

/** How long the cloud takes over each step of a VM's life, milliseconds. */
export interface Timings {
  readonly pendingMs: number;
  readonly stoppingMs: number;
  readonly shuttingDownMs: number;
  /** How long a terminated instance is still shown. */
  readonly forgetAfterMs: number;
}

export interface ModelOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly geography?: Geography;
  /** Default: every step is immediate, terminated instances are shown for an hour. */
  readonly timings?: Partial<Timings>;
  /** How far back stale lists can look. Default ten minutes. */
  readonly historyMs?: number;
}

/** One change of one instance: no `before` = created, no `after` = forgotten. */
export interface ModelEvent {
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly before: SimulatedInstance | undefined;
  readonly after: SimulatedInstance | undefined;
}

/** How a rebuilt VM is told apart: same id and name, or same name under a new id (the old id is forgotten). */
export type RebuildMode = 'same-id' | 'same-name';

/**
 * The cloud itself: what VMs there are and what becomes of them. All in memory, on the given clock and randomness:
 * the same seed and the same calls give the same instances, events and moments.
 * Operations throw ModelError; each is refused or done whole.
 */
export interface CloudModel {
  readonly places: ReadonlyMap<string, Place>;
  create(spec?: InstanceSpec): SimulatedInstance;
  /** `count` instances named `<name>-0001` and on, spread over the region's zones. */
  createMany(count: number, spec?: InstanceSpec): SimulatedInstance[];
  get(id: string): SimulatedInstance | undefined;
  /** All instances of one region in the order of creation, the terminated that are not yet forgotten included. */
  list(project: string, region: string): SimulatedInstance[];
  /** The same list as it was `ageMs` ago. */
  listAsOf(project: string, region: string, ageMs: number): SimulatedInstance[];
  named(project: string, region: string, name: string): SimulatedInstance[];
  all(): SimulatedInstance[];
  stop(id: string): SimulatedInstance;
  start(id: string): SimulatedInstance;
  /** Ends the VM for good; it is shown as terminated until it is forgotten. Safe to repeat. */
  terminate(id: string): SimulatedInstance;
  /** Makes the instance vanish at once, whatever its state, as if its terminal state had never been seen. */
  forget(id: string): void;
  rebuild(id: string, mode?: RebuildMode): SimulatedInstance;
  setAddresses(id: string, change: AddressChange): SimulatedInstance;
  setType(id: string, type: string): SimulatedInstance;
  rename(id: string, name: string): SimulatedInstance;
  setTags(id: string, tags: Readonly<Record<string, string>>): SimulatedInstance;
  setNotices(id: string, notices: readonly Notice[]): SimulatedInstance;
  /** @returns a function that ends the subscription */
  onChange(listener: (event: ModelEvent) => void): () => void;
  /** Like `onChange`, for one instance: costs nothing when others change. */
  watch(id: string, listener: (event: ModelEvent) => void): () => void;
  /** Cancels the model's timer. The model can still be read. */
  close(): void;
}

const noTimings: Timings = { pendingMs: 0, stoppingMs: 0, shuttingDownMs: 0, forgetAfterMs: 3_600_000 };

export function createCloudModel(options: ModelOptions): CloudModel {
  const { clock, random } = options;
  const timings: Timings = { ...noTimings, ...options.timings };
  const placeByKey = places(options.geography ?? defaultGeography);
  const firstPlace = [...placeByKey.values()][0]!;
  const allocator = addressAllocator();
  const instances = new Map<string, SimulatedInstance>();
  const byPlace = new Map([...placeByKey.keys()].map((key) => [key, new Map<string, SimulatedInstance>()]));
  const past = new Map([...placeByKey.keys()].map((key) => [key, history(options.historyMs ?? 600_000)]));
  const idsByName = new Map<string, Set<string>>();
  const listeners = new Set<(event: ModelEvent) => void>();
  const watchers = new Map<string, Set<(event: ModelEvent) => void>>();
  const pending = transitions(clock, settle);
  let serial = 0;

  function put(id: string, before: SimulatedInstance | undefined, after: SimulatedInstance | undefined, at: number) {
    const { project, region } = (after ?? before)!;
    const key = placeKey(project, region);
    past.get(key)!.record(at, id, before);
    if (before && before.name !== after?.name) idsByName.get(before.name)?.delete(id);
    if (after) {
      instances.set(id, after);
      byPlace.get(key)!.set(id, after);
      if (before?.name !== after.name) {
        const ids = idsByName.get(after.name);
        if (ids) ids.add(id);
        else idsByName.set(after.name, new Set([id]));
      }
    } else {
      instances.delete(id);
      byPlace.get(key)!.delete(id);
      if (idsByName.get(before!.name)?.size === 0) idsByName.delete(before!.name);
    }
    for (const listener of [...listeners, ...(watchers.get(id) ?? [])]) listener({ at, before, after });
  }

  function change(id: string, fields: Partial<SimulatedInstance>, at = clock.monotonic()): SimulatedInstance {
    const before = mustExist(id);
    const after = { ...before, ...fields };
    put(id, before, after, at);
    return after;
  }

  /** Enters a power state and plans the next one; states that take no time are passed through at once. */
  function enter(id: string, power: PowerState, at: number): SimulatedInstance {
    const instance = change(id, power === 'terminated' ? { power, ...noAddresses(mustExist(id)) } : { power }, at);
    return proceed(instance, at);
  }

  function proceed(instance: SimulatedInstance, at: number): SimulatedInstance {
    const next = successor(instance.power, timings);
    if (!next) {
      pending.cancel(instance.id);
      return instance;
    }
    if (next.afterMs === 0 && next.to !== 'forgotten') return enter(instance.id, next.to, at);
    pending.schedule(instance.id, next.to, at + next.afterMs);
    return instance;
  }

  function remove(id: string, at: number): void {
    pending.cancel(id);
    put(id, mustExist(id), undefined, at);
  }

  function settle(): void {
    for (let step = pending.takeDue(); step; step = pending.takeDue()) {
      if (step.to === 'forgotten') remove(step.id, step.at);
      else enter(step.id, step.to, step.at);
    }
  }

  function mustExist(id: string): SimulatedInstance {
    const instance = instances.get(id);
    if (!instance) throw new ModelError('not-found', `no instance ${JSON.stringify(id)}`);
    return instance;
  }

  function mustLive(id: string): SimulatedInstance {
    settle();
    const instance = mustExist(id);
    if (instance.power === 'terminated' || instance.power === 'shutting-down') {
      throw new ModelError('conflict', `instance ${JSON.stringify(id)} is ${instance.power}`);
    }
    return instance;
  }

  function placeOf(spec: InstanceSpec): Place {
    const project = spec.project ?? firstPlace.project;
    const region = spec.region ?? [...placeByKey.values()].find((place) => place.project === project)?.region;
    const place = region === undefined ? undefined : placeByKey.get(placeKey(project, region));
    if (!place)
      throw new ModelError('invalid', `no region ${JSON.stringify(region)} in project ${JSON.stringify(project)}`);
    if (spec.zone !== undefined && !place.zones.includes(spec.zone)) {
      throw new ModelError('invalid', `no zone ${JSON.stringify(spec.zone)} in ${place.project}/${place.region}`);
    }
    return place;
  }

  function complete(interfaces: readonly Partial<NetworkInterface>[]): NetworkInterface[] {
    return interfaces.map((given, index) => ({
      index: given.index ?? index,
      mac: given.mac?.toLowerCase() ?? allocator.mac(),
      internal: given.internal ?? [],
      external: given.external ?? [],
    }));
  }

  function create(spec: InstanceSpec = {}): SimulatedInstance {
    settle();
    const place = placeOf(spec);
    const id = spec.id ?? `i-${randomHex(random, 12)}`;
    if (instances.has(id)) throw new ModelError('conflict', `instance ${JSON.stringify(id)} exists already`);
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id))
      throw new ModelError('invalid', `bad instance id ${JSON.stringify(id)}`);
    serial += 1;
    const name = spec.name ?? `vm-${serial}`;
    const zone = spec.zone ?? place.zones[serial % place.zones.length]!;
    const hasExternal = spec.external ?? false;
    const after: SimulatedInstance = {
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
      externalDns: spec.externalDns ?? (hasExternal ? [`${name}.${place.region}.simulated.example`] : []),
      interfaces: spec.interfaces
        ? complete(spec.interfaces)
        : allocator.allocate(place.index, {
            interfaceCount: spec.interfaceCount ?? 1,
            external: hasExternal,
            dualStack: spec.dualStack ?? false,
          }),
      ...(spec.smbiosUuid !== null && { smbiosUuid: spec.smbiosUuid ?? randomUuid(random) }),
      tags: spec.tags ?? {},
      notices: spec.notices ?? [],
      createdAt: new Date(clock.now()).toISOString(),
      serial,
    };
    const at = clock.monotonic();
    put(id, undefined, after, at);
    return proceed(after, at);
  }

  function inPlace(project: string, region: string): Map<string, SimulatedInstance> {
    settle();
    return byPlace.get(placeKey(project, region)) ?? new Map();
  }

  return {
    places: placeByKey,
    create,
    createMany(count, spec = {}) {
      const name = spec.name ?? 'vm';
      const digits = Math.max(4, String(count).length);
      return Array.from({ length: count }, (_, index) =>
        create({ ...spec, name: `${name}-${String(index + 1).padStart(digits, '0')}` }),
      );
    },
    get(id) {
      settle();
      return instances.get(id);
    },
    list: (project, region) => [...inPlace(project, region).values()],
    listAsOf(project, region, ageMs) {
      const current = inPlace(project, region).values();
      return past.get(placeKey(project, region))?.asOf(clock.monotonic() - ageMs, current) ?? [];
    },
    named(project, region, name) {
      const here = inPlace(project, region);
      return [...(idsByName.get(name) ?? [])].flatMap((id) => here.get(id) ?? []);
    },
    all() {
      settle();
      return [...instances.values()];
    },
    stop(id) {
      const { power } = mustLive(id);
      if (power === 'stopped' || power === 'stopping') return mustExist(id);
      return enter(id, 'stopping', clock.monotonic());
    },
    start(id) {
      const { power } = mustLive(id);
      if (power === 'running' || power === 'pending') return mustExist(id);
      return enter(id, 'pending', clock.monotonic());
    },
    terminate(id) {
      settle();
      const { power } = mustExist(id);
      if (power === 'terminated' || power === 'shutting-down') return mustExist(id);
      return enter(id, 'shutting-down', clock.monotonic());
    },
    forget(id) {
      settle();
      mustExist(id);
      remove(id, clock.monotonic());
    },
    rebuild(id, mode = 'same-id') {
      const old = mustLive(id);
      if (mode === 'same-id') {
        const smbios = old.smbiosUuid === undefined ? {} : { smbiosUuid: randomUuid(random) };
        change(id, { incarnation: randomUuid(random), ...smbios });
        return enter(id, 'pending', clock.monotonic());
      }
      remove(id, clock.monotonic());
      const { name, project, region, zone, type, hostname, internalDns, externalDns, interfaces, tags } = old;
      const smbios = old.smbiosUuid === undefined ? { smbiosUuid: null } : {};
      const names = { name, hostname, internalDns, externalDns };
      return create({ ...names, project, region, zone, type, interfaces, tags, ...smbios });
    },
    setAddresses(id, { interfaces, ...names }) {
      mustLive(id);
      return change(id, interfaces ? { ...names, interfaces: complete(interfaces) } : names);
    },
    setType(id, type) {
      mustLive(id);
      return change(id, { type });
    },
    rename(id, name) {
      mustLive(id);
      return change(id, { name });
    },
    setTags(id, tags) {
      mustLive(id);
      return change(id, { tags });
    },
    setNotices(id, notices) {
      mustLive(id);
      return change(id, { notices });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    watch(id, listener) {
      const here = watchers.get(id) ?? new Set();
      watchers.set(id, here.add(listener));
      return () => {
        if (here.delete(listener) && here.size === 0) watchers.delete(id);
      };
    },
    close: () => pending.close(),
  };
}

function successor(power: PowerState, timings: Timings): { to: PowerState | 'forgotten'; afterMs: number } | undefined {
  switch (power) {
    case 'pending':
      return { to: 'running', afterMs: timings.pendingMs };
    case 'stopping':
      return { to: 'stopped', afterMs: timings.stoppingMs };
    case 'shutting-down':
      return { to: 'terminated', afterMs: timings.shuttingDownMs };
    case 'terminated':
      return { to: 'forgotten', afterMs: timings.forgetAfterMs };
    default:
      return undefined;
  }
}

/** A terminated VM has given its addresses back, as EC2 shows it. */
function noAddresses(instance: SimulatedInstance): Partial<SimulatedInstance> {
  const interfaces = instance.interfaces.map((nic) => ({ ...nic, internal: [], external: [] }));
  return { interfaces, internalDns: [], externalDns: [] };
}
