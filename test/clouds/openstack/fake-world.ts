import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import { HttpFailure } from '../../../common/process/http.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import type { CloudWorld } from '../suite/world.ts';
import { createFakeOpenStack, fakeHttp, password } from './fake/fake-openstack.ts';
import type { FakeOpenStack } from './fake/openstack-state.ts';
import { type OctaviaWorld, type OpenStackBehind, openStackWorld } from './openstack-world.ts';

export const routerId = '00000000-0000-4000-8000-0000000000a1';
export const networkId = '00000000-0000-4000-8000-0000000000a2';
export const subnetId = '00000000-0000-4000-8000-0000000000a3';

/** Puts a network, a router in it and an external network into a fake OpenStack. */
export function fakeOpenStack(fake = createFakeOpenStack()): FakeOpenStack {
  fake.networks.set(networkId, 'k8s-net');
  fake.subnets.push({ id: subnetId, networkId, cidr: '10.20.0.0/16', name: 'k8s-subnet' });
  fake.networks.set('net-public', 'public');
  fake.externalNetworks.add('net-public');
  fake.subnets.push({ id: 'subnet-public', networkId: 'net-public', cidr: '203.0.113.0/24', name: 'public-subnet' });
  fake.routers.set(routerId, { id: routerId, routes: [], revision: 1 });
  fake.ports.push({
    id: 'router-port',
    deviceId: routerId,
    networkId,
    subnetId,
    ips: ['10.20.0.1'],
    deviceOwner: 'network:router_interface',
    portSecurity: false,
  });
  return fake;
}

export interface FakeWorldOptions {
  /** `false`: Neutron takes whole lists of routes alone. */
  readonly atomic?: boolean;
  /** Follows [Global] and [Route]. */
  readonly config?: string;
  octavia(fake: FakeOpenStack, cluster: string, clock: Clock): OctaviaWorld;
  onCall?(call: CloudCall): void;
}

/** In process and on a fake clock. */
export function fakeOpenStackWorld({ atomic = true, config = '', octavia, onCall }: FakeWorldOptions): CloudWorld {
  const clock = fakeClock();
  const fake = fakeOpenStack();
  if (!atomic) fake.extensions.splice(fake.extensions.indexOf('extraroute-atomic'), 1);
  const cluster = randomUUID();
  const text = `[Global]
auth-url = ${fake.authUrl}
username = k8s
password = ${password}
domain-name = Default
tenant-name = k8s
region = RegionOne
[Route]
router-id = ${routerId}
${config}`;
  const inner = fakeHttp(fake);
  return openStackWorld({
    cluster,
    behind: behindOf(fake),
    octavia: octavia(fake, cluster, clock),
    clock,
    env: {},
    onCall,
    file: { path: 'cloud.conf', text },
    readText: async () => undefined,
    /** An answer that never comes ends with the time of the request. */
    http: (request) =>
      new Promise((resolve, reject) => {
        const timer = clock.setTimer(request.timeoutMs, () =>
          reject(new HttpFailure('timeout', `no answer within ${request.timeoutMs} ms`)),
        );
        const end = () => timer.cancel();
        inner(request).then(resolve, reject).finally(end);
      }),
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    close: () => fake.close(),
  });
}

function behindOf(fake: FakeOpenStack): OpenStackBehind {
  const router = fake.routers.get(routerId);
  assert.ok(router);
  let hosts = 10;
  const write = (routes: typeof router.routes) => {
    router.routes = routes;
    router.revision += 1;
  };
  return {
    async createVm(name) {
      const id = randomUUID();
      hosts += 1;
      const address = `10.20.${Math.floor(hosts / 250)}.${hosts % 250}`;
      const flavor = { id: 'f1', name: 'm1.small' };
      const addresses = { 'k8s-net': [{ addr: address, type: 'fixed' as const }] };
      fake.servers.set(id, { id, name, status: 'ACTIVE', zone: 'nova', flavor, addresses });
      fake.ports.push({ id: `port-${id}`, deviceId: id, networkId, subnetId, ips: [address] });
      return { name, providerID: `openstack:///${id}`, addresses: [address], zone: 'nova' };
    },
    async deleteVm(id) {
      fake.servers.delete(id);
      for (const [at, port] of [...fake.ports.entries()].reverse()) if (port.deviceId === id) fake.ports.splice(at, 1);
    },
    async stopVm(id) {
      const server = fake.servers.get(id);
      assert.ok(server);
      fake.servers.set(id, { ...server, status: 'SHUTOFF' });
    },
    refuseCredential(refused) {
      fake.fault = refused
        ? (_, response) => {
            response.writeHead(401, { 'content-type': 'application/json' });
            response.end(JSON.stringify({ error: { code: 401, message: 'The request requires authentication.' } }));
            return 'answered';
          }
        : undefined;
    },
    routes: async () => router.routes,
    addRoute: async (destination, nexthop) => write([...router.routes, { destination, nexthop }]),
    removeRoute: async (destination) => write(router.routes.filter((route) => route.destination !== destination)),
    routesLeft(count) {
      fake.maxRoutes = count === undefined ? 30 : router.routes.length + count;
    },
  };
}
