import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { prefix } from '../../controller/clouds/azure/annotations.ts';
import {
  addressActions,
  balancerActions,
  networkActions,
  poolActions,
  securityActions,
  tableActions,
  vmActions,
} from '../../controller/clouds/azure/permissions.ts';
import { azureWorld } from '../clouds/azure/azure-world.ts';
import type { FakeAzure } from '../clouds/azure/fake/fake-azure.ts';
import { location, subnetOf, subscription } from '../clouds/azure/fake/fake-state.ts';
import type { Json } from '../clouds/fake-http.ts';
import { desiredFor, newOwner } from '../clouds/suite/desired.ts';
import { ensure, remove } from '../clouds/suite/drive.ts';

describe('the role for Azure that is shipped', () => {
  it('allows each action that check asks for, and that of asking, and no more', async () => {
    const actions = await shippedActions();
    const some = [vmActions, tableActions, balancerActions, addressActions, networkActions, poolActions];
    const all = [...some, securityActions].flat();
    const checked = new Set(all.map(({ action }) => action));
    assert.deepEqual(actions.toSorted(), [...checked, 'Microsoft.Authorization/permissions/read'].toSorted());
  });

  it('allows lookups, routes, load balancers and check in the resource group alone, which use all of it', async () => {
    const actions = await shippedActions();
    const world = azureWorld({ json: { loadBalancerBackendPoolConfigurationType: 'nodeIPConfiguration' } });
    const { fake } = world;
    fake.permissions = [{ actions, notActions: [] }];
    const used = new Set<string>();
    // Every action is used: without it something fails.
    const allowed = new Set(actions.map((action) => action.toLowerCase()));
    fake.allowed = Object.assign(allowed, {
      has: (action: string) => Set.prototype.has.call(allowed, action) && used.add(action) !== undefined,
    });
    const cloud = await world.open();
    await world.during(cloud.identify());
    const set = fake.addSet('p', 'Uniform');
    const vms = [1, 2, 3, 4, 5, 6].map((each) =>
      world.addVm(each % 2 === 0 ? { set, isPublic: true } : { isPublic: true }),
    );
    const ids = vms.map(({ id }) => `azure://${id}`);
    const found = await world.during(
      cloud.instances.lookup(ids.map((providerID) => ({ by: 'providerID', providerID }))),
    );
    const named = vms.map(({ computerName: name }) => ({ by: 'name', name }) as const);
    const byName = await world.during(cloud.instances.lookup(named));
    for (const { state } of [...found.values(), ...byName.values()]) assert.equal(state, 'found');
    for (const providerID of ids) {
      const one = await world.during(cloud.instances.lookup([{ by: 'providerID', providerID }]));
      assert.equal(one.get(providerID)?.state, 'found');
    }
    const handle = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Compute/disks/d`;
    fake.disks.set(handle, undefined);
    const [disk] = await world.during(cloud.volumes!.lookup([{ source: 'disk.csi.azure.com', handle, zones: [] }]));
    assert.equal(disk?.[1].state, 'found');
    for (const [at, providerID] of ids.entries()) {
      const destination = `10.244.${at}.0/24`;
      const desired = { cluster: 'c', node: `n${at}`, nodeUid: 'u', destination, providerID, addresses: [] };
      await world.during(cloud.routes!.create(desired, { permit() {} }));
    }
    assert.equal((await world.during(cloud.routes!.observe('c'))).routes.length, ids.length);
    const byAddress = azureWorld();
    byAddress.fake.allowed = allowed;
    const addressed = await byAddress.open();
    const plain = desiredFor(newOwner(byAddress.cluster), [await byAddress.createVm()], {});
    const balancers = addressed.loadBalancers!;
    await ensure({ world: byAddress, balancers, desired: plain, record: { id: undefined } });
    await byAddress.close();
    const prefixId = `/subscriptions/${subscription}/resourceGroups/rg/providers/Microsoft.Network/publicIPPrefixes/p`;
    const nodes = [await world.createVm(), await world.createVm()];
    addReferences(fake);
    for (const own of [{ 'pip-prefix-id': prefixId }, { 'load-balancer-internal': 'true' }]) {
      const annotations = Object.fromEntries(Object.entries(own).map(([name, value]) => [prefix + name, value]));
      const desired = desiredFor(newOwner(world.cluster), nodes, { annotations });
      const driving = { world, balancers: cloud.loadBalancers!, desired, record: { id: undefined } };
      assert.deepEqual((await ensure(driving)).refusals, []);
      await remove(driving);
    }
    const checks = await world.during(cloud.check());
    assert.ok(
      checks.every(({ ok }) => ok),
      JSON.stringify(checks),
    );
    assert.deepEqual([...used].toSorted(), [...allowed].toSorted());
    await world.close();
  });
});

const firewall = 'loadBalancers/firewall/frontendIPConfigurations/f';
const others = `/subscriptions/${subscription}/resourceGroups/others/providers/Microsoft.Network`;
const reference = (id: string) => ({ id: `${others}/${id}` });

/** Everything that people may have set up with nodes, load balancers and security groups, and that is written again. */
function addReferences({ network, sets, vms }: FakeAzure): void {
  for (const { interfaces, instanceId } of vms.values())
    interfaces[0]!.configurations[0]!.more = {
      applicationSecurityGroups: [reference('applicationSecurityGroups/workers')],
      applicationGatewayBackendAddressPools: [reference('applicationGateways/web/backendAddressPools/p')],
      ...(instanceId === undefined
        ? { loadBalancerInboundNatRules: [reference('loadBalancers/ssh/inboundNatRules/ssh-0')] }
        : { loadBalancerInboundNatPools: [reference('loadBalancers/ssh/inboundNatPools/ssh')] }),
    };
  for (const set of sets.values()) set.profile = { healthProbe: reference('loadBalancers/health/probes/repair') };
  const [group] = [...network.resources.values()].filter(({ type }) => type === 'networkSecurityGroups');
  const rules = (group!.body['properties'] as { readonly securityRules: readonly Json[] }).securityRules;
  const properties = {
    priority: 210,
    direction: 'Inbound',
    access: 'Allow',
    protocol: 'Tcp',
    sourceApplicationSecurityGroups: [reference('applicationSecurityGroups/bastion')],
    sourcePortRange: '*',
    destinationAddressPrefix: '*',
    destinationPortRange: '22',
  };
  group!.body = { ...group!.body, properties: { securityRules: [...rules, { name: 'bastion', properties }] } };
  const subnet = { id: subnetOf('v') };
  const frontend = { subnet, privateIPAddress: '10.240.0.200', gatewayLoadBalancer: reference(firewall) };
  network.add('loadBalancers', 'kubernetes-internal', {
    location,
    sku: { name: 'Standard' },
    tags: {},
    properties: { frontendIPConfigurations: [{ name: 'own', properties: frontend }] },
  });
}

async function shippedActions(): Promise<readonly string[]> {
  const file = new URL('../../deploy/iam/azure-role.json', import.meta.url);
  return (JSON.parse(await readFile(file, 'utf8')) as { Actions: string[] }).Actions;
}
