import type { Notice } from '../../../common/instance.ts';
import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import { addressAllocator } from './addresses.ts';
import { defaultGeography, type Geography, type Place, placeKey, places } from './geography.ts';
import { randomUuid } from './identifiers.ts';
import {
  type AddressChange,
  type InstanceSpec,
  ModelError,
  type PowerState,
  type SimulatedInstance,
} from './instance.ts';
import { type ChangeListener, instanceStore } from './instance-store.ts';
import { completeInterfaces, newInstance } from './new-instance.ts';
import { defaultTimings, inState, isEnding, nextStep, type Timings } from './power.ts';
import { transitions } from './transitions.ts';

export interface ModelOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly geography?: Geography;
  /** Default: every step is immediate, terminated instances are shown for an hour. */
  readonly timings?: Partial<Timings>;
  /** How far back stale lists can look. Default ten minutes. */
  readonly historyMs?: number;
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
  onChange(listener: ChangeListener): () => void;
  /** Like `onChange`, for one instance: costs nothing when others change. */
  watch(id: string, listener: ChangeListener): () => void;
  /** Cancels the model's timer. The model can still be read. */
  close(): void;
}

export function createCloudModel(options: ModelOptions): CloudModel {
  const { clock, random } = options;
  const timings: Timings = { ...defaultTimings, ...options.timings };
  const placeByKey = places(options.geography ?? defaultGeography);
  const allocator = addressAllocator();
  const store = instanceStore(({ project, region }) => placeKey(project, region), options.historyMs ?? 600_000);
  const pending = transitions<PowerState | 'forgotten'>(clock, settle);
  let serial = 0;

  /** Puts the record and plans the state after its own; states that take no time are passed through at once. */
  function enter(instance: SimulatedInstance, at: number): SimulatedInstance {
    store.put(instance, at);
    const next = nextStep(instance.power, timings);
    if (!next) pending.cancel(instance.id);
    else if (next.afterMs === 0 && next.to !== 'forgotten') return enter(inState(instance, next.to), at);
    else pending.schedule(instance.id, next.to, at + next.afterMs);
    return instance;
  }

  function remove(id: string, at: number): void {
    pending.cancel(id);
    store.remove(id, at);
  }

  function settle(): void {
    for (let step = pending.takeDue(); step; step = pending.takeDue()) {
      if (step.to === 'forgotten') remove(step.id, step.at);
      else enter(inState(mustExist(step.id), step.to), step.at);
    }
  }

  function mustExist(id: string): SimulatedInstance {
    const instance = store.get(id);
    if (!instance) throw new ModelError('not-found', `no instance ${JSON.stringify(id)}`);
    return instance;
  }

  function mustLive(id: string): SimulatedInstance {
    settle();
    const instance = mustExist(id);
    if (!isEnding(instance.power)) return instance;
    throw new ModelError('conflict', `instance ${JSON.stringify(id)} is ${instance.power}`);
  }

  function change(id: string, fields: Partial<SimulatedInstance>): SimulatedInstance {
    const after = { ...mustLive(id), ...fields };
    store.put(after, clock.monotonic());
    return after;
  }

  function power(instance: SimulatedInstance, to: PowerState, already: readonly PowerState[]): SimulatedInstance {
    return already.includes(instance.power) ? instance : enter(inState(instance, to), clock.monotonic());
  }

  function create(spec: InstanceSpec = {}): SimulatedInstance {
    settle();
    const instance = newInstance(spec, { clock, random, places: placeByKey, allocator, serial: serial + 1 });
    if (store.get(instance.id))
      throw new ModelError('conflict', `instance ${JSON.stringify(instance.id)} exists already`);
    serial += 1;
    return enter(instance, clock.monotonic());
  }

  /** Reads what the present is, after everything that has fallen due. */
  function present<T>(read: () => T): T {
    settle();
    return read();
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
    get: (id) => present(() => store.get(id)),
    list: (project, region) => present(() => store.inPlace(placeKey(project, region))),
    listAsOf: (project, region, ageMs) =>
      present(() => store.inPlaceAsOf(placeKey(project, region), clock.monotonic() - ageMs)),
    named: (project, region, name) => present(() => store.named(placeKey(project, region), name)),
    all: () => present(() => store.all()),
    stop: (id) => power(mustLive(id), 'stopping', ['stopping', 'stopped']),
    start: (id) => power(mustLive(id), 'pending', ['pending', 'running']),
    terminate: (id) =>
      power(
        present(() => mustExist(id)),
        'shutting-down',
        ['shutting-down', 'terminated'],
      ),
    forget(id) {
      settle();
      remove(mustExist(id).id, clock.monotonic());
    },
    rebuild(id, mode = 'same-id') {
      const old = mustLive(id);
      const told = old.smbiosUuid !== undefined;
      if (mode === 'same-id') {
        const firmware = told ? { smbiosUuid: randomUuid(random) } : {};
        return enter({ ...old, power: 'pending', incarnation: randomUuid(random), ...firmware }, clock.monotonic());
      }
      remove(id, clock.monotonic());
      const { name, project, region, zone, type, hostname, internalDns, externalDns, interfaces, tags } = old;
      const names = { name, hostname, internalDns, externalDns };
      return create({ ...names, project, region, zone, type, interfaces, tags, ...(!told && { smbiosUuid: null }) });
    },
    setAddresses: (id, { interfaces, ...names }) =>
      change(id, { ...names, ...(interfaces && { interfaces: completeInterfaces(interfaces, allocator) }) }),
    setType: (id, type) => change(id, { type }),
    rename: (id, name) => change(id, { name }),
    setTags: (id, tags) => change(id, { tags }),
    setNotices: (id, notices) => change(id, { notices }),
    onChange: store.onChange,
    watch: store.watch,
    close: () => pending.close(),
  };
}
