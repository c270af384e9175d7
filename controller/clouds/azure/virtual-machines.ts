import type { VirtualMachineInstanceView } from '@azure/arm-compute';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Maintenance, NodeAddress, PowerState } from '../../../common/instance.ts';
import { azure as providerId } from '../../../common/provider-id/azure.ts';
import { type Machines, readable, type Seen } from '../machines.ts';
import { inParallel } from '../parallel.ts';
import type { Answered } from './answered.ts';
import { type ArmClient, versions } from './client.ts';
import type { AzureConfig } from './config.ts';
import { cloud } from './fault.ts';
import { createNetworkResources, type ReadOptions } from './network-resources.ts';
import { groupPath, pathOf, readVmId, type VmId } from './resource-id.ts';
import { scaleSetPath, uniformScaleSets } from './scale-sets.ts';
import { readAddresses, type Vm, type VmAddress } from './vm-addresses.ts';

type View = Answered<VirtualMachineInstanceView>;

const callsAtOnce = 4;
const withView = { $expand: 'instanceView' };
const setKind = 'virtualMachineScaleSets/{name}';

/**
 * VMs of one subscription, for one pass: stand-alone ones and those of flexible scale sets, by lists of resource
 * groups; instances of uniform scale sets, by lists of the sets. Which resource groups and sets is what the ids say;
 * names are looked for in the resource group of the configuration.
 */
export function createVirtualMachines(client: ArmClient, config: AzureConfig): Machines {
  const network = createNetworkResources(client);
  const lists = new Map<string, Promise<readonly Vm[]>>();
  let statuses: Promise<ReadonlyMap<string, Vm>> | undefined;

  /** Of one resource group, without power states, or of one uniform scale set, with them. */
  function listOf(id: Omit<VmId, 'id' | 'name'>, options: ReadOptions): Promise<readonly Vm[]> {
    const { scaleSet } = id;
    const [kind, path, query] =
      scaleSet === undefined
        ? ['virtualMachines', groupPath(id.subscription, id.resourceGroup, 'Microsoft.Compute/virtualMachines'), {}]
        : [`${setKind}/virtualMachines`, `${scaleSetPath(id, scaleSet)}/virtualMachines`, withView];
    const key = path.toLowerCase();
    const known = lists.get(key);
    if (known !== undefined) return known;
    const reading = client
      .list({ operation: `GET ${kind}`, path, version: versions.compute, query, ...options })
      .catch((error: unknown) => {
        // A set that is not there has no instances: each is asked for by its id then.
        if (scaleSet !== undefined && isCloudError(error) && error.kind === 'NotFound') return [];
        throw error;
      });
    lists.set(key, reading);
    return reading;
  }

  async function one(id: VmId, options: ReadOptions): Promise<Vm> {
    const kind = id.scaleSet === undefined ? 'virtualMachines/{name}' : `${setKind}/virtualMachines/{id}`;
    const request = { operation: `GET ${kind}`, path: pathOf(id.id)!, version: versions.compute, query: withView };
    return client.get({ ...request, ...options });
  }

  /** The power states of all VMs of the subscription, in one list; none where the role reaches a part of it alone. */
  function allStatuses(options: ReadOptions): Promise<ReadonlyMap<string, Vm>> {
    statuses ??= client
      .list({
        operation: 'GET virtualMachines (states)',
        version: versions.compute,
        query: { statusOnly: 'true' },
        path: `/subscriptions/${config.subscription}/providers/Microsoft.Compute/virtualMachines`,
        ...options,
      })
      .then(
        (items) => new Map(items.map((item) => [item.text('id').toLowerCase(), item])),
        (error: unknown) => {
          if (isCloudError(error) && error.kind === 'Forbidden') return new Map();
          throw error;
        },
      );
    return statuses;
  }

  /** The VM with its instance view, from the list where it is there, else from a request of its own. */
  async function viewed(vm: Vm, options: ReadOptions): Promise<View> {
    const own = viewOf(vm);
    if (own !== undefined) return own;
    const id = idOf(vm);
    const listed = (await allStatuses(options)).get(id.id.toLowerCase());
    const view = listed && viewOf(listed);
    // Without zones the fault domain is the zone, and that of a group of VMs never changes with the request.
    const needsDomain = vm.json()['zones'] == null && isGrouped(vm.object('properties'));
    if (view !== undefined && (!needsDomain || view.json()['platformFaultDomain'] != null)) return view;
    const shown = viewOf(await one(id, options));
    if (shown !== undefined) return shown;
    throw new CloudError({ kind: 'Invalid', cloud, operation: 'lookup', message: `${id.id}: no instanceView` });
  }

  /** All facts of these VMs; a VM that cannot be read is `unknown`, and leaves the others as they are. */
  async function facts(vms: readonly Vm[], request: 'list' | 'id', options: ReadOptions): Promise<readonly Seen[]> {
    const addresses = await readAddresses(network, vms, options);
    return inParallel(callsAtOnce, [...vms.entries()], ([at, vm]) =>
      readable(async () => {
        const own = addresses[at]!;
        if (isCloudError(own)) throw own;
        return readVm(vm, await viewed(vm, options).catch(notAbsent), own, request);
      }),
    );
  }

  async function named(names: readonly string[], signal: AbortSignal | undefined): Promise<readonly Seen[]> {
    const options = { signal };
    const { subscription, resourceGroup } = config;
    const group = { subscription, resourceGroup, scaleSet: undefined };
    const searched = new Set(names);
    const all = [...(await listOf(group, options))];
    const sets = await uniformScaleSets(client, config, options);
    const lists = await inParallel(callsAtOnce, sets, (scaleSet) => listOf({ ...group, scaleSet }, options));
    all.push(...lists.flat());
    return facts(
      all.filter((vm) => searched.has(nameOf(vm))),
      'list',
      options,
    );
  }

  return {
    holds: (id) => readVmId(id) !== undefined,
    async all(ids, signal) {
      const options: ReadOptions = { urgency: 'refresh', signal };
      const seen = new Map<string, Seen>();
      const targets = ids.map((id) => ({ id, place: readVmId(id)! }));
      const places = Map.groupBy(targets, ({ place }) =>
        `${place.resourceGroup}/${place.scaleSet ?? ''}`.toLowerCase(),
      );
      await inParallel(callsAtOnce, [...places.values()], async (some) => {
        try {
          const listed = await listOf(some[0]!.place, options);
          const byId = new Map(listed.map((vm) => [vm.text('id').toLowerCase(), vm]));
          const found = some.flatMap(({ id }) => byId.get(id.toLowerCase()) ?? []);
          const read = await facts(found, 'list', options);
          const lookups = new Map(found.map((vm, at) => [vm.text('id').toLowerCase(), read[at]!]));
          for (const { id } of some) {
            const one = lookups.get(id.toLowerCase());
            if (one !== undefined) seen.set(id, asAsked(id, one));
          }
        } catch (error) {
          if (!isCloudError(error)) throw error;
          // The other resource groups and scale sets stay readable.
          for (const { id } of some) seen.set(id, { state: 'unknown', error });
        }
      });
      return seen;
    },
    named,
    async get(id, signal) {
      const options = { signal };
      const vm = await one(readVmId(id)!, options);
      const [seen] = await facts([vm], 'id', options);
      return asAsked(id, seen!);
    },
  };
}

/** What belongs to a VM may be missing without the VM's being absent. */
function notAbsent(error: unknown): never {
  if (!isCloudError(error) || error.kind !== 'NotFound') throw error;
  const { operation, message } = error;
  throw new CloudError({ kind: 'Unavailable', cloud, operation, message, cause: error });
}

/** Names compare without case: an instance has the id that it was asked for by. */
function asAsked(id: string, seen: Seen): Seen {
  if (seen.state !== 'found' || seen.instance.id.toLowerCase() !== id.toLowerCase()) return seen;
  return { ...seen, instance: { ...seen.instance, id } };
}

function viewOf(vm: Vm): View | undefined {
  const view = vm.optionalObject('properties')?.optionalObject('instanceView');
  return view?.json()['statuses'] === undefined ? undefined : view;
}

function idOf(vm: Vm): VmId {
  const id = readVmId(vm.text('id'));
  if (id !== undefined) return id;
  const message = `id: ${JSON.stringify(vm.text('id').slice(0, 200))}, expected that of a VM`;
  throw new CloudError({ kind: 'Invalid', cloud, operation: 'lookup', message });
}

/** The name of its Node, as the classic controller has it: in a scale set the host name, in lower case. */
function nameOf(vm: Vm): string {
  const properties = vm.object('properties');
  const host = properties.optionalObject('osProfile')?.optionalText('computerName');
  const inSet = readVmId(vm.text('id'))?.scaleSet !== undefined || properties.json()['virtualMachineScaleSet'] != null;
  return ((inSet ? host : undefined) ?? vm.text('name')).toLowerCase();
}

function readVm(vm: Vm, view: View, addresses: readonly VmAddress[], request: 'list' | 'id'): Seen {
  const { id, scaleSet } = idOf(vm);
  const properties = vm.object('properties');
  const name = nameOf(vm);
  const region = vm.text('location').toLowerCase();
  const type = vm.optionalObject('sku')?.optionalText('name') ?? sizeOf(properties);
  const [zone] = vm.json()['zones'] == null ? [] : vm.texts('zones');
  // Azure shows none for a VM in no set; the classic controller's label is 0 then.
  const isAlone = scaleSet === undefined && !isGrouped(properties);
  const faultDomain = view.optionalNumber('platformFaultDomain') ?? (isAlone ? 0 : undefined);
  const place = zone === undefined ? faultDomain?.toString() : `${region}-${zone}`.toLowerCase();
  const shown: NodeAddress[] = [{ type: 'Hostname', address: name }];
  for (const { internal, external } of addresses) {
    shown.push({ type: 'InternalIP', address: internal });
    if (external !== undefined) shown.push({ type: 'ExternalIP', address: external });
  }
  return {
    state: 'found',
    power: powerOf(view, properties.optionalText('provisioningState')),
    request,
    instance: {
      cloud,
      id,
      name,
      providerID: providerId.print({ instanceId: id }),
      region,
      addresses: shown,
      // A VM that is created again under the same name has the same resource id.
      incarnation: properties.text('vmId').toLowerCase(),
      maintenance: maintenanceOf(view),
      tags: vm.labels('tags'),
      ...(place === undefined ? {} : { zone: place }),
      ...(type === undefined ? {} : { type }),
    },
  };
}

/** Azure shows it while maintenance is planned, also when the VM has had it already, at the request of its owner. */
function maintenanceOf(view: View): Maintenance[] {
  const status = view.optionalObject('maintenanceRedeployStatus');
  if (status === undefined || status.optionalText('lastOperationResultCode') === 'MaintenanceCompleted') return [];
  const start = status.optionalText('maintenanceWindowStartTime');
  const end = status.optionalText('maintenanceWindowEndTime');
  const message = `planned maintenance${end === undefined ? '' : ` until ${end}`}`;
  return [{ message, ...(start !== undefined && { deadline: start }) }];
}

/** In an availability set or a flexible scale set, whose VMs have fault domains. */
function isGrouped(properties: Vm): boolean {
  const { availabilitySet, virtualMachineScaleSet } = properties.json();
  return availabilitySet != null || virtualMachineScaleSet != null;
}

function sizeOf(properties: Vm): string | undefined {
  return properties.optionalObject('hardwareProfile')?.optionalText('vmSize');
}

/** Stopped is what has come to rest: no operation starts, moves or deletes it. */
function powerOf(view: View, provisioning: string | undefined): PowerState {
  const codes = view.objects('statuses').map((status) => status.optionalText('code')?.toLowerCase() ?? '');
  const power = codes.find((code) => code.startsWith('powerstate/'))?.slice('powerstate/'.length);
  if (/^deleting$/i.test(provisioning ?? '')) return 'changing';
  if (power === 'running') return 'running';
  const isAtRest = /^(succeeded|failed|canceled)$/i.test(provisioning ?? 'Succeeded');
  return isAtRest && (power === 'stopped' || power === 'deallocated') ? 'stopped' : 'changing';
}
