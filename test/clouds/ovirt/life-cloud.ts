import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { createFakeOvirt, password, user } from './fake-ovirt.ts';
import type { FakeVm } from './fake-vms.ts';

export const ovirtNodes = ['ovirt-1', 'ovirt-2', 'ovirt-3'] as const;

/** VMs of one engine; there are no routes and no load balancers. */
export async function openOvirtLife(): Promise<LifeCloud> {
  const fake = createFakeOvirt();
  const served = await listen(fake);
  const vms = ovirtNodes.map((name) => fake.addVm(name));
  for (const [at, vm] of vms.entries()) vm.addresses.push(`198.18.1.${at + 1}`);
  const machineOf = (vm: FakeVm): LifeMachine => ({
    node: vm.name,
    providerID: `ovirt://${vm.id}`,
    labels: {
      'topology.kubernetes.io/zone': 'host-1',
      'topology.kubernetes.io/region': 'helsinki',
      'node.kubernetes.io/instance-type': '2vcpu-4gb',
    },
    readdress(address) {
      vm.addresses = [...vm.addresses.filter((one) => !one.startsWith('198.18.')), address];
    },
    stop() {
      vm.status = 'down';
    },
    remove: () => void fake.vms.delete(vm.id),
  });
  const reads = () => fake.calls.filter(({ method }) => method === 'GET').length;
  return {
    served: {
      cloud: 'ovirt',
      // As the controller before read it: properties, and sections after them.
      configText: `url=${served.url}/ovirt-engine/api\nusername=${user}\npassword=${password}\ninsecure=true
[Labels]\nzone = host\nregion = data-center\n[Nodes]\nexternal-network-subnet-cidr = 198.18.0.0/15\n`,
      env: {},
    },
    machines: vms.map(machineOf),
    changes: () => fake.calls.filter(({ method, path }) => method !== 'GET' && !path.includes('/sso/')).length,
    // There is nothing to keep, so any read after a restart is one of everything.
    audits: reads,
    routes: () => undefined,
    checks: ['log in', 'read VMs', 'read places'],
    refuse(refused) {
      fake.refuses = refused;
      if (refused) fake.endTokens();
    },
    secrets: [password, 'token-1'],
    close: () => served.close(),
  };
}
