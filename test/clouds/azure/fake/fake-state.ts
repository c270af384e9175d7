import type { Json } from '../../fake-http.ts';

export const subscription = '8d10da13-8125-4ba9-a717-bf7490507b3d';
export const tenant = '72f988bf-86f1-41af-91ab-2d7cd011db47';
export const location = 'westeurope';

export interface FakeVm {
  /** Resource id. */
  readonly id: string;
  readonly group: string;
  readonly name: string;
  /** Of an instance of a uniform scale set, or a VM of a flexible one. */
  readonly set: FakeSet | undefined;
  readonly instanceId: string | undefined;
  readonly vmId: string;
  tags?: Readonly<Record<string, string>>;
  readonly computerName: string;
  readonly size: string;
  zones: readonly string[] | undefined;
  faultDomain: number | undefined;
  power: string;
  provisioning: string;
  readonly interfaces: FakeInterface[];
  /** Default: long ago. */
  created?: string;
  /** `maintenanceRedeployStatus`, while maintenance is planned. */
  maintenance?: Json | undefined;
}

export interface FakeSet {
  readonly id: string;
  readonly group: string;
  readonly name: string;
  readonly mode: 'Uniform' | 'Flexible';
  readonly prefix: string;
  last: number;
  /** Of its model: ids of backend pools that its next instances come with. */
  pools: readonly string[];
  version: number;
  /** What others have set in the network profile of the model. */
  profile?: Json;
}

export interface FakeInterface {
  readonly id: string;
  readonly name: string;
  readonly primary: boolean;
  readonly configurations: FakeConfiguration[];
  version: number;
}

export interface FakeConfiguration {
  readonly name: string;
  readonly primary: boolean;
  readonly family: 'IPv4' | 'IPv6';
  readonly address: string;
  readonly publicId: string | undefined;
  /** Default `v`. */
  readonly network?: string;
  /** Ids of backend pools that it is in. */
  pools?: readonly string[];
  /** What others have set: groups, rules and pools that it is in. */
  more?: Json;
}

export interface FakePublicAddress {
  readonly id: string;
  readonly name: string;
  readonly address: string | undefined;
  readonly family: 'IPv4' | 'IPv6';
}

export interface FakeTable {
  readonly id: string;
  readonly name: string;
  version: number;
  routes: readonly Json[];
  tags: Json;
  /** Fields that clients have to keep. */
  properties: Json;
  /** The operation that is at work on it. */
  operation: FakeOperation | undefined;
  /** The last operation has failed. */
  failed: boolean;
}

export interface FakeOperation {
  readonly id: string;
  readonly endsAt: number;
  readonly error: Json | undefined;
}

/** @param network name of a virtual network */
export const subnetOf = (network: string) =>
  `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/${network}/subnets/s`;

function configurationJson(configuration: FakeConfiguration, id: string): Json {
  const { name, primary, family, address, publicId, network = 'v', pools = [], more = {} } = configuration;
  return {
    name,
    id: `${id}/ipConfigurations/${name}`,
    properties: {
      provisioningState: 'Succeeded',
      privateIPAddress: address,
      privateIPAllocationMethod: 'Dynamic',
      primary,
      privateIPAddressVersion: family,
      subnet: { id: subnetOf(network) },
      ...(publicId === undefined ? {} : { publicIPAddress: { id: publicId } }),
      ...poolsJson(pools),
      ...more,
    },
  };
}

const poolsJson = (pools: readonly string[]) =>
  pools.length === 0 ? {} : { loadBalancerBackendAddressPools: pools.map((id) => ({ id })) };

/** What an instance, or the model of its set, says of the interfaces; a model has no addresses. */
export function profileJson(interfaces: readonly Pick<FakeInterface, 'name' | 'primary' | 'configurations'>[]): Json {
  return {
    networkInterfaceConfigurations: interfaces.map(({ name, primary, configurations }) => ({
      name,
      properties: {
        primary,
        enableIPForwarding: true,
        ipConfigurations: configurations.map(
          ({ name: own, primary: isPrimary, family, pools = [], network = 'v', more = {} }) => ({
            name: own,
            properties: {
              primary: isPrimary,
              privateIPAddressVersion: family,
              subnet: { id: subnetOf(network) },
              ...poolsJson(pools),
              ...more,
            },
          }),
        ),
      },
    })),
  };
}

export function interfaceJson({ id, name, primary, configurations, version }: FakeInterface, vm: FakeVm): Json {
  return {
    name,
    id,
    etag: etagOf(version),
    type: 'Microsoft.Network/networkInterfaces',
    location,
    properties: {
      provisioningState: 'Succeeded',
      primary,
      enableIPForwarding: true,
      virtualMachine: { id: vm.id },
      networkSecurityGroup: { id: subnetOf('').replace(/virtualNetworks.*$/, 'networkSecurityGroups/nodes') },
      ipConfigurations: configurations.map((one) => configurationJson(one, id)),
    },
  };
}

export function publicAddressJson({ id, name, address, family }: FakePublicAddress): Json {
  return {
    name,
    id,
    etag: 'W/"1"',
    location,
    sku: { name: 'Standard', tier: 'Regional' },
    properties: {
      provisioningState: 'Succeeded',
      publicIPAddressVersion: family,
      publicIPAllocationMethod: 'Static',
      ...(address === undefined ? {} : { ipAddress: address }),
    },
  };
}

/** @param withView as `$expand=instanceView` asks for it */
export function vmJson(vm: FakeVm, withView: boolean): Json {
  const { id, name, set, instanceId, zones } = vm;
  const uniform = instanceId !== undefined;
  return {
    id,
    name,
    location,
    tags: vm.tags ?? {},
    ...(zones === undefined ? {} : { zones }),
    ...(uniform ? { instanceId, sku: { name: vm.size, tier: 'Standard' } } : {}),
    ...(uniform ? { etag: etagOf(vm.interfaces[0]!.version) } : {}),
    type: `Microsoft.Compute/${uniform ? 'virtualMachineScaleSets/' : ''}virtualMachines`,
    properties: {
      vmId: vm.vmId,
      provisioningState: vm.provisioning,
      timeCreated: vm.created ?? '2020-01-01T00:00:00Z',
      ...(set !== undefined && !uniform ? { virtualMachineScaleSet: { id: set.id } } : {}),
      hardwareProfile: uniform ? {} : { vmSize: vm.size },
      osProfile: { computerName: vm.computerName, adminUsername: 'azureuser' },
      storageProfile: { osDisk: { osType: 'Linux', createOption: 'FromImage' }, dataDisks: [] },
      networkProfile: {
        networkInterfaces: vm.interfaces.map(({ id, primary }) => ({ id, properties: { primary } })),
      },
      ...(uniform ? { networkProfileConfiguration: profileJson(vm.interfaces) } : {}),
      ...(withView ? { instanceView: viewJson(vm) } : {}),
    },
  };
}

export function viewJson({ power, provisioning, faultDomain, maintenance }: FakeVm): Json {
  const state = provisioning.toLowerCase();
  return {
    ...(faultDomain === undefined ? {} : { platformFaultDomain: faultDomain, platformUpdateDomain: 0 }),
    ...(maintenance === undefined ? {} : { maintenanceRedeployStatus: maintenance }),
    statuses: [
      { code: `ProvisioningState/${state}`, level: 'Info', displayStatus: `Provisioning ${state}` },
      { code: `PowerState/${power}`, level: 'Info', displayStatus: `VM ${power}` },
    ],
  };
}

export function setJson({ id, name, mode, prefix, pools, version, profile = {} }: FakeSet): Json {
  const configurations = (['IPv4', 'IPv6'] as const).map((family, at) => ({
    name: `ipconfig${at + 1}`,
    primary: at === 0,
    family,
    address: '',
    publicId: undefined,
    pools: pools.filter((id) => id.endsWith('-IPv6') === (family === 'IPv6')),
  }));
  const model = { name: 'nic-0', primary: true, configurations };
  return {
    id,
    etag: etagOf(version),
    name,
    location,
    type: 'Microsoft.Compute/virtualMachineScaleSets',
    sku: { name: 'Standard_D2s_v5', capacity: 1 },
    properties: {
      orchestrationMode: mode,
      provisioningState: 'Succeeded',
      uniqueId: 'b1c1a7f4-0a1b-4c2d-8e3f-000000000001',
      virtualMachineProfile: {
        osProfile: { computerNamePrefix: prefix },
        networkProfile: { ...profile, ...profileJson([model]) },
      },
    },
  };
}

export function tableJson(table: FakeTable): Json {
  const { id, name, version, routes, tags, properties, operation, failed } = table;
  const provisioningState = operation !== undefined ? 'Updating' : failed ? 'Failed' : 'Succeeded';
  return {
    name,
    id,
    etag: etagOf(version),
    type: 'Microsoft.Network/routeTables',
    location,
    tags,
    properties: {
      provisioningState,
      disableBgpRoutePropagation: false,
      ...properties,
      routes: routes.map((route) => ({
        id: `${id}/routes/${route['name']}`,
        etag: etagOf(version),
        type: 'Microsoft.Network/routeTables/routes',
        ...route,
        properties: { provisioningState: 'Succeeded', ...(route['properties'] as Json) },
      })),
    },
  };
}

export const etagOf = (version: number) => `W/"00000000-0000-4000-8000-${String(version).padStart(12, '0')}"`;
