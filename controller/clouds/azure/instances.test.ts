import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AzureWorldOptions, azureWorld } from '../../../test/clouds/azure/azure-world.ts';
import { type FakeVm, subscription } from '../../../test/clouds/azure/fake/fake-state.ts';
import type { Json, ReceivedCall } from '../../../test/clouds/fake-http.ts';
import type { InstanceRef, Lookup } from '../cloud.ts';
import { cloudModule } from './index.ts';

const byId = (id: string): InstanceRef => ({ by: 'providerID', providerID: `azure://${id}` });

async function setUp(options: AzureWorldOptions = {}) {
  const world = azureWorld(options);
  const cloud = await world.open();
  const lookup = async (...refs: InstanceRef[]): Promise<Lookup[]> => {
    const found = await world.during(cloud.instances.lookup(refs));
    return refs.map((ref) => found.get(ref.by === 'name' ? `name:${ref.name}` : ref.providerID)!);
  };
  const one = async (vm: FakeVm) => (await lookup(byId(vm.id)))[0]!;
  return { ...world, world, cloud, lookup, one, close: () => world.close() };
}

function shortOf(lookup: Lookup | undefined): string {
  return lookup?.state === 'unknown' ? `unknown ${lookup.error.kind}` : String(lookup?.state);
}

describe('VMs of Azure', () => {
  it('shows the addresses of each interface, the primary one first, each with its public one', async () => {
    const { addVm, one } = await setUp();
    const vm = addVm({ interfaces: 2, families: ['IPv4', 'IPv6'], isPublic: true });
    vm.interfaces.reverse();
    // Further addresses of an interface are pods'.
    const { configurations } = vm.interfaces[1]!;
    configurations.unshift({ ...configurations[0]!, name: 'pod', primary: false, address: '10.0.99.99' });
    const found = await one(vm);
    assert.ok(found.state === 'found');
    assert.deepEqual(
      found.instance.addresses.map(({ type, address }) => `${type} ${address}`),
      [
        'Hostname node-1',
        'InternalIP 10.0.0.1',
        'ExternalIP 198.51.0.1',
        'InternalIP fd00:1::1',
        'ExternalIP 2001:db8:ff::1',
        'InternalIP 10.1.0.1',
        'ExternalIP 198.51.10.1',
        'InternalIP fd00:2::1',
        'ExternalIP 2001:db8:ff::1',
      ],
    );
  });

  it('shows the tags of a VM', async () => {
    const { addVm, one } = await setUp();
    const vm = addVm();
    vm.tags = { team: 'data' };
    const found = await one(vm);
    assert.deepEqual(found.state === 'found' && found.instance.tags, { team: 'data' });
  });

  it('shows the fault domain as the zone where there are no zones, by list and by id', async () => {
    const { fake, addVm, lookup, close } = await setUp();
    const flex = fake.addSet('domains', 'Flexible');
    const vms = [1, 2, 3].map(() => addVm({ set: flex, zone: '' }));
    for (const [at, vm] of vms.entries()) vm.faultDomain = at;
    const zones = (found: Lookup[]) => found.map((each) => each.state === 'found' && each.instance.zone);
    assert.deepEqual(zones(await lookup(...vms.map(({ id }) => byId(id)))), ['0', '1', '2']);
    assert.deepEqual(zones(await lookup(byId(vms[1]!.id))), ['1']);
    await close();
  });

  it('shows the zone 0 of a VM in no set that has neither a zone nor a fault domain', async () => {
    const { fake, addVm, lookup, one, close } = await setUp();
    const sets = [fake.addSet('p', 'Uniform'), fake.addSet('f', 'Flexible')];
    const vms = [addVm({ zone: '' }), ...sets.map((set) => addVm({ set, zone: '' }))];
    for (const vm of vms) vm.faultDomain = undefined;
    const zones = (found: readonly Lookup[]) => found.map((each) => each.state === 'found' && each.instance.zone);
    assert.deepEqual(zones(await lookup(...vms.map(({ id }) => byId(id)))), ['0', undefined, undefined]);
    assert.deepEqual(zones([await one(vms[0]!)]), ['0']);
    await close();
  });

  for (const [power, expected] of [
    ['running', 'running'],
    ['starting', 'changing'],
    ['stopping', 'changing'],
    ['deallocating', 'changing'],
    ['stopped', 'stopped'],
    ['deallocated', 'stopped'],
  ] as const)
    it(`shows a VM that is ${power} as ${expected}, of each kind, by list and by id`, async () => {
      const { fake, addVm, lookup, one } = await setUp();
      const vms = [addVm(), addVm({ set: fake.addSet('p', 'Uniform') }), addVm({ set: fake.addSet('f', 'Flexible') })];
      for (const vm of vms) vm.power = power;
      const all = await lookup(...vms.map(({ id }) => byId(id)));
      for (const found of [...all, ...(await Promise.all(vms.map(one)))])
        assert.equal(found.state === 'found' && found.power, expected);
    });

  it('show maintenance that is planned for them and not done yet, of each kind, by list and by id', async () => {
    const { fake, addVm, lookup, one } = await setUp();
    const vms = [addVm(), addVm({ set: fake.addSet('p', 'Uniform') }), addVm({ set: fake.addSet('f', 'Flexible') })];
    const refs = vms.map(({ id }) => byId(id));
    const shown = (found: readonly Lookup[]) =>
      found.map((each) => each.state === 'found' && each.instance.maintenance);
    assert.deepEqual(shown(await lookup(...refs)), [[], [], []]);
    const [start, end] = ['2026-05-21T16:30:00+00:00', '2026-06-04T16:30:00+00:00'];
    const window = { maintenanceWindowStartTime: start, maintenanceWindowEndTime: end };
    for (const vm of vms) vm.maintenance = { isCustomerInitiatedMaintenanceAllowed: true, ...window };
    const expected = [{ deadline: start, message: `planned maintenance until ${end}` }];
    assert.deepEqual(shown(await lookup(...refs)), [expected, expected, expected]);
    for (const vm of vms) assert.deepEqual(shown([await one(vm)]), [expected]);
    for (const vm of vms) vm.maintenance = { ...window, lastOperationResultCode: 'MaintenanceCompleted' };
    assert.deepEqual(shown(await lookup(...refs)), [[], [], []]);
  });

  it('shows a VM that is being deleted as changing, not absent', async () => {
    const { addVm, one } = await setUp();
    const vm = addVm();
    vm.provisioning = 'Deleting';
    const found = await one(vm);
    assert.equal(found.state === 'found' && found.power, 'changing');
  });

  it('shows a VM that is switched off as changing while an operation is at work on it', async () => {
    const { fake, addVm, lookup, one } = await setUp();
    const vms = [addVm(), addVm({ set: fake.addSet('p', 'Uniform') }), addVm({ set: fake.addSet('f', 'Flexible') })];
    for (const vm of vms) vm.power = 'deallocated';
    const powers = async () => {
      const all = [...(await lookup(...vms.map(({ id }) => byId(id)))), await one(vms[0]!)];
      return all.map((found) => found.state === 'found' && found.power);
    };
    for (const [provisioning, expected] of [
      ['Updating', 'changing'],
      ['Creating', 'changing'],
      ['Failed', 'stopped'],
      ['Succeeded', 'stopped'],
    ] as const) {
      for (const vm of vms) vm.provisioning = provisioning;
      assert.deepEqual(await powers(), Array(4).fill(expected), provisioning);
    }
  });

  it('finds a VM by id and name in any case, and writes its id as the API does', async () => {
    const { fake, lookup } = await setUp();
    const vm = fake.addVm('Node-A');
    const [upper] = await lookup(byId(vm.id.toUpperCase().replace('/SUBSCRIPTIONS/', '/subscriptions/')));
    assert.ok(upper?.state === 'found', shortOf(upper));
    assert.equal(upper.instance.providerID, `azure://${vm.id}`);
    const [named] = await lookup({ by: 'name', name: 'node-a' });
    assert.equal(named?.state === 'found' && named.instance.providerID, `azure://${vm.id}`);
  });

  it('shows another incarnation of a VM that is created again under the same name', async () => {
    const { fake, addVm, one } = await setUp();
    const vm = addVm();
    const first = await one(vm);
    fake.deleteVm(vm.id);
    const second = await one(fake.addVm(vm.name));
    assert.ok(first.state === 'found' && second.state === 'found');
    assert.equal(first.instance.providerID, second.instance.providerID);
    assert.notEqual(first.instance.incarnation, second.instance.incarnation);
  });

  it('finds VMs of another resource group by their ids, with letters of any script', async () => {
    const { fake, addVm, lookup, one } = await setUp();
    for (const group of ['other', 'gruppe-ä']) {
      fake.groups.add(group);
      const vms = [addVm(), addVm({ group: group.toUpperCase() }), addVm({ group })];
      const found = await lookup(...vms.map(({ id }) => byId(id)));
      assert.deepEqual(found.map(shortOf), ['found', 'found', 'found']);
      const alone = await one(vms[1]!);
      assert.ok(alone.state === 'found' && alone.instance.providerID.includes(`/resourceGroups/${group}/`));
    }
  });

  it('answers unknown for a missing resource group, and refuses an id of another subscription', async () => {
    const { lookup, cloud } = await setUp();
    const id = `/subscriptions/${subscription}/resourceGroups/nowhere/providers/Microsoft.Compute/virtualMachines/vm`;
    assert.equal(shortOf((await lookup(byId(id)))[0]), 'unknown Unavailable');
    const other = `azure://${id.replace(subscription, '00000000-0000-4000-8000-000000000001')}`;
    assert.equal(cloud.accepts(other), false);
    assert.equal(cloud.accepts(`azure://${id.replace(/vm$/, '..')}`), false);
  });

  it('answers absent for a deleted instance of a uniform scale set, and for all of a deleted set', async () => {
    const { fake, addVm, lookup, one } = await setUp();
    const set = fake.addSet('p', 'Uniform');
    const [kept, ...gone] = [addVm({ set }), addVm({ set }), addVm({ set }), addVm({ set })] as const;
    for (const { id } of gone) fake.deleteVm(id);
    const ids = [kept, ...gone].map(({ id }) => byId(id));
    assert.deepEqual((await lookup(...ids)).map(shortOf), ['found', 'absent', 'absent', 'absent']);
    fake.deleteVm(kept.id);
    fake.sets.delete(set.id.toLowerCase());
    assert.deepEqual((await lookup(...ids)).map(shortOf), ['absent', 'absent', 'absent', 'absent']);
    assert.equal(shortOf(await one(kept)), 'absent');
  });

  it('answers unknown for a VM whose public address is missing, and finds the others', async () => {
    const { fake, addVm, lookup, one } = await setUp();
    const vms = [addVm({ isPublic: true }), addVm(), addVm()];
    fake.publicAddresses.delete(vms[0]!.interfaces[0]!.configurations[0]!.publicId!.toLowerCase());
    assert.deepEqual((await lookup(...vms.map(({ id }) => byId(id)))).map(shortOf), [
      'unknown Unavailable',
      'found',
      'found',
    ]);
    assert.equal(shortOf(await one(vms[0]!)), 'unknown Unavailable');
  });

  for (const part of ['publicIPAddresses', 'networkInterfaces'] as const)
    it(`answers unknown for a VM with ${part} that the role does not reach, and finds the others`, async () => {
      const { fake, addVm, lookup, one, close } = await setUp();
      const vms = Array.from({ length: 4 }, () => addVm({ interfaces: 2, isPublic: true }));
      const [, , deleted, apart] = vms;
      const [own, other] = apart!.interfaces;
      const moved = (id = '') => id.replace(/resourceGroups\/rg\//i, 'resourceGroups/edge/');
      if (part === 'networkInterfaces') Object.assign(other!, { id: moved(other!.id) });
      else Object.assign(own!.configurations[0]!, { publicId: moved(own!.configurations[0]!.publicId) });
      fake.deleteVm(deleted!.id);
      const error = { code: 'AuthorizationFailed', message: 'no right' };
      fake.fault = ({ path }) => (/resourceGroups\/edge\//i.test(path) ? { status: 403, body: { error } } : undefined);
      const found = await lookup(...vms.map(({ id }) => byId(id)));
      assert.deepEqual(found.map(shortOf), ['found', 'found', 'absent', 'unknown Forbidden']);
      for (const each of [found[3]!, await one(apart!)])
        assert.match(each.state === 'unknown' ? each.error.message : '', new RegExp(`/edge/.*/${part}/`, 'i'));
      const names = vms.slice(0, 2).map(({ computerName }) => ({ by: 'name', name: computerName }) as const);
      assert.deepEqual((await lookup(...names)).map(shortOf), ['found', 'found']);
      await close();
    });

  it('answers unknown for malformed VMs, and finds the others', async () => {
    const { fake, addVm, lookup, world } = await setUp();
    const vms = Array.from({ length: 6 }, () => addVm());
    const bodyOf = (call: ReceivedCall): Json => {
      fake.fault = undefined;
      fake.pageSize = 10;
      const { body } = fake.answer(call);
      fake.fault = fault;
      return body as Json;
    };
    const spoilt = (items: unknown, at: number, spoil: (properties: Json) => void) => {
      spoil((items as readonly { readonly properties: Json }[])[at]!.properties);
    };
    const fault = (call: ReceivedCall) => {
      const { path, query } = call;
      if (!/\/(virtualMachines|networkInterfaces)$/.test(path) || query.has('statusOnly')) return undefined;
      const body = bodyOf(call);
      if (path.endsWith('/networkInterfaces'))
        spoilt(body['value'], 1, (one) => Object.assign(one, { ipConfigurations: 7 }));
      else {
        spoilt(body['value'], 2, (one) => Object.assign(one, { networkProfile: 'none' }));
        spoilt(body['value'], 3, (one) => Object.assign(one, { vmId: 7 }));
        const elsewhere = { networkInterfaces: [{ id: '/subscriptions/../x' }] };
        spoilt(body['value'], 4, (one) => Object.assign(one, { networkProfile: elsewhere }));
      }
      return { status: 200, body };
    };
    fake.fault = fault;
    const found = await lookup(...vms.map(({ id }) => byId(id)));
    assert.deepEqual(found.map(shortOf), [
      'found',
      'unknown Invalid',
      'unknown Invalid',
      'unknown Invalid',
      'unknown Unavailable',
      'found',
    ]);
    await world.close();
  });

  it('answers unknown for a VM of a scale set whose interfaces have no list', async () => {
    const { fake, addVm, one } = await setUp();
    const vm = addVm({ set: fake.addSet('p', 'Uniform'), interfaces: 3 });
    const body = { error: { code: 'NotFound', message: 'Resource not found.' } };
    fake.fault = ({ path }) => (path.endsWith('/p/networkInterfaces') ? { status: 404, body } : undefined);
    assert.equal(shortOf(await one(vm)), 'unknown Unavailable');
  });

  it('shows power states also where the role reaches the resource group alone', async () => {
    const { fake, addVm, lookup } = await setUp();
    fake.reachesSubscription = false;
    const vms = [addVm(), addVm(), addVm()];
    vms[1]!.power = 'deallocated';
    const found = await lookup(...vms.map(({ id }) => byId(id)));
    assert.deepEqual(
      found.map((each) => each.state === 'found' && each.power),
      ['running', 'stopped', 'running'],
    );
  });

  it('reads 200 VMs in five calls', async () => {
    const { fake, addVm, lookup } = await setUp();
    fake.pageSize = 1000;
    const set = fake.addSet('p', 'Uniform');
    const vms = Array.from({ length: 200 }, (_, each) => addVm(each % 2 === 0 ? {} : { set }));
    const found = await lookup(...vms.map(({ id }) => byId(id)));
    assert.equal(found.filter(({ state }) => state === 'found').length, 200);
    const calls = fake.calls.filter(({ path }) => path.startsWith('/subscriptions/'));
    // Both lists of VMs, the list of power states, and both lists of interfaces.
    assert.equal(calls.length, 5);
  });

  it('answers unknown for VMs of a scale set that cannot be read, and finds the others', async () => {
    const { fake, addVm, lookup } = await setUp();
    const set = fake.addSet('p', 'Uniform');
    const vms = [addVm(), addVm(), addVm({ set })];
    fake.fault = ({ path }) => (path.includes('virtualMachineScaleSets') ? { status: 503 } : undefined);
    const found = await lookup(...vms.map(({ id }) => byId(id)));
    assert.deepEqual(found.map(shortOf), ['found', 'found', 'unknown Unavailable']);
  });

  it('finds VMs by name in the kinds that vmType names', async () => {
    for (const [vmType, expected] of [
      ['vmss', ['found', 'found', 'found']],
      ['standard', ['found', 'unknown NotFound', 'found']],
      ['vmssflex', ['found', 'unknown NotFound', 'found']],
    ] as const) {
      const { fake, addVm, lookup } = await setUp({ json: { vmType } });
      const vms = [addVm(), addVm({ set: fake.addSet('p', 'Uniform') }), addVm({ set: fake.addSet('f', 'Flexible') })];
      const found = await lookup(...vms.map(({ computerName }) => ({ by: 'name', name: computerName }) as const));
      assert.deepEqual(found.map(shortOf), expected, vmType);
    }
  });
});

describe('the cloud of Azure', () => {
  it('identifies by host and subscription, and refuses a subscription of another tenant', async () => {
    const { world, cloud } = await setUp();
    const scope = `management.azure.test/${subscription}`;
    assert.deepEqual(await world.during(cloud.identify()), { scope, account: subscription });
    const { world: other, cloud: strange } = await setUp({ json: { tenantId: subscription } });
    await assert.rejects(other.during(strange.identify()), { kind: 'Invalid', message: /belongs to tenant/ });
  });

  it('opens report-only without a configuration', async () => {
    const { clock } = await setUp();
    const log = { warn() {} } as never;
    const opened = await cloudModule.open(undefined, { clock, random: () => 0, log, env: {}, onCall() {} });
    assert.ok('reportOnly' in opened);
  });

  it('names each missing action in its check, for nodes, load balancers and routes', async () => {
    const { fake, world, cloud } = await setUp();
    const checks = async () => {
      const results = await world.during(cloud.check());
      const words = { true: 'ok', false: 'not', null: 'unsure' };
      return results.map(({ name, ok, message }) => `${words[`${ok}`]} ${name}: ${message}`);
    };
    assert.ok((await checks()).every((line) => line.startsWith('ok ')));
    fake.permissions = [
      { actions: ['*/read'], notActions: ['Microsoft.Compute/virtualMachineScaleSets/*'] },
      { actions: ['Microsoft.Network/routeTables/*'] },
    ];
    const lines = await checks();
    const lacking = lines.filter((line) => line.startsWith('not '));
    assert.equal(lacking.length, 3);
    const [ofBalancers] = lacking.splice(2);
    assert.match(ofBalancers ?? '', /not allowed: Microsoft\.Network\/loadBalancers\/write, .*subnets\/join\/action/);
    for (const line of lacking) assert.match(line, /not allowed: Microsoft\.Compute\/virtualMachineScaleSets\/read/);
    const [unsure] = lines.filter((line) => line.startsWith('unsure '));
    assert.match(unsure ?? '', /permissions in rg: .*inboundNatRules\/join\/action \(only with inbound NAT rules\)/);
    fake.permissions = [{ actions: ['*/read'] }];
    const [, writing] = (await checks()).filter((line) => line.startsWith('not '));
    assert.match(writing ?? '', /not allowed: Microsoft\.Network\/routeTables\/write; see deploy\/iam\/azure-role/);
  });

  it('asks for the actions of pools and of load balancers in the subscription of each', async () => {
    const other = '00000000-0000-4000-8000-000000000001';
    const { fake, world, cloud } = await setUp({
      json: { networkResourceSubscriptionID: other, loadBalancerBackendPoolConfigurationType: 'nodeIPConfiguration' },
    });
    const writes = ['networkInterfaces/write', 'networkSecurityGroups/join/action'];
    const pools = writes.map((action) => `Microsoft.Network/${action}`);
    fake.fault = ({ path }) => {
      if (!/\/permissions$/.test(path)) return undefined;
      const value = [
        { actions: ['*'], notActions: path.includes(other) ? pools : ['Microsoft.Network/loadBalancers/write'] },
      ];
      return { status: 200, body: { value } };
    };
    const results = await world.during(cloud.check());
    const permissions = results.filter(({ name }) => name.startsWith('permissions'));
    assert.deepEqual(
      permissions.filter(({ ok }) => !ok),
      [],
    );
    assert.equal(permissions.filter(({ neededFor }) => neededFor?.includes('load balancers')).length, 2);
  });

  it('says in its check where the route table is missing', async () => {
    const { fake, world, cloud } = await setUp();
    fake.tables.clear();
    const found = async (checked: typeof cloud) =>
      (await world.during(checked.check())).find(({ name }) => name === 'route table');
    assert.match((await found(cloud))?.message ?? '', /the first route creates it/);
    const { world: other, cloud: nowhere } = await setUp({ json: { location: '' } });
    other.fake.tables.clear();
    const results = await other.during(nowhere.check());
    assert.equal(results.find(({ name }) => name === 'route table')?.ok, false);
  });
});
