import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { PowerState } from '../../../common/instance.ts';
import { ovirt } from '../../../common/provider-id/ovirt.ts';
import { swapped } from '../../../common/smbios-uuid.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { type Machines, readable, type Seen } from '../machines.ts';
import { chunks } from '../parallel.ts';
import { guestAddresses } from './addresses.ts';
import type { OvirtConfig } from './config.ts';
import { type Engine, isSilent404, withNics } from './engine.ts';
import { type PlaceOf, readPlaces } from './places.ts';
import { cloud } from './tokens.ts';

/** So many in one search, whose URL stays below 8 KiB with the longest names. */
const namesAtOnce = 10;

/** VMs of one engine, for one pass: the list and the names of places are read at most once. */
export function createVms(engine: Engine, config: OvirtConfig): Machines {
  let places: Promise<PlaceOf> | undefined;
  let isRootThere: Promise<boolean> | undefined;

  async function readAll(vms: readonly AnswerFields[], request: 'list' | 'id', signal: AbortSignal | undefined) {
    places ??= readPlaces(engine, config, signal);
    const placeOf = await places;
    const seen = async (vm: AnswerFields) => [vm, await readable(() => readVm(vm, config, placeOf, request))] as const;
    return Promise.all(vms.map(seen));
  }
  /** A 404 without a body is the engine's where the root of the API answers in this pass. */
  async function proven(error: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    if (!isCloudError(error) || !isSilent404(error)) return error;
    const answers = async () => (await engine.product(signal).catch(() => undefined)) !== undefined;
    isRootThere ??= answers();
    if (!(await isRootThere)) return error;
    const message = '404, and the root answers';
    return new CloudError({ kind: 'NotFound', cloud, operation: error.operation, message });
  }
  async function get(id: string, signal: AbortSignal | undefined): Promise<Seen> {
    const vm = await engine.get({ path: `/vms/${id}`, query: withNics, signal }).catch(async (error) => {
      throw await proven(error, signal);
    });
    return (await readAll([vm], 'id', signal))[0]![1];
  }

  return {
    holds: () => true,
    async all(ids, signal) {
      const seen = await readAll(await engine.vms(config.search ?? '', signal), 'list', signal);
      const byId = new Map(seen.map(([vm, one]) => [vm.text('id').toLowerCase(), one]));
      // Firmware may show the id in the other byte order.
      for (const id of ids) {
        const other = byId.get(id) ?? byId.get(swapped(id));
        if (other !== undefined) byId.set(id, withId(other, id));
      }
      return byId;
    },
    async named(names, signal) {
      // A name of DNS has nothing that the search takes for anything else.
      const searchable = names.filter((name) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name));
      const searches = chunks(searchable, namesAtOnce).map((some) =>
        engine.vms(some.map((name) => `name=${name} or fqdn=${name}`).join(' or '), signal),
      );
      const vms = (await Promise.all(searches)).flat();
      const seen = await readAll([...new Map(vms.map((vm) => [vm.text('id'), vm])).values()], 'list', signal);
      // One of the controllers before named a Node as the guest names itself.
      return seen.flatMap(([vm, one]): Seen[] => {
        if (one.state !== 'found') return [one];
        const own = new Set([vm.optionalText('name'), vm.optionalText('fqdn')]);
        return searchable.flatMap((name) => (own.has(name) ? [{ ...one, instance: { ...one.instance, name } }] : []));
      });
    },
    async get(id, signal) {
      try {
        return await get(id, signal);
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
        return withId(await get(swapped(id), signal), id);
      }
    },
  };
}

/** The same VM by the id that was asked for. */
function withId(seen: Seen, id: string): Seen {
  if (seen.state !== 'found' || seen.instance.id === id) return seen;
  const isSame = seen.instance.id === swapped(id);
  return isSame ? { ...seen, instance: { ...seen.instance, id } } : seen;
}

function readVm(vm: AnswerFields, config: OvirtConfig, placeOf: PlaceOf, request: 'list' | 'id'): Seen {
  const id = ovirt.parse(vm.text('id'))?.instanceId;
  if (id === undefined) {
    const message = `id: ${JSON.stringify(vm.text('id'))}, expected a UUID`;
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'lookup', message });
  }
  const name = vm.text('name');
  const type = typeOf(vm);
  const addresses = guestAddresses(vm, config);
  return {
    state: 'found',
    power: powerOf(vm.text('status')),
    request,
    instance: {
      cloud,
      id,
      name,
      incarnation: id,
      smbiosUuid: id,
      providerID: ovirt.print({ instanceId: id }),
      ...placeOf(vm),
      ...(type === undefined ? {} : { type }),
      addresses: [{ type: 'Hostname', address: vm.optionalText('fqdn') ?? name }, ...addresses],
      // Without its agent a guest has addresses that the engine does not know.
      ...(addresses.length === 0 ? { keepsInternalIPs: true } : {}),
    },
  };
}

/** What cannot be told (`unknown`, `not_responding`) is not off: the host may have lost its network alone. */
function powerOf(status: string): PowerState {
  if (status === 'up' || status === 'migrating') return 'running';
  return status === 'suspended' ? status : status === 'down' ? 'stopped' : 'changing';
}

/** `4vcpu-16gb`: an engine has no catalogue of sizes. */
function typeOf(vm: AnswerFields): string | undefined {
  const topology = vm.optionalObject('cpu')?.optionalObject('topology');
  const count = (name: string) => Number(topology?.json()[name] ?? 1);
  const cpus = count('sockets') * count('cores') * count('threads');
  const gib = Number(vm.json()['memory']) / 1024 ** 3;
  return topology && Number.isInteger(cpus) && gib > 0 ? `${cpus}vcpu-${Number(gib.toFixed(1))}gb` : undefined;
}
