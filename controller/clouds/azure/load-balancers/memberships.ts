import type * as compute from '@azure/arm-compute';
import type * as network from '@azure/arm-network';
import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { unlessNotFound } from '../../not-found.ts';
import type { Permit } from '../../permit.ts';
import type { Sent } from '../../sent.ts';
import type { Answered } from '../answered.ts';
import { type ArmClient, versions } from '../client.ts';
import { cloud } from '../fault.ts';
import { createNetworkResources, type ReadOptions } from '../network-resources.ts';
import { pathOf, readVmId } from '../resource-id.ts';
import { type GroupPlace, listScaleSets } from '../scale-sets.ts';
import { interfacesOf } from '../vm-addresses.ts';
import { idIn, type Json, listIn, objectIn, type Part, partsIn, textIn } from './json.ts';

/** What network interfaces, instances and models of scale sets say of backend pools. Other ids are in lower case. */
export interface Memberships {
  /** The machine of each configuration of an interface. */
  machinesOf(configurations: readonly string[], options: ReadOptions): Promise<ReadonlyMap<string, Machine>>;
  /** The pools that the models of the scale sets of that resource group name, by the ids of the sets. */
  poolsOfSets(place: GroupPlace, options: ReadOptions): Promise<ReadonlyMap<string, readonly string[]>>;
  /**
   * Puts the primary interface of a VM into the pool, or the model of a scale set. Safe to repeat. Resolves with the
   * configuration of the interface, or with the load balancer that the interface is behind instead.
   *
   * @param pool in the letters that are written
   */
  join(id: string, pool: string, permit: Permit): Promise<Joined>;
  /** Takes a configuration of an interface out of the pool, or a model. Succeeds where it is not there. */
  leave(id: string, pool: string, permit: Permit): Promise<void>;
}

export interface Machine {
  /** Undefined: the interface has none, or cannot be read. */
  readonly vm: string | undefined;
  /** Unix time, of an instance of a uniform scale set, `Infinity` where it cannot be read; else 0. */
  readonly createdAtMs: number;
}

export type Joined = { readonly configuration: string } | { readonly behind: string };

/** A resource with configurations of interfaces somewhere in it. */
interface Target {
  readonly kind: string;
  readonly path: string;
  readonly version: string;
  interfacesIn(json: Json): readonly Part[];
  /** What is written, with these interfaces in it. */
  bodyWith(json: Json, interfaces: readonly Part[]): Json;
}

const ofInstance =
  /^(.*\/virtualmachinescalesets\/[^/]+\/virtualmachines\/[^/]+)\/networkinterfaces\/[^/]+\/ipconfigurations\/[^/]+$/;
const ofInterface = /^(.*\/microsoft\.network\/networkinterfaces\/[^/]+)\/ipconfigurations\/[^/]+$/;
const setOf = (vm: string | undefined) => vm?.replace(/\/virtualmachines\/[^/]+$/, '');
const scaleSetId = /\/virtualmachinescalesets\/[^/]+$/;
const profile = 'networkProfileConfiguration' satisfies keyof compute.VirtualMachineScaleSetVM;
const profileList = 'networkInterfaceConfigurations' satisfies keyof compute.VirtualMachineScaleSetNetworkProfile;
/** Network interfaces and their models have these names in common. */
const configurationList = 'ipConfigurations' satisfies keyof (Interface | InterfaceModel);
const poolList = 'loadBalancerBackendAddressPools' satisfies keyof (Configuration | ConfigurationModel);
type Instance = compute.VirtualMachineScaleSetVMProperties;
type Interface = network.NetworkInterfacePropertiesFormat;
type InterfaceModel = compute.VirtualMachineScaleSetNetworkConfigurationProperties;
type Configuration = network.NetworkInterfaceIPConfigurationPropertiesFormat;
type ConfigurationModel = compute.VirtualMachineScaleSetIPConfigurationProperties;

const configurationsIn = ({ properties }: Part) => partsIn({ properties }, configurationList);
const idOf = (json: Json) => textIn(json, 'id')?.toLowerCase();
const poolsIn = ({ properties }: Part): readonly string[] =>
  listIn(properties, poolList).flatMap((one) => idOf(one) ?? []);
/** An interface may be behind one load balancer with public addresses and one with internal ones, of one name. */
const balancerOf = (pool: string) => pool.replace(/\/backendaddresspools\/[^/]*$/, '').replace(/-internal$/, '');

export function createMemberships(client: ArmClient): Memberships {
  async function change(
    { kind, path, version, interfacesIn, bodyWith }: Target,
    edit: (interfaces: readonly Part[]) => readonly Part[] | undefined,
    permit: Permit,
  ): Promise<void> {
    const json = (await client.get({ operation: `GET ${kind}`, path, version, urgency: 'change' })).json();
    const next = edit(interfacesIn(json));
    if (next === undefined) return;
    const body = bodyWith(json, next);
    await client.put({ operation: `PUT ${kind}`, path, version, body, etag: textIn(json, 'etag') ?? '*', permit });
  }

  async function createdIn(set: string, options: ReadOptions): Promise<ReadonlyMap<string, number>> {
    const kind = 'virtualMachineScaleSets/{name}/virtualMachines';
    const request = { operation: `GET ${kind}`, path: `${pathOf(set)}/virtualMachines`, version: versions.compute };
    const all: readonly Answered<compute.VirtualMachineScaleSetVM>[] = await client.list({ ...request, ...options });
    return new Map(
      all.map((vm) => {
        const created = Date.parse(vm.object('properties').optionalText('timeCreated') ?? '');
        return [vm.text('id').toLowerCase(), Number.isNaN(created) ? 0 : created];
      }),
    );
  }

  async function targetOf(id: string): Promise<Target> {
    if (scaleSetId.test(id)) return scaleSet(pathOf(id)!);
    if (readVmId(id)?.scaleSet !== undefined) return instance(pathOf(id)!);
    const request = { operation: 'GET VM', path: pathOf(id)!, version: versions.compute, urgency: 'change' } as const;
    const [first] = interfacesOf(await client.get(request));
    const path = first && pathOf(first.id);
    if (path === undefined) throw failure(`${id} has no network interface`);
    return networkInterface(path);
  }

  return {
    async machinesOf(configurations, options) {
      const interfaces = new Set(configurations.flatMap((id) => ofInterface.exec(id)?.[1] ?? []));
      const sets = new Set(configurations.flatMap((id) => setOf(ofInstance.exec(id)?.[1]) ?? []));
      const [read, instances] = [new Map<string, AnswerFields>(), new Map<string, number>()];
      for (const [id, one] of await createNetworkResources(client).read([...interfaces], options))
        if (!isCloudError(one)) read.set(id, one);
        else if (one.kind !== 'Forbidden') throw one;
      for (const set of sets)
        for (const [id, atMs] of await createdIn(set, options).catch(noneReadable)) instances.set(id, atMs);
      return new Map(
        configurations.map((id): [string, Machine] => {
          const instance = ofInstance.exec(id)?.[1];
          const fields = read.get(ofInterface.exec(id)?.[1] ?? '');
          const vm = fields && idIn(objectIn(fields.json(), 'properties'), 'virtualMachine');
          const createdAtMs = instance === undefined ? 0 : instances.get(instance);
          return [id, { vm: instance ?? vm, createdAtMs: createdAtMs ?? Infinity }];
        }),
      );
    },
    async poolsOfSets(place, options) {
      const poolsOf = (model: Json) => modelInterfaces(model).flatMap((one) => configurationsIn(one).flatMap(poolsIn));
      const sets = await listScaleSets(client, place, options);
      return new Map(sets.map((set) => [set.text('id').toLowerCase(), poolsOf(set.json())]));
    },
    async join(id, spelled, permit) {
      const pool = spelled.toLowerCase();
      let result: Joined = { configuration: id };
      const edit = (interfaces: readonly Part[]) => {
        const own = primaryOf(interfaces);
        const one = own && configurationFor(configurationsIn(own), pool);
        if (own === undefined || one === undefined) throw failure(`${id} has no address for ${pool.split('/').at(-1)}`);
        const shown = idOf(one as unknown as Json);
        const configuration = shown ?? `${id}/networkinterfaces/${own.name}/ipconfigurations/${one.name}`.toLowerCase();
        const pools = poolsIn(one);
        const other = pools.find((there) => balancerOf(there) !== balancerOf(pool));
        result = { configuration };
        if (pools.includes(pool)) return undefined;
        if (other !== undefined) {
          result = { behind: balancerOf(other) };
          return undefined;
        }
        const isMeant = (each: Part, part: Part) => each.name === own.name && part.name === one.name;
        return withPools(interfaces, (each, part) => (isMeant(each, part) ? [...pools, spelled] : undefined));
      };
      await change(await targetOf(id), edit, permit);
      return result;
    },
    async leave(id, pool, permit) {
      const instanceId = ofInstance.exec(id)?.[1];
      const path = pathOf(instanceId ?? ofInterface.exec(id)?.[1] ?? id);
      if (path === undefined) return;
      const target = scaleSetId.test(id) ? scaleSet(path) : instanceId ? instance(path) : networkInterface(path);
      const left = (_: Part, one: Part) => {
        const pools = poolsIn(one);
        return pools.includes(pool) ? pools.filter((other) => other !== pool) : undefined;
      };
      const isIn = (own: Part) => configurationsIn(own).some((one) => left(own, one) !== undefined);
      await unlessNotFound(change(target, (all) => (all.some(isIn) ? withPools(all, left) : undefined), permit));
    },
  };
}

/** Those of others may be where the role does not reach. */
function noneReadable(error: unknown): ReadonlyMap<string, never> {
  if (isCloudError(error) && (error.kind === 'Forbidden' || error.kind === 'NotFound')) return new Map<string, never>();
  throw error;
}

function primaryOf(parts: readonly Part[]): Part | undefined {
  return parts.length === 1 ? parts[0] : parts.find(({ properties }) => properties['primary'] === true);
}

/** The primary one, or that of IPv6 for a pool of that family: the classic controller names such pools so. */
function configurationFor(parts: readonly Part[], pool: string): Part | undefined {
  if (!/-ipv6$/.test(pool)) return primaryOf(parts);
  return parts.find(({ properties }) => properties['privateIPAddressVersion'] === 'IPv6');
}

/** With the pools that `next` says for some configurations. Everything else stays, how ids are spelled included. */
function withPools(
  interfaces: readonly Part[],
  next: (own: Part, configuration: Part) => readonly string[] | undefined,
): readonly Part[] {
  return interfaces.map((own) => {
    const configurations = configurationsIn(own).map((one) => {
      const standing = listIn(one.properties, poolList);
      const poolOf = (id: string) =>
        standing.find((each) => idOf(each) === id) ?? ({ id } satisfies compute.SubResource);
      const pools = next(own, one)?.map(poolOf);
      return pools === undefined ? one : { ...one, properties: { ...one.properties, [poolList]: pools } };
    });
    return { ...own, properties: { ...own.properties, [configurationList]: configurations } };
  });
}

function networkInterface(path: string): Target {
  return {
    kind: 'networkInterfaces/{name}',
    path,
    version: versions.network,
    interfacesIn: (json) => [{ name: textIn(json, 'name') ?? '', properties: objectIn(json, 'properties') }],
    bodyWith: (json, [own]) => ({ ...json, properties: own!.properties }),
  };
}

/** Of a uniform scale set. What is not sent stays as it is, as for the classic controller. */
function instance(path: string): Target {
  return {
    kind: 'virtualMachineScaleSets/{name}/virtualMachines/{id}',
    path,
    version: versions.compute,
    interfacesIn: (json) => profileInterfaces(objectIn(objectIn(json, 'properties'), profile)),
    bodyWith(json, interfaces) {
      const { hardwareProfile } = objectIn(json, 'properties') as Instance;
      const properties: Sent<Instance> = { hardwareProfile, [profile]: { [profileList]: interfaces } };
      return { location: json['location'], properties };
    },
  };
}

function scaleSet(path: string): Target {
  return {
    kind: 'virtualMachineScaleSets/{name}',
    path,
    version: versions.compute,
    interfacesIn: modelInterfaces,
    bodyWith(json, interfaces) {
      const networkProfile = { ...modelProfile(json), [profileList]: interfaces };
      const properties: Sent<compute.VirtualMachineScaleSetProperties> = { virtualMachineProfile: { networkProfile } };
      return { location: json['location'], properties };
    },
  };
}

const profileInterfaces = (profile: Json) => partsIn({ properties: profile }, profileList);
const modelProfile = (json: Json) =>
  objectIn(objectIn(objectIn(json, 'properties'), 'virtualMachineProfile'), 'networkProfile');
const modelInterfaces = (json: Json) => profileInterfaces(modelProfile(json));

function failure(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation: 'join backend pool', message });
}
