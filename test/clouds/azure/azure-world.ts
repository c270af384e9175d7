import { randomUUID } from 'node:crypto';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, type FakeClock, fakeClock } from '../../../common/testing/fake-clock.ts';
import { prefix } from '../../../controller/clouds/azure/annotations.ts';
import { readConfig } from '../../../controller/clouds/azure/config.ts';
import { openAzure } from '../../../controller/clouds/azure/index.ts';
import {
  classicTags,
  codeOf,
  codesIn,
  tags,
  withCodes,
} from '../../../controller/clouds/azure/load-balancers/names.ts';
import type { Cloud, CloudCall, CloudIdentity, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, InventoryItem, WrapDriver } from '../suite/world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import { type VmOptions, zoneOf } from './fake/fake-machines.ts';
import type { FakeResource } from './fake/fake-network.ts';
import { type FakeTable, type FakeVm, location, subscription, tenant } from './fake/fake-state.ts';

export const azureCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: {
    protocols: ['TCP', 'UDP'],
    sourceRanges: true,
    // Floating IP.
    nodePorts: false,
    idsAreNames: true,
    sessionAffinity: true,
    uniqueNames: true,
    // One load balancer serves all Services.
    attach: false,
    drains: false,
    // A public address alone is retained.
    retain: false,
    refusesMembers: false,
    calls: { first: 3, further: 3, member: 1, removal: 3 },
  },
  routes: { tags: false, blackholes: false, quota: false },
  enumerateFaults: true,
};

export const endpoint = 'http://management.azure.test';

/** What the classic controller's azure.json says in these worlds. */
export const azureJson = {
  cloud: 'AzurePublicCloud',
  resourceManagerEndpoint: endpoint,
  tenantId: tenant,
  subscriptionId: subscription,
  resourceGroup: 'RG',
  location,
  vmType: 'vmss',
  routeTableName: 'pods',
  aadClientId: application.clientId,
  aadClientSecret: application.secret,
  vnetName: 'v',
  subnetName: 's',
  securityGroupName: 'nodes',
  loadBalancerBackendPoolConfigurationType: 'nodeIP',
};

export interface AzureWorldOptions {
  /** Beside azureJson. */
  readonly json?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Of VMs, in turn. Default: all of them. */
  readonly kinds?: readonly ('alone' | 'uniform' | 'flexible')[];
  /** Of VMs. Default: IPv4. */
  readonly families?: readonly ('IPv4' | 'IPv6')[];
  onCall?(call: CloudCall): void;
}

export interface AzureWorld extends CloudWorld {
  readonly clock: FakeClock;
  readonly fake: FakeAzure;
  readonly table: FakeTable;
  open(wrap?: WrapDriver): Promise<Omit<Cloud, keyof CloudIdentity> & Pick<OpenedCloud, 'identify'>>;
  addVm(options?: VmOptions): FakeVm;
}

/** A subscription as the conformance suite drives it: VMs of each kind in turn, and the client that ships. */
export function azureWorld(options: AzureWorldOptions = {}): AzureWorld {
  const {
    json = {},
    env = {},
    files = {},
    kinds = ['alone', 'uniform', 'flexible'],
    families = ['IPv4'],
    onCall = () => {},
  } = options;
  const clock = fakeClock();
  const cluster = randomUUID();
  const fake = createFakeAzure(clock);
  // So that every list has pages.
  fake.pageSize = 3;
  const table = fake.addTable('pods');
  const [uniform, flexible] = [fake.addSet('pool', 'Uniform'), fake.addSet('flex', 'Flexible')];
  const sets = kinds.map((kind) => ({ alone: undefined, uniform, flexible })[kind]);
  const sent = sentCalls(fake.http, (method) => method === 'PUT' || method === 'DELETE');
  const clients: { close(): void }[] = [];
  let made = 0;

  fake.network.add('networkSecurityGroups', 'nodes', { location, tags: {}, properties: { securityRules: [byHand] } });

  async function stripMarks(kind: string, id: string, service: string): Promise<boolean> {
    const target = fake.network.resources.get(id.split('/frontendipconfigurations/')[0] ?? '');
    if (target === undefined || !['load balancer', 'public address'].includes(kind)) return false;
    const { [tags.cluster]: _, [tags.service]: __, ...rest } = target.body['tags'] as Record<string, string>;
    if (kind === 'public address') edit(target, { ...target.body, tags: rest });
    else {
      const codes = new Set(codesIn(target.body['tags'] as Record<string, string>));
      codes.delete(codeOf({ cluster, service }));
      edit(target, { ...target.body, tags: withCodes(target.body['tags'] as Record<string, string>, codes) });
    }
    return true;
  }

  function addVm(options: VmOptions = {}): FakeVm {
    made += 1;
    return fake.addVm(`node-${made}`, options);
  }

  return {
    clock,
    fake,
    table,
    addVm,
    cluster,
    async open(wrap) {
      const readText = async (path: string) => files[path];
      const text = JSON.stringify({ ...azureJson, ...json });
      const config = await readConfig({ path: 'azure.json', text }, env, readText);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const context = { clock, random: seededRandom(1), log: silentLog, env, onCall };
      const opened = openAzure({ config, context, readText, wrapHttp: () => sent.http });
      const client = withLoadBalancers<typeof opened>(withDriver(opened, wrap), clock);
      clients.push(client);
      return client;
    },
    async createVm() {
      const set = sets[made % sets.length];
      const vm = addVm({ families, ...(set === undefined ? {} : { set }) });
      const addresses = vm.interfaces[0]!.configurations.map(({ address }) => address);
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
    inventory: async () => [
      ...table.routes.map((route) => ({ kind: 'route', name: String(route['name']) })),
      ...[...fake.network.resources.values()].flatMap(inventoryOf),
      ...[...fake.vms.values()].flatMap(({ interfaces }) =>
        interfaces.flatMap(({ configurations }) =>
          configurations.flatMap(({ pools = [] }) => pools.map(() => ({ kind: 'member', name: 'interface' }))),
        ),
      ),
      ...[...fake.sets.values()].flatMap(({ name, pools }) => pools.map(() => ({ kind: 'model', name }))),
    ],
    async createForeignLoadBalancer(name) {
      made += 1;
      const address = fake.network.add('publicIPAddresses', `by-hand-${made}`, addressBody({}));
      const frontend = { name, properties: { publicIPAddress: { id: address.id } } };
      const there = fake.network.resources.get(balancerId.toLowerCase());
      const properties = { frontendIPConfigurations: [...partsIn(there?.body, 'frontendIPConfigurations'), frontend] };
      const body = there?.body ?? { location, sku: { name: 'Standard' }, tags: {}, properties: {} };
      const next = { ...body, properties: { ...(body['properties'] as Json), ...properties } };
      if (there === undefined) fake.network.add('loadBalancers', 'kubernetes', next);
      else edit(there, next);
      return `${balancerId}/frontendIPConfigurations/${name}`.toLowerCase();
    },
    async describeLoadBalancer(id) {
      const { body } = fake.network.resources.get(balancerId.toLowerCase()) ?? {};
      const own = partsIn(body, 'frontendIPConfigurations').find(({ name }) => id.endsWith(`/${name}`.toLowerCase()));
      return own && JSON.stringify(own);
    },
    /** A frontend with all its rules, and the address that was made for it. */
    async deleteLoadBalancer(id) {
      const [balancer = '', name = ''] = id.split('/frontendipconfigurations/');
      const there = fake.network.resources.get(balancer);
      if (there === undefined) return;
      const own = (part: Part) => part.name.toLowerCase() === name || part.name.toLowerCase().startsWith(`${name}-`);
      const properties = { ...(there.body['properties'] as Json) };
      const gone = partsIn(there.body, 'frontendIPConfigurations').find(own);
      for (const list of ['frontendIPConfigurations', 'loadBalancingRules', 'probes'])
        properties[list] = partsIn(there.body, list).filter((part) => !own(part));
      edit(there, { ...there.body, properties });
      const address = (gone?.properties['publicIPAddress'] as { id: string } | undefined)?.id.toLowerCase() ?? '';
      if (address.includes('/by-hand-')) fake.network.resources.delete(address);
      const isLeft = ['frontendIPConfigurations', 'loadBalancingRules'].some(
        (list) => partsIn(there.body, list).length > 0,
      );
      if (!isLeft) fake.network.resources.delete(balancer);
    },
    async stripMarks({ kind, id, owner }) {
      return stripMarks(kind, id, owner?.service ?? '');
    },
    // The public address proves it; an internal one has none.
    comesBack: (_, { annotations }) => annotations[`${prefix}load-balancer-internal`] !== 'true',
    async markAsClassic({ id, body }, { owner }) {
      await stripMarks('load balancer', id, owner.service);
      await stripMarks('public address', (body as { publicAddress: string }).publicAddress, owner.service);
    },
    async freeAddress(consent) {
      made += 1;
      const own = addressBody(consent === undefined ? {} : { [tags.consent]: consent });
      const { body } = fake.network.add('publicIPAddresses', `free-${made}`, own);
      return String((body['properties'] as Json)['ipAddress']);
    },
    tagging: {
      annotation: `${prefix}pip-tags`,
      reserved: [...Object.values(tags), ...Object.values(classicTags), 'Mooring.dev-retained'],
    },
    examples: [
      { families: ['IPv4', 'IPv6'] },
      { annotations: { [`${prefix}load-balancer-internal`]: 'true' } },
      {
        annotations: annotationsOf({
          'dns-label-name': 'web',
          'pip-tags': 'a=b',
          'allowed-service-tags': 'AzureCloud',
        }),
      },
      {
        sourceRanges: ['192.0.2.0/24'],
        trafficPolicy: 'Local',
        annotations: annotationsOf({ 'deny-all-except-load-balancer-source-ranges': 'true' }),
      },
      {
        // The annotation has them.
        sourceRanges: [],
        annotations: annotationsOf({
          'load-balancer-internal': 'true',
          'load-balancer-internal-subnet': 'other',
          'load-balancer-enable-high-availability-ports': 'true',
          'load-balancer-ipv4': '10.240.0.200',
          'load-balancer-health-probe-protocol': 'https',
          'allowed-ip-ranges': '0.0.0.0/0',
        }),
      },
    ],
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

type Json = Record<string, unknown>;
interface Part {
  readonly name: string;
  readonly properties: Json;
}

const network = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Network`;
const balancerId = `${network}/loadBalancers/kubernetes`;

function partsIn(body: Json | undefined, list: string): readonly Part[] {
  return ((body?.['properties'] as Json | undefined)?.[list] ?? []) as readonly Part[];
}

function edit(resource: FakeResource, body: Json): void {
  resource.body = body;
  resource.version += 1;
}

function addressBody(own: Readonly<Record<string, string>>): Json {
  const properties = { publicIPAllocationMethod: 'Static', publicIPAddressVersion: 'IPv4' };
  return { location, sku: { name: 'Standard' }, tags: own, properties };
}

function annotationsOf(own: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [prefix + name, value]));
}

/** A rule of others, which stays as it is. */
const byHand = {
  name: 'ssh',
  properties: {
    priority: 500,
    direction: 'Inbound',
    access: 'Allow',
    protocol: 'Tcp',
    sourceAddressPrefix: '192.0.2.9',
    sourcePortRange: '*',
    destinationAddressPrefix: '*',
    destinationPortRange: '22',
  },
};

/** Each part by itself; addresses are left out, since two runs are compared. */
function inventoryOf({ type, name, body }: FakeResource): InventoryItem[] {
  const own: InventoryItem = { kind: type, name };
  if (type === 'publicIPAddresses') return [own];
  if (type === 'networkSecurityGroups')
    return partsIn(body, 'securityRules').flatMap(({ name: rule, properties }) => {
      const { destinationAddressPrefix: one, destinationAddressPrefixes: all = [one] } = properties;
      return (all as unknown[]).map(() => ({ kind: 'security rule', name: rule }));
    });
  const lists = ['frontendIPConfigurations', 'loadBalancingRules', 'probes', 'backendAddressPools'];
  return [
    own,
    ...lists.flatMap((list) => partsIn(body, list).map((part) => ({ kind: list, name: part.name }))),
    ...partsIn(body, 'backendAddressPools').flatMap(({ properties }) =>
      ((properties['loadBalancerBackendAddresses'] ?? []) as Json[]).map(() => ({ kind: 'member', name })),
    ),
  ];
}
