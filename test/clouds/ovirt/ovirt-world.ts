import { randomUUID } from 'node:crypto';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudContext, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/ovirt/config.ts';
import { openOvirt } from '../../../controller/clouds/ovirt/index.ts';
import type { CloudCapabilities, CloudWorld } from '../suite/world.ts';
import { createFakeOvirt, type FakeOvirt, password, user } from './fake-ovirt.ts';

export const ovirtCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
  routes: undefined,
  enumerateFaults: false,
};

export const connection = `[Connection]
uri = https://engine.test/ovirt-engine/api
username = ${user}
password = ${password}
`;

export interface OvirtWorldOptions {
  /** A whole cloud config. Default: zones are hosts, regions are data centers. */
  readonly config?: string;
  readonly context?: Partial<CloudContext>;
}

export interface OvirtWorld extends CloudWorld {
  readonly fake: FakeOvirt;
  readonly clock: FakeClock;
  open(): Promise<OpenedCloud>;
}

/** An engine as the conformance suite drives it: the client that ships, on a fake in this process. */
export function ovirtWorld(options: OvirtWorldOptions = {}): OvirtWorld {
  const { config: text = `${connection}[Labels]\nzone = host\nregion = data-center\n`, context = {} } = options;
  const fake = createFakeOvirt();
  const clock = fakeClock();
  const clients: OpenedCloud[] = [];
  const idOf = (providerID: string) => providerID.slice('ovirt://'.length);
  const none = () => Promise.reject(new Error('oVirt has none'));
  const isLogin = (path: string) => path.endsWith('/sso/oauth/token');
  return {
    cluster: randomUUID(),
    fake,
    clock,
    async open() {
      const config = await readConfig({ path: 'ovirt.conf', text }, {}, async () => undefined);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const whole = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {}, ...context };
      const client = openOvirt({ config, context: whole, wrapHttp: () => fake.http });
      clients.push(client);
      return client;
    },
    async createVm() {
      const { id, name, addresses } = fake.addVm(`node-${fake.vms.size + 1}`);
      return { name, providerID: `ovirt://${id}`, addresses: addresses.slice(0, 1), zone: 'host-1' };
    },
    async deleteVm(providerID) {
      fake.vms.delete(idOf(providerID));
    },
    async stopVm(providerID) {
      fake.vms.get(idOf(providerID))!.status = 'down';
    },
    unusedProviderID: () => `ovirt://${randomUUID()}`,
    otherScopeProviderID: () => 'ovirt://node-1',
    mutations: () => fake.calls.filter(({ method, path }) => method !== 'GET' && !isLogin(path)).length,
    refuseCredential(refused) {
      fake.refuses = refused;
      fake.endTokens();
    },
    inventory: async () => [],
    createForeignLoadBalancer: none,
    describeLoadBalancer: none,
    deleteLoadBalancer: none,
    createForeignRoute: none,
    deleteForeignRoute: none,
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async close() {
      for (const client of clients) client.close();
    },
  };
}
