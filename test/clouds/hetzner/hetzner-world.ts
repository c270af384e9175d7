import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/hetzner/config.ts';
import { openHetzner } from '../../../controller/clouds/hetzner/index.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld } from '../suite/world.ts';
import { createFakeHetzner, type FakeHetzner, robotUser, token } from './fake-hetzner.ts';

export const hetznerCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
  routes: { tags: false, blackholes: true, quota: false },
  enumerateFaults: true,
};

export const endpoint = 'http://hetzner.test/v1';

export interface HetznerWorldOptions {
  /** Beside endpoint, token and network. */
  readonly env?: Readonly<Record<string, string>>;
  onCall?(call: CloudCall): void;
  /** Fills the project before the first call. */
  prepare?(fake: FakeHetzner): void;
  /** Over sockets and on the machine's clock. Default: in process and on a fake clock. */
  readonly served?: Served;
}

export interface Served {
  readonly clock: Clock;
  readonly fake: FakeHetzner;
  readonly endpoint: string;
  readonly http: Http;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
}

export interface HetznerWorld extends CloudWorld {
  readonly fake: FakeHetzner;
  readonly networkId: number;
}

/** The variables that dedicated servers of the fake are served with. */
export const withRobot = {
  ...{ ROBOT_ENABLED: 'true', ROBOT_USER: robotUser.user, ROBOT_PASSWORD: robotUser.password },
  ...{ ROBOT_ENDPOINT: 'http://hetzner.test/robot', HCLOUD_NETWORK_ROUTES_ENABLED: 'false' },
};

function inProcess(): Served {
  const clock = fakeClock();
  const fake = createFakeHetzner(clock);
  return {
    ...{ clock, fake, endpoint, http: fake.http },
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
  };
}

/** A project of Hetzner Cloud as the conformance suite drives it: the client that ships. */
export function hetznerWorld(options: HetznerWorldOptions = {}): HetznerWorld {
  const { env = {}, onCall = () => {}, prepare, served = inProcess() } = options;
  const { clock, fake, http, during, pass } = served;
  const network = fake.addNetwork('k8s');
  prepare?.(fake);
  const cluster = randomUUID();
  const sent = sentCalls(http, (method) => method !== 'GET');
  const clients: { close(): void }[] = [];
  const idOf = (providerID: string) => Number(providerID.slice(providerID.lastIndexOf('/') + 1));
  let made = 0;

  return {
    cluster,
    fake,
    networkId: network.id,
    async open() {
      const variables = { HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: served.endpoint, HCLOUD_NETWORK: network.name, ...env };
      const config = await readConfig(undefined, variables, async () => undefined);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const client = openHetzner({ config, context, wrapHttp: () => sent.http });
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const { id, name, ipv4, privateNets } = fake.addServer(`node-${made}`, { network: network.id });
      const addresses = [privateNets[0]!.ip];
      assert.ok(ipv4);
      return { name, providerID: `hcloud://${id}`, addresses, zone: 'fsn1-dc14' };
    },
    deleteVm: async (providerID) => fake.deleteServer(idOf(providerID)),
    async stopVm(providerID) {
      fake.servers.get(idOf(providerID))!.status = 'off';
    },
    unusedProviderID: () => `hcloud://${fake.nextId()}`,
    otherScopeProviderID: () => 'hrobot://321987',
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    refuseCredential(refused) {
      const body = { error: { code: 'unauthorized', message: 'unable to authenticate' } };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    inventory: async () => network.routes.map(({ destination }) => ({ kind: 'route', name: destination })),
    createForeignLoadBalancer: () => assert.fail('no load balancers here yet'),
    describeLoadBalancer: async () => undefined,
    deleteLoadBalancer: async () => {},
    async createForeignRoute(destination, vm) {
      network.routes = [...network.routes, { destination, gateway: vm.addresses[0]! }];
    },
    async deleteForeignRoute(destination) {
      network.routes = network.routes.filter((route) => route.destination !== destination);
    },
    routesLeft(count) {
      fake.maxRoutes = count === undefined ? 100 : network.routes.length + count;
    },
    during,
    pass,
    async close() {
      for (const client of clients) client.close();
    },
  };
}
