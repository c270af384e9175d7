import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { azureResourceId, azure as providerId } from '../../../common/provider-id/azure.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { createBatches, type PendingChange, sendTogether } from '../change-batches.ts';
import { canonical, normalCidr } from '../ip-address.ts';
import { unlessNotFound } from '../not-found.ts';
import { inParallel } from '../parallel.ts';
import type { ObservedRoute, Routes } from '../routes.ts';
import { type ArmClient, versions } from './client.ts';
import type { AzureConfig, RouteTablePlace } from './config.ts';
import { cloud } from './fault.ts';
import { createNetworkResources, type ReadOptions } from './network-resources.ts';
import { groupPath, pathOf, readVmId } from './resource-id.ts';
import { createRouteTableClient, type StoredRoute, type TableDocument } from './route-table.ts';
import { scaleSetPath, uniformScaleSets } from './scale-sets.ts';
import { readAddresses } from './vm-addresses.ts';

/** A route of the table, and the words that it is stored under. */
export interface AzureRoute extends ObservedRoute {
  readonly stored: { readonly name: string; readonly prefix: string; readonly nextHop: string };
}

export interface RouteOptions {
  readonly client: ArmClient;
  readonly clock: Clock;
  readonly config: AzureConfig;
  readonly table: RouteTablePlace;
}

interface Change {
  readonly action: 'add' | 'remove';
  readonly route: AzureRoute;
}

const operation = 'routes';
const maxTries = 6;
const busyMs = 2000;
const longestBusyMs = 60_000;
const callsAtOnce = 4;

/**
 * Pod routes in one route table, which is written as a whole: changes that gather during a write go with the next one.
 * A write is bound to the version that was read, so that no route of others is lost. Routes cannot be marked.
 */
export function createRoutes({ client, clock, config, table: place }: RouteOptions): Routes<AzureRoute> {
  const table = createRouteTableClient(client, place);
  const change = createBatches<Change, AzureRoute>(cloud, run);
  /** Names of routes whose write was not seen to succeed, in lower case. */
  const unsure = new Set<string>();

  /** Applies the changes to the table as it is, again and again while others change it. */
  async function run(batch: readonly PendingChange<Change, AzureRoute>[], signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const pending = batch.filter(({ done }) => !done);
      try {
        await apply(pending, signal);
        return;
      } catch (error) {
        if (!isCloudError(error)) throw error;
        // One that the API refuses does not fail the others.
        if (pending.length > 1 && (error.kind === 'Invalid' || error.kind === 'QuotaExceeded')) {
          for (const one of pending) await run([one], signal).catch(one.reject);
          return;
        }
        if ((error.kind !== 'Stale' && error.kind !== 'Busy') || tries === maxTries || signal.aborted) throw error;
        if (error.kind === 'Stale') continue;
        const waitMs = error.retryAfterMs ?? busyMs * tries;
        // Every other change would wait behind it, and nothing would say why.
        if (waitMs > longestBusyMs) throw error;
        await restOrAbort(clock, waitMs, signal);
      }
    }
  }

  async function apply(pending: readonly PendingChange<Change, AzureRoute>[], signal: AbortSignal): Promise<void> {
    const document = await table.read({ urgency: 'change', signal });
    const sent = await sendTogether(pending, async (permitted, permit) => {
      const routes = folded(document.routes, permitted) ?? unfinished(document, permitted);
      if (routes !== undefined) await table.write(document, routes, { permit, signal });
    });
    for (const one of sent?.permitted ?? []) one.resolve(one.change.route);
  }

  /**
   * Ids of VMs by their private addresses: those of the resource group, and of its uniform scale sets. Networks may
   * have the same addresses: those of the table come first.
   */
  async function readOwners(networks: ReadonlySet<string>, options: ReadOptions): Promise<ReadonlyMap<string, string>> {
    const { subscription, resourceGroup } = config;
    const path = groupPath(subscription, resourceGroup, 'Microsoft.Network/networkInterfaces');
    const request = { operation: 'GET networkInterfaces', path, version: versions.network };
    const sets = await uniformScaleSets(client, config, options);
    const lists = await Promise.all([
      client.list({ ...request, ...options }),
      inParallel(callsAtOnce, sets, (set) => interfacesOfSet(set, options)),
    ]);
    const owners = new Map<string, string>();
    for (const item of lists.flat(2)) {
      const properties = item.object('properties');
      const vm = azureResourceId(properties.optionalObject('virtualMachine')?.text('id') ?? '');
      for (const each of vm === undefined ? [] : properties.optionalObjects('ipConfigurations')) {
        const own = each.optionalObject('properties');
        const address = own?.optionalText('privateIPAddress');
        if (address === undefined) continue;
        const key = canonical(address);
        const network = networkOf(own?.optionalObject('subnet')?.optionalText('id') ?? '');
        if (networks.has(network) || !owners.has(key)) owners.set(key, vm!);
      }
    }
    return owners;
  }

  async function interfacesOfSet(set: string, options: ReadOptions): Promise<readonly AnswerFields[]> {
    const path = scaleSetPath(config, set);
    const read = (kind: string, version: string) =>
      unlessNotFound(client.list({ operation: `GET scale set ${kind}`, path: `${path}/${kind}`, version, ...options }));
    const interfaces = await read('networkInterfaces', versions.scaleSetNetwork);
    if (interfaces !== undefined) return interfaces;
    // A set without instances is answered so. Of one that has some it would make their routes lead nowhere.
    const instances = await read('virtualMachines', versions.compute);
    if (instances === undefined || instances.length === 0) return [];
    const message = `the network interfaces of scale set ${set} are not there`;
    throw new CloudError({ kind: 'Unavailable', cloud, operation, message });
  }

  /** The address that packets for a VM go to, from Resource Manager: a Node may tell of another one. */
  async function nextHopOf(providerID: string, family: 'IPv4' | 'IPv6', options: ReadOptions): Promise<string> {
    const id = readVmId(providerId.parse(providerID)?.instanceId ?? '');
    if (id === undefined || id.subscription !== config.subscription)
      throw invalid(`providerID: ${JSON.stringify(providerID)}, expected a VM of subscription ${config.subscription}`);
    if (id.resourceGroup !== config.resourceGroup)
      throw invalid(`providerID: ${providerID}, expected a VM of resource group ${config.resourceGroup}`);
    const path = pathOf(id.id)!;
    const vm = await client.get({ operation: 'GET VM', path, version: versions.compute, ...options });
    const [addresses] = await readAddresses(createNetworkResources(client), [vm], {
      ...options,
      internalOnly: true,
    });
    if (isCloudError(addresses)) throw addresses;
    const found = addresses?.find((address) => address.family === family);
    if (found === undefined) throw invalid(`${providerID} has no ${family} address`);
    return found.internal;
  }

  return {
    tagged: false,
    async observe(_cluster, signal) {
      const options: ReadOptions = { urgency: 'refresh', signal };
      // In this order: the VM of a route that is shown was there before it.
      const document = await table.read(options);
      // The table shows them also where their write runs or has failed: not shown, they are written again.
      if (document.state === 'done') unsure.clear();
      const routes = document.routes.filter(({ name }) => !unsure.has(name.toLowerCase()));
      const hops = routes.some(({ properties }) => properties.nextHopType === 'VirtualAppliance');
      const owners = hops
        ? await readOwners(new Set(document.subnets.map(networkOf)), options)
        : new Map<string, string>();
      return { quota: undefined, routes: routes.map((route) => shown(route, owners)) };
    },
    async create({ node, destination: text, providerID }, { permit, signal }) {
      const destination = normalCidr(text);
      if (destination === undefined) throw invalid(`destination: ${JSON.stringify(text)}, expected a range`);
      const family = destination.includes(':') ? 'IPv6' : 'IPv4';
      const nextHop = await nextHopOf(providerID, family, { urgency: 'change', signal });
      const stored = { name: routeName(node, text), prefix: destination, nextHop };
      const via = canonical(nextHop);
      const route = { id: stored.name, destination, providerID, via, blackhole: false, ours: undefined, stored };
      try {
        const made = await change({ action: 'add', route }, permit, signal);
        unsure.delete(stored.name.toLowerCase());
        return made;
      } catch (error) {
        if (isCloudError(error) && error.kind !== 'Conflict') unsure.add(stored.name.toLowerCase());
        throw error;
      }
    },
    async remove(route, { permit, signal }) {
      await change({ action: 'remove', route }, permit, signal);
    },
  };
}

/** As the classic controller names them, which always counts with two address families. */
export function routeName(node: string, cidr: string): string {
  return `${node}____${cidr.replace(/[.:/]/g, '')}`;
}

/**
 * The routes after these changes; undefined when nothing changes. Removals come first, so that a route can be replaced.
 * An addition that another route stands in the way of is refused.
 */
function folded(
  routes: readonly StoredRoute[],
  pending: readonly PendingChange<Change, AzureRoute>[],
): readonly StoredRoute[] | undefined {
  const gone = pending.flatMap(({ change: { action, route } }) => (action === 'remove' ? [route] : []));
  const kept = routes.filter((there) => !gone.some((route) => isThat(there, route)));
  const after = [...kept];
  for (const { change, reject } of pending) {
    const { action, route } = change;
    if (action === 'remove' || after.some((there) => isThat(there, route))) continue;
    const { name, prefix, nextHop } = route.stored;
    const other = after.find((one) => one.name.toLowerCase() === name.toLowerCase() || prefixOf(one) === prefix);
    const properties: StoredRoute['properties'] = {
      addressPrefix: prefix,
      nextHopType: 'VirtualAppliance',
      nextHopIpAddress: nextHop,
    };
    if (other === undefined) after.push({ name, properties });
    else reject(conflict(other));
  }
  return after.length === kept.length && kept.length === routes.length ? undefined : after;
}

/**
 * The routes to write again: the document has what the changes ask for, but the write that brought it there has failed.
 * Throws `Busy` while that write runs.
 */
function unfinished(
  { state, routes }: TableDocument,
  permitted: readonly PendingChange<Change, AzureRoute>[],
): readonly StoredRoute[] | undefined {
  if (state === 'done' || permitted.every(({ done }) => done)) return undefined;
  if (state === 'failed') return routes;
  throw new CloudError({ kind: 'Busy', cloud, operation, message: 'a write of the route table is under way' });
}

function conflict(other: StoredRoute): CloudError {
  const hop = other.properties.nextHopIpAddress ?? other.properties.nextHopType;
  const message = `route ${other.name} leads ${prefixOf(other)} to ${hop} already`;
  return new CloudError({ kind: 'Conflict', cloud, operation, message });
}

function isThat({ name, properties }: StoredRoute, { stored }: AzureRoute): boolean {
  const hop = properties.nextHopIpAddress ?? '';
  return (
    name.toLowerCase() === stored.name.toLowerCase() &&
    normalCidr(properties.addressPrefix ?? '') === normalCidr(stored.prefix) &&
    canonical(hop) === canonical(stored.nextHop)
  );
}

function prefixOf({ properties: { addressPrefix = '' } }: StoredRoute): string {
  return normalCidr(addressPrefix) ?? addressPrefix;
}

/** The id of the network of a subnet, in lower case. */
function networkOf(subnet: string): string {
  return subnet.toLowerCase().replace(/\/subnets\/[^/]*$/, '');
}

function shown(route: StoredRoute, owners: ReadonlyMap<string, string>): AzureRoute {
  const { name, properties } = route;
  const nextHop = properties.nextHopIpAddress ?? '';
  const via = properties.nextHopType === 'VirtualAppliance' ? canonical(nextHop) : undefined;
  const vm = via && owners.get(via);
  return {
    id: name,
    destination: prefixOf(route),
    via,
    ours: undefined,
    providerID: vm === undefined ? undefined : providerId.print({ instanceId: vm }),
    // An address without a VM may be a firewall's: the API tells of a route that drops packets only by its type.
    blackhole: properties.nextHopType === 'None',
    stored: { name, prefix: properties.addressPrefix ?? '', nextHop },
  };
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
