import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { prefix } from '../../../controller/clouds/digitalocean/annotations.ts';
import { readConfig } from '../../../controller/clouds/digitalocean/config.ts';
import { openDigitalOcean } from '../../../controller/clouds/digitalocean/index.ts';
import { parseName } from '../../../controller/clouds/digitalocean/names.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem } from '../suite/world.ts';
import type { FakeAccount, FakeBalancer } from './fake/fake-account.ts';
import { createFakeDigitalOcean, token } from './fake/fake-digitalocean.ts';

export const digitalOceanCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP', 'UDP'],
    sourceRanges: true,
    sessionAffinity: false,
    // The names of ours are no names of others.
    uniqueNames: false,
    attach: false,
    drains: false,
    retain: true,
    refusesMembers: true,
    calls: { first: 1, further: 1, member: 1, removal: 1 },
  },
  routes: undefined,
  enumerateFaults: true,
};

const everySetting = Object.fromEntries(
  Object.entries({
    name: 'front',
    hostname: 'web.example.com',
    'size-unit': '2',
    'tls-passthrough': 'true',
    'http-ports': '80',
    'enable-proxy-protocol': 'true',
    'sticky-sessions-type': 'cookies',
    'sticky-sessions-cookie-name': 'lb',
    'sticky-sessions-cookie-ttl': '60',
    'deny-rules': 'ip:192.0.2.7',
    'http-idle-timeout-seconds': '90',
    'redirect-http-to-https': 'true',
    'enable-backend-keepalive': 'true',
    'network-stack': 'DUALSTACK',
    'override-health-check': '',
    'healthcheck-path': '/ready',
    network: 'EXTERNAL',
    type: 'REGIONAL',
  }).map(([name, value]) => [prefix + name, value]),
);

export interface Served {
  readonly clock: Clock;
  readonly fake: FakeAccount;
  readonly endpoint: string;
  readonly http: Http;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
}

export interface DigitalOceanWorldOptions {
  /** Beside endpoint, token and VPC. */
  readonly env?: Readonly<Record<string, string>>;
  onCall?(call: CloudCall): void;
  /** Over sockets and on the machine's clock. Default: in process and on a fake clock. */
  readonly served?: Served;
}

export interface DigitalOceanWorld extends CloudWorld {
  readonly fake: FakeAccount;
}

function inProcess(): Served {
  const clock = fakeClock();
  const fake = createFakeDigitalOcean(clock);
  return {
    clock,
    fake,
    endpoint: 'http://digitalocean.test',
    http: fake.http,
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
  };
}

/** An account of DigitalOcean as the conformance suite drives it: the client that ships. */
export function digitalOceanWorld(options: DigitalOceanWorldOptions = {}): DigitalOceanWorld {
  const { env = {}, onCall = () => {}, served = inProcess() } = options;
  const { clock, fake, http, during, pass } = served;
  const sent = sentCalls(http, (method) => method !== 'GET');
  const clients: { close(): void }[] = [];
  const idOf = (providerID: string) => Number(providerID.slice('digitalocean://'.length));
  let made = 0;

  return {
    cluster: randomUUID(),
    fake,
    during,
    pass,
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    async open(wrap) {
      const variables = { DO_ACCESS_TOKEN: token, DO_OVERRIDE_URL: served.endpoint, DO_CLUSTER_VPC_ID: fake.vpc };
      const config = await readConfig(undefined, { ...variables, ...env }, async () => undefined);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const opened = openDigitalOcean({ config, context, wrapHttp: () => sent.http });
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const { id, name, networks } = fake.addDroplet(`node-${made}`);
      const addresses = networks.v4.filter(({ type }) => type === 'private').map((one) => String(one['ip_address']));
      return { name, providerID: `digitalocean://${id}`, addresses, zone: '' };
    },
    async deleteVm(providerID) {
      fake.droplets.delete(idOf(providerID));
      for (const { wire } of fake.balancers.values())
        wire.droplet_ids = wire.droplet_ids.filter((id) => id !== idOf(providerID));
    },
    async stopVm(providerID) {
      fake.droplets.get(idOf(providerID))!.status = 'off';
    },
    unusedProviderID: () => `digitalocean://${fake.nextId()}`,
    otherScopeProviderID: () => 'hcloud://321987',
    refuseCredential(refused) {
      const body = { id: 'unauthorized', message: 'Unable to authenticate you' };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    inventory: async () => [...fake.balancers.values()].flatMap(inventoryOf),
    async createForeignLoadBalancer(name) {
      const rule = { entry_protocol: 'tcp', entry_port: 81, target_protocol: 'tcp', target_port: 30_081 };
      const body = { name, region: 'nyc3', forwarding_rules: [rule], droplet_ids: [] };
      const call = { method: 'POST', path: '/v2/load_balancers', query: new URLSearchParams() };
      fake.answer({ ...call, body, authorization: `Bearer ${token}` });
      return [...fake.balancers.keys()].at(-1)!;
    },
    async describeLoadBalancer(id) {
      const found = fake.balancers.get(id);
      return found && JSON.stringify({ ...found, status: undefined });
    },
    async deleteLoadBalancer(id) {
      fake.balancers.delete(id);
    },
    async stripMarks({ id }) {
      const one = fake.balancers.get(id);
      if (one !== undefined) one.wire.name = 'renamed-by-hand';
      return one !== undefined;
    },
    // Its name is its only mark.
    comesBack: () => false,
    async markAsClassic({ id }, { name }) {
      fake.balancers.get(id)!.wire.name = name;
    },
    examples: [{ annotations: everySetting }],
    createForeignRoute: async () => {},
    deleteForeignRoute: async () => {},
    async close() {
      for (const client of clients) client.close();
    },
  };
}

/** The name of the Service is left out of it: two runs are compared. */
function inventoryOf({ wire, tags }: FakeBalancer): InventoryItem[] {
  const mark = parseName(wire.name);
  const name = mark?.owner.service ?? wire.name;
  return [
    { kind: 'load balancer', name: `${name} ${tags.join()}` },
    ...wire.forwarding_rules.map((rule) => ({ kind: 'rule', name: `${name} ${JSON.stringify(rule)}` })),
    ...wire.droplet_ids.map(() => ({ kind: 'droplet', name })),
  ];
}
