import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/huaweicloud/config.ts';
import { openHuawei } from '../../../controller/clouds/huaweicloud/index.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld } from '../suite/world.ts';
import { accessKey, createFakeHuawei, region, vpcId } from './fake/fake-huawei.ts';
import type { FakeProject } from './fake/fake-project.ts';

export const huaweiCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
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
    ...{ REGION: region, ACCESS_KEY_ID: accessKey.id, SECRET_ACCESS_KEY: accessKey.secret, ROUTER_ID: vpcId },
    ...{ HUAWEICLOUD_ENDPOINT: endpoint, HUAWEICLOUD_METADATA_ENDPOINT: endpoint },
  };
  const config = readConfig(undefined, { ...variables, ...env });
  if ('reportOnly' in config) throw new Error(config.reportOnly);
  return config;
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
    ...{ cluster: randomUUID(), fake, clock, mutations: sent.mutations, loseAnswer: sent.loseAnswer },
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async open() {
      const config = configOf('http://huaweicloud.test', env);
      const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall };
      const opened = openHuawei({ config, context, wrapHttp: () => sent.http });
      clients.push(opened);
      return opened;
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
    inventory: async () =>
      [...fake.tables.values()].flatMap(({ routes }) =>
        routes.map(({ destination, nexthop }) => {
          return { kind: 'route', name: `${destination} ${fake.servers.get(nexthop)?.name}` };
        }),
      ),
    createForeignLoadBalancer: async () => '',
    describeLoadBalancer: async () => undefined,
    deleteLoadBalancer: async () => {},
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
