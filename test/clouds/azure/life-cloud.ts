import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { azureJson } from './azure-world.ts';
import { createFakeAzure, type FakeAzure } from './fake/fake-azure.ts';
import { application } from './fake/fake-login.ts';
import type { FakeVm } from './fake/fake-state.ts';

export interface AzureLife extends LifeCloud {
  readonly fake: FakeAzure;
}

/** The Nodes. The name of an instance of a uniform scale set is what the set makes of it. */
export const azureNodes = ['azure-1', 'pool000001', 'azure-3'] as const;

/** A VM of each kind, and a route table. */
export async function openAzureLife(): Promise<AzureLife> {
  const fake = createFakeAzure(systemClock());
  fake.pageSize = 2;
  fake.operationMs = 500;
  const served = await listen(fake);
  const table = fake.addTable('pods');
  const [pool, flex] = [fake.addSet('pool', 'Uniform'), fake.addSet('flex', 'Flexible')];
  const vms = [
    fake.addVm(azureNodes[0], { isPublic: true }),
    fake.addVm('', { set: pool }),
    fake.addVm(azureNodes[2], { set: flex }),
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
  /** The name has the Node, and the next hop has to be the address of its VM. */
  function routes(): string[] {
    return table.routes.map(({ name, properties }) => {
      const { addressPrefix, nextHopIpAddress } = properties as Readonly<Record<string, string>>;
      const hop = vms.find(({ interfaces }) => interfaces[0]!.configurations[0]!.address === nextHopIpAddress);
      const [node] = String(name).split('____');
      return `${addressPrefix} ${hop?.computerName === node ? node : `${name} by ${nextHopIpAddress}`}`;
    });
  }

  return {
    fake,
    served: {
      cloud: 'azure',
      configText: JSON.stringify({ ...azureJson, resourceManagerEndpoint: served.url }),
      env: {},
    },
    machines: vms.map(machineOf),
    changes: () => fake.calls.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method)).length,
    audits: () => fake.calls.filter(({ path }) => path.toLowerCase() === table.id.toLowerCase()).length,
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
