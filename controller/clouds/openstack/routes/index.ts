import { CloudError } from '../../../../common/cloud-error.ts';
import { createBatches, type PendingChange } from '../../change-batches.ts';
import type { ApplyOptions } from '../../permit.ts';
import type { DesiredRoute, ObservedRoute, Routes, RouteTable } from '../../routes.ts';
import type { OpenStackClient } from '../client.ts';
import { changeAddressPairs, type PairChange } from './address-pairs.ts';
import { covers, isIpv6, normalCidr, sameAddress } from './cidr.ts';
import { createAbilities, type ReadOptions, type RouteAbilities } from './extensions.ts';
import { type HopPort, type Interfaces, interfacesOf, lets, portsAt, portsOfServers, rangesOf } from './hop-ports.ts';
import { type ExtraRoute, type Router, readRouter } from './router.ts';
import { conflictOf, sameDestination, sameRoute, type TableChange, writeTable } from './table-write.ts';

/** A route of a router, and the words it is stored under. */
export interface OpenStackRoute extends ObservedRoute {
  readonly stored: ExtraRoute;
}

export interface RouteOptions {
  readonly client: OpenStackClient;
  readonly routerId: string;
  /** Undefined: no server of this scope. */
  serverIdOf(providerID: string): string | undefined;
  providerIDOf(serverId: string): string;
}

type Change =
  | { readonly action: 'add'; readonly desired: DesiredRoute; readonly serverId: string; readonly destination: string }
  | { readonly action: 'remove'; readonly route: OpenStackRoute };
type Pending = PendingChange<Change, OpenStackRoute>;

/** The router and where it has interfaces, as they were read. */
interface View extends Interfaces {
  readonly router: Router;
}

const operation = 'routes';

/**
 * The extra routes of one router, and the allowed address pairs that let pods' packets through the ports of the next
 * hops. Neutron cannot tag routes. A route drops packets where its next hop belongs to no port, and where the port has
 * port security and its pairs lack the range.
 *
 * Creations and deletions of one moment share their calls. The pair is created before its route and deleted before it,
 * so no route stays whose pair is missing unnoticed.
 */
export function createRoutes({ client, routerId, serverIdOf, providerIDOf }: RouteOptions): Routes<OpenStackRoute> {
  const abilitiesOf = createAbilities(client);
  const ask = createBatches<Change, OpenStackRoute>('openstack', run);
  /** As last read or written. A write that is meant for its revision finds out when it is not so any more. */
  let known: View | undefined;

  async function read(options: ReadOptions): Promise<View> {
    const [router, interfaces] = await Promise.all([
      readRouter(client, routerId, options),
      interfacesOf(client, routerId, options),
    ]);
    known = { router, ...interfaces };
    return known;
  }

  async function observe(_cluster: string, signal?: AbortSignal): Promise<RouteTable<OpenStackRoute>> {
    const options = { urgency: 'refresh', signal } as const;
    const [abilities, view] = await Promise.all([abilitiesOf(options), read(options)]);
    const { router, networks } = view;
    const { routes } = router;
    const ports = await portsOfHops(
      routes.map(({ nexthop }) => nexthop),
      networks,
      options,
    );
    const byAddress = new Map(
      ports.flatMap((port) => port.addresses.map((address) => [keyOf(address), port] as const)),
    );
    return {
      quota: undefined,
      routes: routes.map((stored) => shown(stored, byAddress.get(keyOf(stored.nexthop)), abilities.addressPairs)),
    };
  }

  /** What one answer leaves out is asked for once more: a route that seems dead is taken away. */
  async function portsOfHops(
    hops: readonly string[],
    networks: ReadonlySet<string>,
    options: ReadOptions,
  ): Promise<readonly HopPort[]> {
    if (hops.length === 0) return [];
    const ports = await portsAt(client, hops, networks, options);
    const seen = new Set(ports.flatMap(({ addresses }) => addresses.map(keyOf)));
    const missing = hops.filter((hop) => !seen.has(keyOf(hop)));
    return missing.length === 0 ? ports : [...ports, ...(await portsAt(client, missing, networks, options))];
  }

  function shown(stored: ExtraRoute, port: HopPort | undefined, addressPairs: boolean): OpenStackRoute {
    const destination = normalCidr(stored.destination) ?? stored.destination;
    return {
      id: `${destination}-via-${stored.nexthop}`,
      destination,
      via: stored.nexthop,
      providerID: port?.serverId === undefined ? undefined : providerIDOf(port.serverId),
      blackhole: port === undefined || (addressPairs && !lets(port, destination)),
      ours: undefined,
      stored,
    };
  }

  async function create(desired: DesiredRoute, { permit, signal }: ApplyOptions): Promise<OpenStackRoute> {
    const serverId = serverIdOf(desired.providerID);
    if (serverId === undefined) {
      throw invalid(`providerID: ${JSON.stringify(desired.providerID)}, expected a server of this cloud`);
    }
    const destination = normalCidr(desired.destination);
    if (destination === undefined)
      throw invalid(`destination: ${JSON.stringify(desired.destination)}, expected a CIDR`);
    return ask({ action: 'add', desired, serverId, destination }, permit, signal);
  }

  async function remove(route: OpenStackRoute, { permit, signal }: ApplyOptions): Promise<void> {
    await ask({ action: 'remove', route }, permit, signal);
  }

  async function run(pending: readonly Pending[], signal: AbortSignal): Promise<void> {
    const options = { urgency: 'change', signal } as const;
    const abilities = await abilitiesOf(options);
    const { ports, ...view } = await viewFor(pending, abilities, options);
    const { router } = view;
    await refuseToBury(pending, ports, view, options);
    const table: TableChange[] = [];
    const pairs: PairChange[] = [];
    const results = new Map<Pending, OpenStackRoute>();
    const leaving = pending.flatMap(({ change }) => (change.action === 'remove' ? [change.route.stored] : []));
    const staying = router.routes.filter((there) => !leaving.some((gone) => sameRoute(gone, there)));
    for (const one of pending.filter(({ done }) => !done)) {
      const { change } = one;
      if (change.action === 'remove') {
        const { stored, destination, providerID } = change.route;
        const port = portAt(ports, stored.nexthop);
        // The address may be another's by now, with a pair of its own.
        if (port?.serverId !== undefined && providerIDOf(port.serverId) === providerID)
          pairs.push({ port, passenger: one, remove: destination });
        table.push({ action: 'remove', route: stored, passenger: one });
        results.set(one, change.route);
        continue;
      }
      const hop = hopOf(change, ports);
      if (hop === undefined) {
        one.reject(noHop(change));
        continue;
      }
      const route = { destination: change.destination, nexthop: hop.address };
      const stored = router.routes.find((there) => sameRoute(there, route)) ?? route;
      const other = conflictOf(stored, staying);
      if (other !== undefined) {
        one.reject(other);
        continue;
      }
      pairs.push({ port: hop.port, passenger: one, add: change.destination });
      table.push({ action: 'add', route: stored, passenger: one });
      results.set(one, shown(stored, { ...hop.port, guarded: false }, abilities.addressPairs));
    }
    if (abilities.addressPairs) await changeAddressPairs(client, pairs, abilities.ifMatch, signal);
    const parts = { client, routerId, abilities, signal };
    // Without revisions, what others have written while the ports were changed would be lost with a whole list.
    const current = abilities.ifMatch ? router : await readRouter(client, routerId, options);
    const written = await writeTable(parts, current, table);
    known = table.some(({ passenger }) => passenger.done) ? undefined : { ...view, router: written };
    for (const [one, result] of results) one.resolve(result);
  }

  /**
   * A route whose next hop looked dead is deleted only if the hop still has no port, in a network that the credential
   * sees: Neutron takes no next hop outside the router's networks, so one that seems outside is one that the credential
   * cannot see.
   */
  async function refuseToBury(
    pending: readonly Pending[],
    ports: readonly HopPort[],
    { subnetIds }: View,
    options: ReadOptions,
  ): Promise<void> {
    const dead = pending.flatMap((one) =>
      one.change.action === 'remove' && one.change.route.blackhole && one.change.route.providerID === undefined
        ? [{ one, hop: one.change.route.stored.nexthop }]
        : [],
    );
    if (dead.length === 0) return;
    const ranges = await rangesOf(client, subnetIds, options);
    for (const { one, hop } of dead) {
      const port = portAt(ports, hop);
      if (port !== undefined) one.reject(conflict(`next hop ${hop} is that of port ${port.id} after all`));
      else if (!ranges.some((cidr) => covers(cidr, hop))) {
        const message =
          `next hop ${hop} is in none of the networks that router ${routerId} shows: whether it is dead cannot be ` +
          'told';
        one.reject(new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation, message }));
      }
    }
  }

  /** The last read is enough where the write is bound to its revision, and where no change is skipped because of it. */
  async function viewFor(
    pending: readonly Pending[],
    { ifMatch }: RouteAbilities,
    options: { readonly urgency: 'change'; readonly signal: AbortSignal },
  ): Promise<View & { readonly ports: readonly HopPort[] }> {
    const old =
      ifMatch && known !== undefined && !pending.some((one) => isSettled(one, known?.router)) ? known : undefined;
    if (old !== undefined) {
      const ports = await portsFor(pending, old.networks, options);
      if (pending.every(({ change }) => change.action === 'remove' || hopOf(change, ports) !== undefined))
        return { ...old, ports };
    }
    const view = await read(options);
    return { ...view, ports: await portsFor(pending, view.networks, options) };
  }

  async function portsFor(
    pending: readonly Pending[],
    networks: ReadonlySet<string>,
    options: { readonly urgency: 'change'; readonly signal: AbortSignal },
  ): Promise<readonly HopPort[]> {
    const servers = pending.flatMap(({ change }) => (change.action === 'add' ? [change.serverId] : []));
    const hops = pending.flatMap(({ change }) => (change.action === 'remove' ? [change.route.stored.nexthop] : []));
    const lists = await Promise.all([
      servers.length === 0 ? [] : portsOfServers(client, servers, networks, options),
      hops.length === 0 ? [] : portsAt(client, hops, networks, options),
    ]);
    return lists.flat();
  }

  return { tagged: false, observe, create, remove };
}

/** Whether the table has what is asked for already, or another route in its way. */
function isSettled({ change }: Pending, router: Router | undefined): boolean {
  const routes = router?.routes ?? [];
  if (change.action === 'remove') return !routes.some((route) => sameRoute(route, change.route.stored));
  return routes.some((route) => sameDestination(route, { destination: change.destination, nexthop: '' }));
}

function portAt(ports: readonly HopPort[], nexthop: string): HopPort | undefined {
  return ports.find(({ addresses }) => addresses.some((address) => sameAddress(address, nexthop)));
}

const keyOf = (address: string) => normalCidr(address) ?? address;

/**
 * The server's address that the router reaches: the first of its Node's addresses on a port there, else that port's
 * first.
 */
function hopOf(
  { desired, serverId, destination }: Change & { action: 'add' },
  ports: readonly HopPort[],
): { readonly port: HopPort; readonly address: string } | undefined {
  const candidates = ports
    .filter((port) => port.serverId === serverId)
    .flatMap((port) => port.addresses.map((address) => ({ port, address })))
    .filter(({ address }) => isIpv6(address) === isIpv6(destination));
  const rank = (address: string) => {
    const at = desired.addresses.findIndex((known) => sameAddress(known, address));
    return at < 0 ? desired.addresses.length : at;
  };
  return candidates.toSorted((one, other) => rank(one.address) - rank(other.address))[0];
}

function noHop({ desired, serverId, destination }: Change & { action: 'add' }): CloudError {
  const family = isIpv6(destination) ? 'IPv6' : 'IPv4';
  return invalid(`server ${serverId} of ${desired.node} has no ${family} address in a network of the router`);
}

function conflict(message: string): CloudError {
  return new CloudError({ kind: 'Conflict', cloud: 'openstack', operation, message });
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
}
