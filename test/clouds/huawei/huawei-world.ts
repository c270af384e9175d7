import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { prefix } from '../../../controller/clouds/huaweicloud/annotations.ts';
import { readConfig } from '../../../controller/clouds/huaweicloud/config.ts';
import { openHuawei } from '../../../controller/clouds/huaweicloud/index.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem } from '../suite/world.ts';
import type { FakeBalancing } from './fake/fake-balancing.ts';
import { deleteBalancer, makeBalancer, showBalancer } from './fake/fake-elb-balancers.ts';
import { accessKey, createFakeHuawei, region, subnet, vpcId } from './fake/fake-huawei.ts';
import type { FakeProject } from './fake/fake-project.ts';

export const huaweiCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP', 'UDP'],
    sourceRanges: true,
    sessionAffinity: true,
    uniqueNames: false,
    attach: false,
    drains: true,
    retain: true,
    refusesMembers: false,
    calls: { first: 10, further: 10, member: 2, removal: 2 },
  },
  routes: { tags: true, blackholes: true, quota: false },
  enumerateFaults: true,
};

export interface Served {
  readonly clock: Clock;
  readonly fake: FakeProject;
  readonly endpoint: string;
  readonly http: Http;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
}

export interface HuaweiWorldOptions {
  /** Beside endpoint, region and access key. */
  readonly env?: Readonly<Record<string, string>>;
  onCall?(call: CloudCall): void;
}

export interface HuaweiWorld extends CloudWorld {
  readonly fake: FakeProject;
  readonly clock: Clock;
}

export function configOf(endpoint: string, env: Readonly<Record<string, string>> = {}) {
  const variables = {
    REGION: region,
    ACCESS_KEY_ID: accessKey.id,
    SECRET_ACCESS_KEY: accessKey.secret,
    ROUTER_ID: vpcId,
    HUAWEICLOUD_ENDPOINT: endpoint,
    HUAWEICLOUD_METADATA_ENDPOINT: endpoint,
  };
  const config = readConfig(undefined, { ...variables, ...env });
  if ('reportOnly' in config) throw new Error(config.reportOnly);
  return config;
}

const annotated = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [prefix + name, value]));
const everySetting = annotated({
  'eip-auto-create-option': '{"bandwidth_size":5}',
  'keep-eip': 'false',
  'lb-algorithm': 'LEAST_CONNECTIONS',
  'session-affinity-flag': 'on',
  'session-affinity-option': '{"type":"SOURCE_IP","persistence_timeout":15}',
  'health-check-option': '{"delay":10,"timeout":5,"max_retries":4}',
  'availability-zones': `${region}a;${region}b`,
  'subnet-id': subnet.id,
  'idle-timeout': '600',
  'enable-cross-vpc': 'true',
});
const sharedSetting = annotated({
  class: 'shared',
  'eip-auto-create-option': '{"share_type":"WHOLE","share_id":"bandwidth-1"}',
  'enable-transparent-client-ip': 'true',
  'health-check-flag': 'off',
});
const webSetting = annotated({
  'x-forwarded-host': 'true',
  'default-tls-container-ref': '0b0a2b5d5f2d1c4a',
  'request-timeout': '30',
  'response-timeout': '90',
  'session-affinity-flag': 'on',
  'l4-flavor-id': 'l4',
  'l7-flavor-id': 'l7',
});

/** Names and ids of Services are left out: two runs are compared. */
function balancingOf(all: FakeBalancing): InventoryItem[] {
  const { loadbalancers, listeners, pools, members, healthmonitors, ipgroups, eips } = all;
  return [
    ...[...loadbalancers.values()].map((one) => ({ kind: 'load balancer', name: String(one['guaranteed']) })),
    ...[...listeners.values()].map((one) => ({ kind: 'listener', name: `${one['protocol']} ${one['protocol_port']}` })),
    ...[...pools.values()].map((one) => {
      const count = [...members.values()].filter((each) => each.pool === one.id).length;
      return { kind: 'pool', name: `${one['protocol']} ${count}` };
    }),
    ...[...healthmonitors.values()].map((one) => ({ kind: 'monitor', name: String(one['type']) })),
    ...[...ipgroups.values()].map((one) => ({ kind: 'IP group', name: JSON.stringify(one['ip_list']) })),
    ...[...eips.values()].map(({ on, alias }) => ({ kind: 'EIP', name: `${on !== ''} ${alias.slice(0, 8)}` })),
  ];
}

/** A project of Huawei Cloud as the conformance suite drives it: the client that ships. */
export function huaweiWorld({ env = {}, onCall = () => {} }: HuaweiWorldOptions = {}): HuaweiWorld {
  const clock = fakeClock();
  const fake = createFakeHuawei(clock);
  const sent = sentCalls(fake.http, (method) => method !== 'GET' && method !== undefined);
  const clients: { close(): void }[] = [];
  const idOf = (providerID: string) => providerID.replace('huaweicloud://', '');
  let made = 0;

  return {
    cluster: randomUUID(),
    fake,
    clock,
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async open(wrap) {
      const config = configOf('http://huaweicloud.test', env);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const opened = openHuawei({ config, context, wrapHttp: () => sent.http });
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const { id, name, address, zone } = fake.addServer(`node-${made}`);
      return { name, providerID: `huaweicloud://${id}`, addresses: [address], zone };
    },
    async deleteVm(providerID) {
      fake.servers.delete(idOf(providerID));
    },
    async stopVm(providerID) {
      fake.servers.get(idOf(providerID))!.status = 'SHUTOFF';
    },
    unusedProviderID: () => `huaweicloud://${randomUUID()}`,
    otherScopeProviderID: () => 'hcloud://321987',
    refuseCredential(refused) {
      const body = { error_code: 'APIGW.0301', error_msg: 'Incorrect IAM authentication information', request_id: 'r' };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    routesLeft(count) {
      const used = Math.max(...[...fake.tables.values()].map(({ routes }) => routes.length));
      fake.maxRoutes = count === undefined ? 200 : used + count;
    },
    inventory: async () => [
      ...[...fake.tables.values()].flatMap(({ routes }) =>
        routes.map(({ destination, nexthop }) => {
          return { kind: 'route', name: `${destination} ${fake.servers.get(nexthop)?.name}` };
        }),
      ),
      ...balancingOf(fake.balancing),
    ],
    async createForeignLoadBalancer(name) {
      const body = { name, vip_subnet_cidr_id: subnet.neutron, availability_zone_list: [`${region}a`] };
      return makeBalancer(fake, body).id;
    },
    async describeLoadBalancer(id) {
      const one = fake.balancing.loadbalancers.get(id);
      return one && JSON.stringify(showBalancer(fake.balancing, one));
    },
    async deleteLoadBalancer(id) {
      const { loadbalancers, eips, ipgroups } = fake.balancing;
      const one = loadbalancers.get(id);
      if (one !== undefined) deleteBalancer(fake.balancing, one, true);
      eips.delete(id);
      ipgroups.delete(id);
    },
    async stripMarks({ id }) {
      const { loadbalancers, eips, ipgroups } = fake.balancing;
      const one = loadbalancers.get(id) ?? ipgroups.get(id);
      const eip = eips.get(id);
      if (one !== undefined) one['description'] = '';
      if (eip !== undefined) eip.alias = '';
      return one !== undefined || eip !== undefined;
    },
    async markAsClassic({ id }, { service, clusterName }) {
      const [namespace, name] = service.split('/');
      const one = fake.balancing.loadbalancers.get(id)!;
      one['name'] = `k8s_service_${clusterName}_${namespace}_${name}`;
      one['description'] = `Created by the ELB service(${service}) of the k8s cluster(${clusterName}).`;
    },
    examples: [{ annotations: everySetting }, { annotations: sharedSetting }, { annotations: webSetting }],
    async createForeignRoute(destination, vm) {
      const route = { type: 'ecs', destination, nexthop: idOf(vm.providerID), description: 'by hand' };
      for (const table of fake.tables.values()) table.routes.push(route);
    },
    async deleteForeignRoute(destination) {
      for (const table of fake.tables.values())
        table.routes = table.routes.filter((one) => one.destination !== destination);
    },
    async close() {
      for (const client of clients) client.close();
    },
  };
}
