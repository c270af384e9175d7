import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { networkClass, prefix } from '../../../controller/clouds/alibaba/annotations.ts';
import { hostnameTag } from '../../../controller/clouds/alibaba/clb/desire.ts';
import { classicTags } from '../../../controller/clouds/alibaba/clb/found.ts';
import { readConfig } from '../../../controller/clouds/alibaba/config.ts';
import { openAlibaba } from '../../../controller/clouds/alibaba/index.ts';
import type { CloudCall, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { port } from '../suite/desired.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem } from '../suite/world.ts';
import { accessKey, createFakeAlibaba } from './fake/fake-alibaba.ts';
import type { FakeBalancer, FakeRegion } from './fake/fake-region.ts';

/** In the world with load balancers of the other type. */
function elsewhere(...kinds: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(kinds.map((kind) => [kind, 'test/clouds/alibaba/conformance.test.ts']));
}

export const alibabaCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP', 'UDP'],
    sourceRanges: true,
    sessionAffinity: true,
    uniqueNames: false,
    attach: false,
    drains: true,
    retain: true,
    refusesMembers: true,
    createdElsewhere: elsewhere('NLB server group', 'servers', 'NLB listener'),
    calls: { first: 9, further: 7, member: 2, removal: 1 },
  },
  routes: { tags: false, blackholes: false, quota: false },
  enumerateFaults: true,
};

export const networkCapabilities: CloudCapabilities = {
  ...alibabaCapabilities,
  loadBalancers: {
    ...alibabaCapabilities.loadBalancers!,
    sourceRanges: false,
    createdElsewhere: elsewhere('server group', 'listener', 'access list'),
    calls: { first: 7, further: 7, member: 2, removal: 3 },
  },
  routes: undefined,
  faultStride: 2,
};

export interface AlibabaWorldOptions {
  /** Beside the key, the region and the endpoints. */
  readonly env?: Readonly<Record<string, string>>;
  readonly keyless?: boolean;
  onCall?(call: CloudCall): void;
  readText?(path: string): Promise<string | undefined>;
  prepare?(fake: FakeRegion): void;
  /** Every Service is of the class of Network Load Balancers, in two zones. */
  readonly isNetwork?: boolean;
}

export interface AlibabaWorld extends CloudWorld {
  readonly fake: FakeRegion;
  readonly clock: Clock;
}

export const zoneMaps = 'cn-hangzhou-h:vsw-bp1a,cn-hangzhou-k:vsw-bp1b';
const endpoint = 'http://alibaba.test';
export const endpoints = (url: string) =>
  Object.fromEntries(
    ['ECS_ENDPOINT', 'VPC_ENDPOINT', 'SLB_ENDPOINT', 'NLB_ENDPOINT', 'STS_ENDPOINT', 'MOORING_ALIBABA_METADATA'].map(
      (name) => [name, url],
    ),
  );
const key = { ACCESS_KEY_ID: accessKey.id, ACCESS_KEY_SECRET: accessKey.secret };

const everySetting = Object.fromEntries(
  Object.entries({
    name: 'front',
    hostname: 'web.example.com',
    'address-type': 'intranet',
    'delete-protection': 'on',
    'additional-resource-tags': 'team=shop,tier=web',
    'protocol-port': 'https:443,http:80,http:8080',
    'cert-id': '1234567890_cert',
    'forward-port': '80:443',
    scheduler: 'wlc',
    'proxy-protocol': 'on',
    'persistence-timeout': '1800',
    'established-timeout': '300',
    'sticky-session': 'on',
    spec: 'slb.s2.small',
    'sticky-session-type': 'insert',
    'cookie-timeout': '1800',
    'idle-timeout': '30',
    'request-timeout': '90',
    'health-check-flag': 'on',
    'health-check-uri': '/ready',
    'health-check-interval': '5',
    'xforwardedfor-proto': 'on',
    'http2-enabled': 'off',
    'instance-charge-type': 'PayBySpec',
    'modification-protection': 'ConsoleProtection',
    'tls-cipher-policy': 'tls_cipher_policy_1_2',
  }).map(([name, value]) => [prefix + name, value]),
);

const everyNetworkSetting = Object.fromEntries(
  Object.entries({
    name: 'front',
    hostname: 'web.example.com',
    'address-type': 'intranet',
    'delete-protection': 'on',
    'additional-resource-tags': 'team=shop,tier=web',
    'protocol-port': 'tcpssl:443',
    'cert-id': '123-cn',
    scheduler: 'wlc',
    'proxy-protocol': 'on',
    'idle-timeout': '300',
    cps: '1000',
    'connection-drain': 'on',
    'connection-drain-timeout': '60',
    'preserve-client-ip': 'off',
    'security-group-ids': 'sg-bp1a,sg-bp1b',
    'tls-cipher-policy': 'tls_cipher_policy_1_2',
    'health-check-flag': 'on',
    'health-check-type': 'http',
    'health-check-uri': '/ready',
    'health-check-interval': '5',
    'ppv2-pvl-vpc-id-enabled': 'on',
    'modification-protection': 'ConsoleProtection',
    cacert: 'off',
  }).map(([name, value]) => [prefix + name, value]),
);

/** The driver, for Services that are all of the class of Network Load Balancers. */
function ofNetworkClass(opened: OpenedCloud): OpenedCloud {
  const { loadBalancerDriver: driver } = opened;
  const annotations = { [`${prefix}zone-maps`]: zoneMaps };
  return {
    ...opened,
    loadBalancerDriver: driver && {
      ...driver,
      desire: ({ desired, ...input }) =>
        driver.desire({
          ...input,
          desired: {
            ...desired,
            loadBalancerClass: networkClass,
            annotations: { ...annotations, ...desired.annotations },
          },
        }),
    },
  };
}

function networkInventoryOf({ networks, networkGroups }: FakeRegion): InventoryItem[] {
  return [
    ...[...networks.values()].flatMap(({ wire, listeners }) => [
      { kind: 'network load balancer', name: String(wire['AddressType']) },
      ...[...listeners.values()].map((one) => ({ kind: 'listener', name: String(one.wire['ListenerPort']) })),
    ]),
    ...[...networkGroups.values()].map(({ wire, servers }) => {
      return { kind: 'server group', name: `${String(wire['ServerGroupName']).split('.')[1]} ${servers.length}` };
    }),
  ];
}

/** Names and ids of Services are left out: two runs are compared. */
function inventoryOf({ wire, listeners, groups }: FakeBalancer): InventoryItem[] {
  const name = String(wire['AddressType']);
  return [
    { kind: 'load balancer', name },
    ...[...listeners.keys()].map((key) => ({ kind: 'listener', name: `${name} ${key}` })),
    ...[...groups.values()].map((one) => ({ kind: 'group', name: `${one.name.split('/')[1]} ${one.servers.length}` })),
  ];
}

const isMutating = (action: string) => !/^(Describe|List|Get|AssumeRole)/.test(action);

/** A region of Alibaba Cloud as the conformance suite drives it: the client that ships. */
export function alibabaWorld(options: AlibabaWorldOptions = {}): AlibabaWorld {
  const { env = {}, keyless = false, isNetwork = false, onCall = () => {}, readText = async () => undefined } = options;
  const clock = fakeClock();
  const fake = createFakeAlibaba(clock);
  options.prepare?.(fake);
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  let action = '';
  const sent = sentCalls(fake.http, () => isMutating(action));
  // The action is in a header, which the counter of calls does not see.
  const http: Http = (request) => {
    action = request.headers?.['x-acs-action'] ?? 'Get';
    return sent.http(request);
  };
  const clients: { close(): void }[] = [];
  const idOf = (providerID: string) => providerID.slice('cn-hangzhou.'.length);
  let made = 0;

  return {
    cluster: randomUUID(),
    fake,
    clock,
    during,
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    pass: (ms) => clock.advance(ms),
    async open(wrap) {
      const variables = { ...endpoints(endpoint), ...(keyless ? {} : { ...key, REGION: fake.id, VPC_ID: fake.vpc }) };
      const config = await readConfig(undefined, { ...variables, ...env }, readText);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(clients.length + 1), log: silentLog, env: {}, onCall };
      const bare = openAlibaba({ config, context, readText, wrapHttp: () => http });
      const opened = isNetwork ? ofNetworkClass(bare) : bare;
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const { id, name, address, zone } = fake.addInstance(`node-${made}`);
      return { name, providerID: `cn-hangzhou.${id}`, addresses: [address], zone };
    },
    async deleteVm(providerID) {
      fake.instances.delete(idOf(providerID));
      for (const { groups } of fake.balancers.values())
        for (const group of groups.values())
          group.servers = group.servers.filter((one) => one['ServerId'] !== idOf(providerID));
      for (const group of fake.networkGroups.values())
        group.servers = group.servers.filter((one) => one['ServerId'] !== idOf(providerID));
    },
    async stopVm(providerID) {
      fake.instances.get(idOf(providerID))!.status = 'Stopped';
    },
    unusedProviderID: () => `cn-hangzhou.${fake.nextId('i')}`,
    otherScopeProviderID: () => 'cn-beijing.i-bp1other',
    refuseCredential(refused) {
      if (refused) fake.keys.delete(accessKey.id);
      else fake.keys.set(accessKey.id, { secret: accessKey.secret });
    },
    inventory: async () => [
      ...[...fake.routeTables.values()].flat().map((one) => ({ kind: 'route', name: one.destination })),
      ...[...fake.lists.values()].map(({ entries }) => ({ kind: 'access list', name: entries.join() })),
      ...[...fake.balancers.values()].flatMap(inventoryOf),
      ...networkInventoryOf(fake),
    ],
    async createForeignLoadBalancer(name) {
      if (isNetwork) {
        const id = fake.nextId('nlb');
        const wire = { LoadBalancerName: name, DNSName: `${id}.test`, AddressType: 'Internet' };
        fake.networks.set(id, { id, wire, tags: new Map(), listeners: new Map(), readyAtMs: 0, busyUntil: 0 });
        return id;
      }
      const id = fake.nextId('lb');
      const wire = {
        LoadBalancerName: name,
        Address: '121.40.99.99',
        AddressType: 'internet',
        DeleteProtection: 'off',
      };
      const parts = { listeners: new Map(), groups: new Map(), tags: new Map(), busyUntil: 0 };
      fake.balancers.set(id, { id, wire, ...parts });
      return id;
    },
    describeLoadBalancer: async (id) => {
      const network = fake.networks.get(id);
      if (network !== undefined) return JSON.stringify([network.wire, [...network.tags], [...network.listeners]]);
      const { wire, tags, listeners, groups } = fake.balancers.get(id) ?? {};
      return wire && JSON.stringify([wire, [...tags!], [...listeners!], [...groups!]]);
    },
    async deleteLoadBalancer(id) {
      fake.balancers.delete(id);
      fake.lists.delete(id);
      fake.networks.delete(id);
    },
    async stripMarks({ id }) {
      const one = fake.balancers.get(id) ?? fake.lists.get(id) ?? fake.networks.get(id) ?? fake.networkGroups.get(id);
      for (const key of [...(one?.tags.keys() ?? [])]) if (key.startsWith('mooring.dev/')) one!.tags.delete(key);
      return one !== undefined;
    },
    async markAsClassic({ id }, { name }) {
      const tags = [
        ['kubernetes.do.not.delete', name],
        ['ack.aliyun.com', 'clusterid'],
      ] as const;
      (fake.balancers.get(id) ?? fake.networks.get(id)!).tags = new Map(tags);
      const ours = [...fake.networkGroups.values()].filter((one) => one.tags.get(tags[0][0]) === name);
      for (const group of ours) group.tags = new Map(tags);
    },
    keepsSourceRanges: !isNetwork,
    tagging: {
      annotation: `${prefix}additional-resource-tags`,
      reserved: [...Object.values(ownerTags), ...Object.values(classicTags), hostnameTag],
    },
    examples: [
      {
        annotations: isNetwork ? everyNetworkSetting : everySetting,
        ports: [port(80, 30_080), port(443, 30_443), port(8080, 30_081), port(53, 30_053, { protocol: 'UDP' })],
      },
    ],
    async createForeignRoute(destination, vm) {
      const entry = { id: fake.nextId('rte'), destination, nextHop: idOf(vm.providerID), type: 'Instance' } as const;
      for (const table of fake.routeTables.values()) table.push(entry);
    },
    async deleteForeignRoute(destination) {
      for (const [id, table] of fake.routeTables)
        fake.routeTables.set(
          id,
          table.filter((one) => one.destination !== destination),
        );
    },
    routesLeft(count) {
      const used = Math.max(...[...fake.routeTables.values()].map((table) => table.length));
      fake.maxEntries = count === undefined ? 200 : used + count;
    },
    async close() {
      for (const client of clients) client.close();
    },
  };
}
