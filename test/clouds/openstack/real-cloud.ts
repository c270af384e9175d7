import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterBalancer, ClusterCloud, ClusterMachine } from '../life/life-cloud.ts';
import { type Connection, connectTo, type Json } from './connection.ts';
import { startCountingProxy } from './counting-proxy.ts';
import { serversOf } from './servers.ts';

/** What was made for one cluster, and how it is deleted: the last first. */
interface Scene {
  readonly connection: Connection;
  /** Of everything that is made. */
  readonly name: string;
  readonly undo: (() => Promise<unknown>)[];
}

interface OwnNetwork {
  readonly network: string;
  readonly subnet: string;
  /** With a gateway into `outside`, an external network. */
  readonly router: string;
  readonly outside: string;
}

/**
 * Servers in a network with a router of its own, in the OpenStack that the environment names: as it is, behind a proxy
 * that counts changes. Everything is deleted at the end, load balancers too.
 */
export async function openRealOpenStack(): Promise<ClusterCloud> {
  const connection = await connectTo(process.env);
  const name = `mooring-upgrade-${randomUUID().slice(0, 8)}`;
  const scene: Scene = { connection, name, undo: [] };
  const close = async () => {
    for (const one of scene.undo.splice(0).reverse()) await one();
  };
  try {
    const network = await createNetwork(scene);
    const nodes = await createServers(scene, network.network);
    return { ...(await cloudOf(scene, network, nodes)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function createNetwork({ connection: { call, list }, name, undo }: Scene): Promise<OwnNetwork> {
  async function make(kind: string, fields: Json): Promise<string> {
    const made = (await call('network', 'POST', `/${kind}s`, { [kind]: { name, ...fields } }))?.[kind] as Json;
    undo.push(() => call('network', 'DELETE', `/${kind}s/${String(made['id'])}`));
    return String(made['id']);
  }
  const [external] = await list('network', '/networks?router:external=true', 'networks');
  const outside = String(external?.['id']);
  const network = await make('network', {});
  const subnet = await make('subnet', { network_id: network, ip_version: 4, cidr: `10.${30 + randomInt(60)}.0.0/24` });
  const router = await make('router', { external_gateway_info: { network_id: outside } });
  const change = (action: string, body: object) => call('network', 'PUT', `/routers/${router}${action}`, body);
  await change('/add_router_interface', { subnet_id: subnet });
  undo.push(() => change('/remove_router_interface', { subnet_id: subnet }));
  undo.push(() => change('', { router: { routes: [] } }));
  return { network, subnet, router, outside };
}

/** Three, by the address of each. */
async function createServers({ connection, name, undo }: Scene, network: string) {
  const servers = serversOf(connection, network);
  const machines = new Map<unknown, ClusterMachine>();
  for (const node of [1, 2, 3].map((number) => `${name}-${number}`)) {
    const id = await servers.create(node);
    undo.push(async () => {
      await servers.delete(id);
      await servers.waitFor(id, undefined);
    });
    await servers.waitFor(id, 'ACTIVE');
    const networks = (await servers.get(id))?.['addresses'] as Record<string, { addr: string }[]>;
    machines.set(Object.values(networks).flat()[0]?.addr, { node, providerID: `openstack:///${id}` });
  }
  return machines;
}

async function cloudOf(
  { connection: { call, config, list }, undo }: Scene,
  { network, subnet, router, outside }: OwnNetwork,
  machines: ReadonlyMap<unknown, ClusterMachine>,
): Promise<Omit<ClusterCloud, 'close'>> {
  const nodeAt = (address: unknown) => machines.get(address)?.node ?? String(address);
  const balancers = () => list('load-balancer', `/lbaas/loadbalancers?vip_subnet_id=${subnet}`, 'loadbalancers');
  const floatingIps = () => list('network', `/floatingips?router_id=${router}`, 'floatingips');

  async function balancerOf(one: Json): Promise<ClusterBalancer> {
    const [listeners, pools, addresses] = await Promise.all([
      list('load-balancer', `/lbaas/listeners?load_balancer_id=${String(one['id'])}`, 'listeners'),
      list('load-balancer', `/lbaas/pools?loadbalancer_id=${String(one['id'])}`, 'pools'),
      floatingIps(),
    ]);
    const members = await Promise.all(
      pools.map((pool) => list('load-balancer', `/lbaas/pools/${String(pool['id'])}/members`, 'members')),
    );
    const floating = addresses.find((address) => address['port_id'] === one['vip_port_id']);
    return {
      members: [...new Set(members.flat().map((member) => member['address']))].map(nodeAt),
      ports: listeners.map((listener) => Number(listener['protocol_port'])),
      addresses: [String(floating?.['floating_ip_address'] ?? one['vip_address'])],
    };
  }
  // What a failed test has left.
  undo.push(async () => {
    for (const address of await floatingIps()) await call('network', 'DELETE', `/floatingips/${String(address['id'])}`);
    for (const one of await balancers())
      await call('load-balancer', 'DELETE', `/lbaas/loadbalancers/${String(one['id'])}?cascade=true`);
    while ((await balancers()).length > 0) await sleep(1000);
  });

  const proxy = await startCountingProxy(config.authUrl);
  undo.push(proxy.close);
  const readsOf = (end: string) =>
    proxy.calls.filter(({ method, path }) => method === 'GET' && path.endsWith(end)).length;
  return {
    served: {
      cloud: 'openstack',
      configText: `[Global]
use-clouds = true
auth-url = ${proxy.authUrl}
[Route]
router-id = ${router}
[LoadBalancer]
subnet-id = ${subnet}
floating-network-id = ${outside}
create-monitor = true
`,
      env: {},
    },
    services: { web: {}, inside: { 'service.beta.kubernetes.io/openstack-internal-load-balancer': 'true' } },
    machines: [...machines.values()],
    changes: () => proxy.calls.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/auth/tokens')).length,
    audits: () => Math.min(readsOf('/lbaas/loadbalancers'), readsOf(`/routers/${router}`)),
    balancers: async () => Promise.all((await balancers()).map(balancerOf)),
    async balancerParts() {
      const ports = await list('network', `/ports?network_id=${network}&device_owner=Octavia`, 'ports');
      return [...(await floatingIps()), ...ports].map(({ id }) => String(id));
    },
    async routes() {
      const found = (await call('network', 'GET', `/routers/${router}`))?.['router'] as Json;
      const all = found['routes'] as readonly { readonly destination: string; readonly nexthop: string }[];
      return all.map(({ destination, nexthop }) => `${destination} ${nodeAt(nexthop)}`);
    },
  };
}
