import { systemClock } from '../../../common/process/clock.ts';
import { prefix } from '../../../controller/clouds/azure/annotations.ts';
import { listen } from '../fake-http.ts';
import type { LifeBalancer, LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import type { FakeResource } from './fake/fake-network.ts';
import type { FakeVm } from './fake/fake-state.ts';

type Json = Readonly<Record<string, unknown>>;
type Reference = { readonly id: string };
interface Part {
  readonly name: string;
  readonly properties: Json;
}
const partsOf = ({ body }: FakeResource, list: string) => ((body['properties'] as Json)[list] ?? []) as readonly Part[];

export interface AzureLife extends LifeCloud {
  readonly fake: FakeAzure;
}

/** The Nodes. The name of an instance of a uniform scale set is what the set makes of it. */
export const azureNodes = ['azure-1', 'pool000001', 'azure-3'] as const;

export interface AzureLifeOptions {
  /** Of azure.json, beside what these worlds have. */
  readonly json?: Json;
  /** The last VM is of a flexible scale set. Default: yes. */
  readonly isFlexible?: boolean;
}

/** A VM of each kind, and a route table. */
export async function openAzureLife({ json = {}, isFlexible = true }: AzureLifeOptions = {}): Promise<AzureLife> {
  const fake = createFakeAzure(systemClock());
  fake.pageSize = 2;
  fake.operationMs = 500;
  const served = await listen(fake);
  const table = fake.addTable('pods');
  const pool = fake.addSet('pool', 'Uniform');
  const vms = [
    fake.addVm(azureNodes[0], { isPublic: true }),
    fake.addVm('', { set: pool }),
    fake.addVm(azureNodes[2], isFlexible ? { set: fake.addSet('flex', 'Flexible') } : {}),
  ];

  function machineOf(vm: FakeVm): LifeMachine {
    return {
      node: vm.computerName,
      providerID: `azure://${vm.id}`,
      labels: {
        'topology.kubernetes.io/zone': 'westeurope-1',
        'topology.kubernetes.io/region': 'westeurope',
        'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
      },
      readdress(address) {
        const key = vm.interfaces[0]!.configurations[0]!.publicId!.toLowerCase();
        fake.publicAddresses.set(key, { ...fake.publicAddresses.get(key)!, address });
      },
      stop() {
        vm.power = 'deallocated';
      },
      remove: () => fake.deleteVm(vm.id),
    };
  }
  /** The Node that has a private address. */
  function nodeAt(address: string): string {
    const vm = vms.find(({ interfaces }) => interfaces[0]!.configurations[0]!.address === address);
    return vm?.computerName ?? address;
  }
  const readsOf = (path: string) =>
    fake.calls.filter(({ method, path: read }) => method === 'GET' && read.toLowerCase().endsWith(path.toLowerCase()))
      .length;
  /** The name has the Node, and the next hop has to be the address of its VM. */
  function routes(): string[] {
    return table.routes.map(({ name, properties }) => {
      const { addressPrefix, nextHopIpAddress } = properties as Readonly<Record<string, string>>;
      const [node] = String(name).split('____');
      const isHop = nodeAt(String(nextHopIpAddress)) === node;
      return `${addressPrefix} ${isHop ? node : `${name} by ${nextHopIpAddress}`}`;
    });
  }

  const { resources } = fake.network;
  /** The Nodes whose interfaces are in its pools. */
  function nodesBehind({ id }: FakeResource): string[] {
    const isIn = (pool: string) => pool.toLowerCase().startsWith(`${id}/backendAddressPools/`.toLowerCase());
    const configurations = (vm: FakeVm) => vm.interfaces.flatMap((one) => one.configurations);
    return vms
      .filter((vm) => configurations(vm).some(({ pools }) => pools?.some(isIn)))
      .map(({ computerName }) => computerName);
  }
  /** Each frontend of the load balancers that all Services share. */
  function balancers(): LifeBalancer[] {
    return [...resources.values()].flatMap((balancer) =>
      partsOf(balancer, 'frontendIPConfigurations').map(({ name, properties }) => {
        const isOwn = ({ properties: rule }: Part) =>
          String((rule['frontendIPConfiguration'] as Reference).id)
            .toLowerCase()
            .endsWith(`/${name}`.toLowerCase());
        const address = (properties['publicIPAddress'] as Reference | undefined)?.id.toLowerCase();
        const { ipAddress } = ((address && resources.get(address)?.body['properties']) as Json) || {};
        const rules = partsOf(balancer, 'loadBalancingRules');
        const pools = partsOf(balancer, 'backendAddressPools');
        const hops = pools.flatMap((pool) => (pool.properties['loadBalancerBackendAddresses'] ?? []) as Part[]);
        return {
          members: [...hops.map(({ properties: hop }) => nodeAt(String(hop['ipAddress']))), ...nodesBehind(balancer)],
          ports: rules.filter(isOwn).map((rule) => Number(rule.properties['frontendPort'])),
          addresses: [String(ipAddress ?? properties['privateIPAddress'])],
          removePorts() {
            const loadBalancingRules = rules.filter((rule) => !isOwn(rule));
            const all = balancer.body['properties'] as Json;
            balancer.body = { ...balancer.body, properties: { ...all, loadBalancingRules } };
            balancer.version += 1;
          },
        };
      }),
    );
  }

  return {
    fake,
    balancers,
    services: { web: {}, inside: { [`${prefix}load-balancer-internal`]: 'true' } },
    balancerParts: () =>
      [...resources.values()].flatMap((one) =>
        one.type === 'networkSecurityGroups'
          ? partsOf(one, 'securityRules').map(({ name }) => name)
          : `${one.type} ${one.name}`,
      ),
    served: {
      cloud: 'azure',
      configText: JSON.stringify({ ...azureJson, ...json, resourceManagerEndpoint: served.url }),
      env: {},
    },
    machines: vms.map(machineOf),
    changes: () => fake.calls.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method)).length,
    audits: () => Math.min(readsOf(table.id), readsOf('/loadBalancers')),
    routes,
    checks: ['virtual machines', 'permissions in rg', 'route table'],
    refuse(refused) {
      const body = { error: { code: 'InvalidAuthenticationToken', message: 'The access token is invalid.' } };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    secrets: [application.secret, 'fake.azure-token'],
    close: () => served.close(),
  };
}
