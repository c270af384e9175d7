import ipaddr from 'ipaddr.js';
import { CloudError, type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { restOrAbort } from '../../../common/process/until.ts';
import { hetzner } from '../../../common/provider-id/hetzner.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { normalCidr } from '../ip-address.ts';
import type { ApplyOptions } from '../permit.ts';
import type { ObservedRoute, Routes } from '../routes.ts';
import { actionOf, type HetznerClient } from './client.ts';
import { cloud } from './fault.ts';
import type { Network } from './network.ts';
import { privateAddressesOf } from './servers.ts';

/** A route of a network, and the words it is stored under. */
export interface HetznerRoute extends ObservedRoute {
  readonly stored: { readonly destination: string; readonly gateway: string };
}

export interface RouteOptions {
  readonly client: HetznerClient;
  readonly clock: Clock;
  readonly network: Network;
  /** Undefined: no server that can be in a network. */
  serverIdOf(providerID: string): string | undefined;
}

const busyTries = 3;
const busyMs = 1000;
/** The network may be as asked for already, or hold what is in the way. */
const readAgainAfter: ReadonlySet<CloudErrorKind> = new Set(['Busy', 'Conflict', 'Invalid', 'NotFound', 'Taken']);

/**
 * The routes of one private network. They cannot be marked. A network takes one change at a time, so each waits for the
 * action of the one before.
 */
export function createRoutes({ client, clock, network, serverIdOf }: RouteOptions): Routes<HetznerRoute> {
  let turn: Promise<unknown> = Promise.resolve();
  let range: string | undefined;

  async function change(
    what: 'add_route' | 'delete_route',
    body: HetznerRoute['stored'],
    { permit, signal }: ApplyOptions,
  ): Promise<void> {
    const path = `/networks/${await network.id(signal)}/actions/${what}`;
    const made = turn.then(async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          const action = actionOf(await client.call({ method: 'POST', path, body, permit, signal }));
          if (action !== undefined) await client.finished(action, signal);
          return;
        } catch (error) {
          if (!isCloudError(error) || error.kind !== 'Busy' || tries === busyTries) throw error;
          await restOrAbort(clock, busyMs, signal);
        }
      }
    });
    turn = made.catch(() => {});
    await made;
  }

  async function routesNow(signal: AbortSignal | undefined): Promise<HetznerRoute['stored'][]> {
    const now = await network.read(signal);
    range = now.text('ip_range');
    return now.objects('routes').map(storedOf);
  }

  /**
   * Makes a change. Where it was refused, `isDone` says whether the network is as it should be, or throws what is in
   * the way.
   */
  async function changeUnless(
    what: 'add_route' | 'delete_route',
    route: HetznerRoute['stored'],
    options: ApplyOptions,
    isDone: (routes: readonly HetznerRoute['stored'][]) => boolean,
  ): Promise<void> {
    try {
      await change(what, route, options);
    } catch (error) {
      if (!isCloudError(error) || !readAgainAfter.has(error.kind)) throw error;
      if (!isDone(await routesNow(options.signal))) throw error;
    }
  }

  async function assertInRange(destination: string, signal: AbortSignal | undefined): Promise<void> {
    // A network can grow and never shrinks.
    if (range === undefined || !holds(range, destination)) await routesNow(signal);
    if (!holds(range!, destination)) throw invalid(`destination: ${destination}, expected a range inside ${range}`);
  }

  async function gatewayOf(serverId: string, signal: AbortSignal | undefined): Promise<string> {
    const [answer, networkId] = [await client.call({ path: `/servers/${serverId}`, signal }), await network.id(signal)];
    const here = privateAddressesOf(answer.object('server')).find((address) => address.network === networkId);
    if (here === undefined) throw invalid(`server ${serverId} is not in network ${networkId}`);
    return here.ip;
  }

  return {
    tagged: false,
    async observe(_cluster, signal) {
      // In this order: the server of a route that is seen was in the network before it.
      const routes = await routesNow(signal);
      const servers = await client.list({ path: '/servers', urgency: 'refresh', signal }, 'servers');
      const networkId = await network.id(signal);
      const owners = new Map<string, string>();
      for (const server of servers)
        for (const { network, ip, aliases } of privateAddressesOf(server))
          if (network === networkId) for (const address of [ip, ...aliases]) owners.set(address, server.id('id'));
      return { quota: undefined, routes: routes.map((stored) => shown(stored, owners.get(stored.gateway))) };
    },
    async create({ destination: text, providerID }, options) {
      const serverId = serverIdOf(providerID);
      if (serverId === undefined) throw invalid(`providerID: ${providerID}, expected a server of Hetzner Cloud`);
      const destination = rangeOf(text);
      if (destination === undefined) throw invalid(`destination: ${JSON.stringify(text)}, expected an IPv4 range`);
      await assertInRange(destination, options.signal);
      const route = { destination, gateway: await gatewayOf(serverId, options.signal) };
      await changeUnless('add_route', route, options, (routes) => {
        const same = routes.find((one) => one.destination === destination);
        if (same?.gateway === route.gateway) return true;
        const other =
          same ?? routes.find((one) => one.destination !== everywhere && meet(one.destination, destination));
        if (other === undefined) return false;
        const message = `${other.destination} is routed to ${other.gateway} already`;
        throw new CloudError({ kind: 'Conflict', cloud, operation, message });
      });
      return shown(route, serverId);
    },
    remove: ({ stored }, options) =>
      changeUnless(
        ...(['delete_route', stored, options] as const),
        (routes) => !routes.some((one) => one.destination === stored.destination && one.gateway === stored.gateway),
      ),
  };
}

const operation = 'routes';
/** A network with this route takes others all the same. */
const everywhere = '0.0.0.0/0';

function storedOf(route: AnswerFields): HetznerRoute['stored'] {
  return { destination: route.text('destination'), gateway: route.text('gateway') };
}

function shown(stored: HetznerRoute['stored'], serverId: string | undefined): HetznerRoute {
  const destination = rangeOf(stored.destination) ?? stored.destination;
  const id = `${destination}-via-${stored.gateway}`;
  const providerID = serverId === undefined ? undefined : hetzner.print({ instanceId: serverId });
  return {
    id,
    destination,
    providerID,
    via: stored.gateway,
    stored,
    blackhole: providerID === undefined,
    ours: undefined,
  };
}

/** Undefined: no IPv4 range. A network takes no others. */
function rangeOf(text: string): string | undefined {
  return ipaddr.IPv4.isValidCIDR(text) ? normalCidr(text) : undefined;
}

function holds(outer: string, inner: string): boolean {
  const [address, bits] = ipaddr.IPv4.parseCIDR(outer);
  const [first, innerBits] = ipaddr.IPv4.parseCIDR(inner);
  return bits <= innerBits && first.match(address, bits);
}

function meet(one: string, other: string): boolean {
  return holds(one, other) || holds(other, one);
}

function invalid(message: string): CloudError {
  return new CloudError({ kind: 'Invalid', cloud, operation, message });
}
