import { randomUUID } from 'node:crypto';
import { sleep, systemClock } from '../../../common/process/clock.ts';
import { createHttp, type HttpRequest } from '../../../common/process/http.ts';
import type { CloudWorld } from '../suite/world.ts';
import { type Connection, connectTo, type Json, readText } from './connection.ts';
import { type OctaviaWorld, type OpenStackBehind, openStackWorld } from './openstack-world.ts';
import { type Servers, serversOf } from './servers.ts';

export interface RealWorldOptions {
  /** Follows [Route]. */
  readonly config?: string;
  octavia(connection: Connection, cluster: string): OctaviaWorld;
}

/**
 * The OpenStack that the environment names. Creates servers of its own there, and routes in a router of their network.
 */
export async function realOpenStackWorld({ config = '', octavia }: RealWorldOptions): Promise<CloudWorld> {
  const connection = await connectTo(process.env);
  const router = await firstRouter(connection);
  const cluster = randomUUID();
  const clock = systemClock();
  const { http, close } = createHttp({ clock, plain: { keepAlive: true, maxSockets: 48 } });
  let refused = false;
  const world = openStackWorld({
    cluster,
    behind: {
      ...behindOf(connection, serversOf(connection), router),
      refuseCredential: (now) => {
        refused = now;
      },
    },
    octavia: octavia(connection, cluster),
    file: { path: 'cloud.conf', text: `[Global]\nuse-clouds = true\n[Route]\nrouter-id = ${router}\n${config}` },
    env: process.env,
    clock,
    readText,
    http: (request) => http(refused ? withWrongSecrets(request) : request),
    during: (work) => work,
    pass: (ms) => sleep(clock, ms),
    close: async () => close(),
  });
  return world;
}

/** Keystone itself refuses it then. */
function withWrongSecrets(request: HttpRequest): HttpRequest {
  const { headers, body } = request;
  return {
    ...request,
    ...(headers && { headers: { ...headers, 'x-auth-token': 'nobody' } }),
    ...(body !== undefined && { body: body.replace(/"(password|secret)":"[^"]*"/g, '"$1":"wrong"') }),
  };
}

/** A router that has an interface in a network of ours. */
export async function firstRouter({ list }: Connection): Promise<string> {
  const ports = await list('network', '/ports?device_owner=network:router_interface', 'ports');
  const [port] = ports;
  if (port === undefined) throw new Error('no router has an interface here');
  return String(port['device_id']);
}

function behindOf({ call }: Connection, servers: Servers, router: string): OpenStackBehind {
  const routes = async () => {
    const answer = (await call('network', 'GET', `/routers/${router}`))?.['router'] as Json;
    return answer['routes'] as { destination: string; nexthop: string }[];
  };
  const change = (action: string, some: readonly unknown[]) =>
    call('network', 'PUT', `/routers/${router}/${action}`, { router: { routes: some } });
  return {
    async createVm(name) {
      const id = await servers.create(name);
      await servers.waitFor(id, 'ACTIVE');
      const server = await servers.get(id);
      const networks = Object.values(server?.['addresses'] as Record<string, { addr: string }[]>);
      const zone = String(server?.['OS-EXT-AZ:availability_zone']);
      return { name, providerID: `openstack:///${id}`, addresses: networks.flat().map(({ addr }) => addr), zone };
    },
    async deleteVm(id) {
      await servers.delete(id);
      await servers.waitFor(id, undefined);
    },
    async stopVm(id) {
      await servers.action(id, 'os-stop');
      await servers.waitFor(id, 'SHUTOFF');
    },
    routes,
    async addRoute(destination, nexthop) {
      await change('add_extraroutes', [{ destination, nexthop }]);
    },
    async removeRoute(destination) {
      await change(
        'remove_extraroutes',
        (await routes()).filter((route) => route.destination === destination),
      );
    },
  };
}
