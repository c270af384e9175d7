import { systemClock } from '../../../common/process/clock.ts';
import { listen } from '../fake-http.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import type { FakeAccount, FakeVm } from './fake/fake-account.ts';
import { createFakeCloudStack } from './fake/fake-cloudstack.ts';
import { apiKey, secretKey } from './fake/fake-keys.ts';

export const cloudStackNodes = ['vm-1', 'vm-2', 'vm-3'] as const;

/** VMs in an isolated network; there are no routes. */
export async function openCloudStackLife(
  options: Partial<Pick<FakeAccount, 'emptyTagValueIsAny'>> = {},
): Promise<LifeCloud> {
  const fake = Object.assign(createFakeCloudStack(systemClock()), options);
  fake.jobMs = 300;
  const served = await listen(fake);
  const vms = cloudStackNodes.map((name) => fake.addVm(name));
  for (const [at, vm] of vms.entries()) vm.more = { publicip: `198.51.100.${at + 1}` };
  const machineOf = (vm: FakeVm): LifeMachine => ({
    node: vm.name,
    providerID: `external-cloudstack://${vm.id}`,
    labels: { 'topology.kubernetes.io/zone': 'SimZone1', 'node.kubernetes.io/instance-type': 'SmallInstance' },
    readdress(address) {
      vm.more = { publicip: address };
    },
    stop() {
      vm.state = 'Stopped';
    },
    remove() {
      fake.vms.delete(vm.id);
      for (const rule of fake.rules.values()) rule.vms = rule.vms.filter((id) => id !== vm.id);
    },
  });
  const isRead = ({ name }: { readonly name: string }) => /^(list|query)/.test(name);
  return {
    served: {
      cloud: 'cloudstack',
      configText: `[Global]\napi-url = ${served.url}/client/api\napi-key = ${apiKey}\nsecret-key = ${secretKey}\n`,
      env: {},
    },
    machines: vms.map(machineOf),
    changes: () => fake.commands.filter((command) => !isRead(command)).length,
    audits: () => fake.commands.filter(({ name }) => name === 'listLoadBalancerRules').length,
    routes: () => undefined,
    balancers: () =>
      [...fake.addresses.values()].map(({ id, ip }) => {
        const rules = [...fake.rules.values()].filter(({ address }) => address === id);
        return {
          members: (rules[0]?.vms ?? []).map((vm) => fake.vms.get(vm)?.name ?? vm),
          ports: rules.map(({ publicPort }) => publicPort),
          addresses: [ip],
          removePorts() {
            for (const rule of rules) fake.rules.delete(rule.id);
          },
        };
      }),
    checks: ['VMs', 'role for nodes', 'role for load balancers'],
    refuse(refused) {
      const body = { errorresponse: { errorcode: 401, errortext: 'unable to verify user credentials' } };
      fake.fault = refused ? () => ({ status: 401, body }) : undefined;
    },
    secrets: [secretKey, apiKey],
    close: () => served.close(),
  };
}
