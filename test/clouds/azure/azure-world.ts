import { randomUUID } from 'node:crypto';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { readConfig } from '../../../controller/clouds/azure/config.ts';
import { openAzure } from '../../../controller/clouds/azure/index.ts';
import type { CloudCall, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld } from '../suite/world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import { type VmOptions, zoneOf } from './fake/fake-machines.ts';
import { type FakeTable, type FakeVm, location, subscription, tenant } from './fake/fake-state.ts';

export const azureCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
  routes: { tags: false, blackholes: false, quota: false },
  enumerateFaults: true,
};

export const endpoint = 'http://management.azure.test';

/** What the classic controller's azure.json says in these worlds. */
export const azureJson = {
  ...{ cloud: 'AzurePublicCloud', resourceManagerEndpoint: endpoint, tenantId: tenant, subscriptionId: subscription },
  ...{ resourceGroup: 'RG', location, vmType: 'vmss', routeTableName: 'pods' },
  ...{ aadClientId: application.clientId, aadClientSecret: application.secret },
};

export interface AzureWorldOptions {
  /** Beside azureJson. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  onCall?(call: CloudCall): void;
}

export interface AzureWorld extends CloudWorld {
  readonly clock: FakeClock;
  readonly fake: FakeAzure;
  readonly table: FakeTable;
  open(): Promise<OpenedCloud>;
  addVm(options?: VmOptions): FakeVm;
}

/** A subscription as the conformance suite drives it: VMs of each kind in turn, and the client that ships. */
export function azureWorld({ json = {}, env = {}, files = {}, onCall = () => {} }: AzureWorldOptions = {}): AzureWorld {
  const clock = fakeClock();
  const fake = createFakeAzure(clock);
  // So that every list has pages.
  fake.pageSize = 3;
  const table = fake.addTable('pods');
  const sets = [undefined, fake.addSet('pool', 'Uniform'), fake.addSet('flex', 'Flexible')];
  const sent = sentCalls(fake.http, (method) => method === 'PUT');
  const clients: { close(): void }[] = [];
  let made = 0;

  function addVm(options: VmOptions = {}): FakeVm {
    made += 1;
    return fake.addVm(`node-${made}`, options);
  }

  return {
    ...{ clock, fake, table, addVm, cluster: randomUUID() },
    async open() {
      const readText = async (path: string) => files[path];
      const text = JSON.stringify({ ...azureJson, ...json });
      const config = await readConfig({ path: 'azure.json', text }, env, readText);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env, onCall };
      const client = openAzure({ config, context, readText, wrapHttp: () => sent.http });
      clients.push(client);
      return client;
    },
    async createVm() {
      const set = sets[made % sets.length];
      const vm = addVm(set === undefined ? {} : { set });
      const addresses = [vm.interfaces[0]!.configurations[0]!.address];
      const name = set === undefined ? vm.name : vm.computerName;
      return { name, providerID: `azure://${vm.id}`, addresses, zone: zoneOf(vm) };
    },
    deleteVm: async (providerID) => fake.deleteVm(providerID.slice('azure://'.length)),
    async stopVm(providerID) {
      fake.vms.get(providerID.slice('azure://'.length).toLowerCase())!.power = 'deallocated';
    },
    unusedProviderID() {
      made += 1;
      const group = `/subscriptions/${subscription}/resourceGroups/rg`;
      return `azure://${group}/providers/Microsoft.Compute/virtualMachines/never-${made}`;
    },
    otherScopeProviderID() {
      const group = `/subscriptions/${randomUUID()}/resourceGroups/rg`;
      return `azure://${group}/providers/Microsoft.Compute/virtualMachines/node-1`;
    },
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    refuseCredential(refused) {
      const body = { error: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' } };
      const isPublic = (path: string) => path === '/metadata/endpoints';
      fake.fault = refused ? ({ path }) => (isPublic(path) ? undefined : { status: 401, body }) : undefined;
    },
    inventory: async () => table.routes.map((route) => ({ kind: 'route', name: String(route['name']) })),
    createForeignLoadBalancer: () => Promise.reject(new Error('no load balancers')),
    describeLoadBalancer: async () => undefined,
    deleteLoadBalancer: async () => {},
    async createForeignRoute(destination, vm) {
      const properties = {
        addressPrefix: destination,
        nextHopType: 'VirtualAppliance',
        nextHopIpAddress: vm.addresses[0],
      };
      table.routes = [...table.routes, { name: `by-hand-${destination.replace('/', '-')}`, properties }];
      table.version += 1;
    },
    async deleteForeignRoute(destination) {
      table.routes = table.routes.filter(
        (route) => (route['properties'] as { addressPrefix: string }).addressPrefix !== destination,
      );
      table.version += 1;
    },
    routesLeft(count) {
      fake.maxRoutes = count === undefined ? 400 : table.routes.length + count;
    },
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
    async close() {
      for (const client of clients) client.close();
    },
  };
}
