import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { prefix } from '../../../controller/clouds/hetzner/annotations.ts';
import { readConfig } from '../../../controller/clouds/hetzner/config.ts';
import { openHetzner } from '../../../controller/clouds/hetzner/index.ts';
import { kindNames } from '../../../controller/clouds/hetzner/load-balancers/balancer.ts';
import { type Labels, labelKeys, unmarked } from '../../../controller/clouds/hetzner/load-balancers/labels.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import type { Json } from '../fake-http.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem } from '../suite/world.ts';
import { balancerTypes, locations } from './fake-catalog.ts';
import { createFakeHetzner, robotUser, token } from './fake-hetzner.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeBalancer } from './fake-resources.ts';

export const hetznerCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP'],
    sourceRanges: false,
    sessionAffinity: false,
    healthChecks: false,
    uniqueNames: true,
    attach: true,
    drains: false,
    retain: true,
    refusesMembers: true,
    calls: { first: 1, further: 1, member: 1, removal: 1 },
  },
  routes: { tags: false, blackholes: true, quota: false },
  enumerateFaults: true,
};

const managedCertificate = {
  [`${prefix}protocol`]: 'https',
  [`${prefix}certificate-type`]: 'managed',
  [`${prefix}http-managed-certificate-domains`]: 'web.example.com',
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
  ROBOT_ENABLED: 'true',
  ROBOT_USER: robotUser.user,
  ROBOT_PASSWORD: robotUser.password,
  ROBOT_ENDPOINT: 'http://hetzner.test/robot',
  HCLOUD_NETWORK_ROUTES_ENABLED: 'false',
};

function inProcess(): Served {
  const clock = fakeClock();
  const fake = createFakeHetzner(clock);
  return {
    clock,
    fake,
    endpoint,
    http: fake.http,
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
    async open(wrap) {
      const variables = { HCLOUD_TOKEN: token, HCLOUD_ENDPOINT: served.endpoint, HCLOUD_NETWORK: network.name };
      const defaults = { HCLOUD_LOAD_BALANCERS_LOCATION: 'fsn1', HCLOUD_LOAD_BALANCERS_TYPE: 'lb21' };
      const config = await readConfig(undefined, { ...variables, ...defaults, ...env }, async () => undefined);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const opened = openHetzner({ config, context, wrapHttp: () => sent.http });
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
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
    inventory: async () => [
      ...network.routes.map(({ destination }) => ({ kind: 'route', name: destination })),
      ...[...fake.balancers.values()].flatMap(inventoryOf),
      ...[...fake.certificates.values()].map(({ name }) => ({ kind: 'certificate', name })),
    ],
    async createForeignLoadBalancer(name, consent) {
      const id = fake.nextId(3);
      fake.balancers.set(id, foreignBalancer(fake, id, name, labelsFor(consent)));
      return String(id);
    },
    async describeLoadBalancer(id) {
      const found = fake.balancers.get(Number(id));
      return found && JSON.stringify({ ...found, dnsPtrs: [...found.dnsPtrs] });
    },
    async deleteLoadBalancer(id) {
      for (const { ip } of fake.balancers.get(Number(id))?.privateNets ?? []) network.members.delete(ip);
      fake.balancers.delete(Number(id));
      fake.certificates.delete(Number(id));
    },
    keepsSourceRanges: false,
    examples: [{ annotations: managedCertificate }],
    async stripMarks({ kind, id }) {
      const one = kind === kindNames.certificate ? fake.certificates.get(Number(id)) : fake.balancers.get(Number(id));
      if (one === undefined) return false;
      one.labels = unmarked(one.labels as Labels);
      return true;
    },
    // Anybody can name a certificate, and a name proves nothing.
    comesBack: () => false,
    async markAsClassic({ id }, { owner }) {
      fake.balancers.get(Number(id))!.labels = { [labelKeys.classic]: owner.service };
    },
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

function inventoryOf({ name, services, targets, privateNets }: FakeBalancer): InventoryItem[] {
  return [
    { kind: 'load balancer', name },
    ...services.map(({ listen_port: port }) => ({ kind: 'service', name: `${name} ${port}` })),
    ...targets.map(({ type }) => ({ kind: 'target', name: `${name} ${type}` })),
    ...privateNets.map(() => ({ kind: 'attachment', name })),
  ];
}

function foreignBalancer(fake: FakeHetzner, id: number, name: string, labels: Json): FakeBalancer {
  return {
    id,
    name,
    labels,
    created: fake.now(),
    place: locations[0]!,
    type: balancerTypes[0]!,
    ipv4: `192.0.2.${id % 250}`,
    ipv6: `2001:db8:1b::${id.toString(16)}`,
    dnsPtrs: new Map(),
    algorithm: 'round_robin',
    isPublic: true,
    isProtected: false,
    privateNets: [],
    services: [],
    targets: [],
  };
}

/** A consent tag of other clouds, as labels. */
function labelsFor(consent: string | undefined): Json {
  if (consent === undefined) return { team: 'other' };
  const entries = consent.split(' ').map((entry) => entry.split('/'));
  const namespaces = entries.flatMap(([, namespace]) => namespace ?? []);
  const names = entries.flatMap(([, , name]) => name ?? []);
  return {
    [labelKeys.consent]: entries[0]![0],
    ...(namespaces.length > 0 && { [labelKeys.consentNamespace]: namespaces.join('.') }),
    ...(names.length > 0 && { [labelKeys.consentService]: names.join('.') }),
  };
}
