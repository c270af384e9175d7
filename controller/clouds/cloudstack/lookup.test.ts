import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { cloudStackWorld } from '../../../test/clouds/cloudstack/cloudstack-world.ts';
import { createFakeCloudStack } from '../../../test/clouds/cloudstack/fake/fake-cloudstack.ts';
import { apiKey, secretKey } from '../../../test/clouds/cloudstack/fake/fake-keys.ts';
import type { InstanceRef } from '../cloud.ts';
import { openCloudStack } from './index.ts';

const project = '9c2a0b8e-4c0f-4d0d-9d6a-0f3b7a0b9e11';

function setUp(given: { readonly project?: string; readonly region?: string } = {}) {
  const clock = fakeClock();
  const fake = createFakeCloudStack(clock);
  fake.project = given.project;
  const cloud = openCloudStack({
    config: {
      endpoint: 'http://cs.test/client/api',
      apiKey,
      secretKey,
      isInsecure: false,
      warnings: [],
      project: given.project,
      region: given.region,
    },
    context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} },
    wrapHttp: () => fake.http,
  });
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  const lookup = async (...refs: InstanceRef[]) => {
    const found = await during(cloud.instances.lookup(refs));
    return refs.map((ref) => found.get(ref.by === 'name' ? `name:${ref.name}` : ref.providerID)!);
  };
  return { fake, cloud, during, lookup };
}
const byId = (id: string): InstanceRef => ({ by: 'providerID', providerID: `external-cloudstack://${id}` });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

describe('VMs', () => {
  it('shows zone, offering, tags and the addresses of all networks of a VM, the default one first', async () => {
    const { fake, lookup } = setUp();
    const { id } = fake.addVm('node-1');
    const nic = (ipaddress: string, more: object = {}) => ({ ipaddress, networkid: fake.network.id, ...more });
    const nics = [
      nic('10.2.1.7'),
      nic('10.1.1.7', { isdefault: true, ip6address: '2001:DB8::7', secondaryip: [{ ipaddress: '10.1.1.99' }] }),
    ];
    fake.vms.get(id)!.more = { nic: nics, publicip: '203.0.113.9', tags: [{ key: 'k8s-label/team', value: 'shop' }] };
    const [found] = await lookup(byId(id));
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance, {
      cloud: 'cloudstack',
      id,
      name: 'node-1',
      incarnation: id,
      providerID: `external-cloudstack://${id}`,
      zone: 'SimZone1',
      region: 'SimZone1',
      type: 'SmallInstance',
      addresses: [
        { type: 'Hostname', address: 'node-1' },
        { type: 'InternalIP', address: '10.1.1.7' },
        { type: 'InternalIP', address: '2001:db8::7' },
        { type: 'InternalIP', address: '10.2.1.7' },
        { type: 'ExternalIP', address: '203.0.113.9' },
      ],
      tags: { 'k8s-label/team': 'shop' },
    });
  });

  it('shows the SMBIOS UUID of a VM on KVM alone', async () => {
    for (const [hypervisor, isTold] of [
      ['KVM', true],
      ['XenServer', false],
      ['VMware', false],
    ] as const) {
      const { fake, lookup } = setUp();
      const { id } = fake.addVm('node-1');
      fake.vms.get(id)!.more = { hypervisor };
      const [found] = await lookup(byId(id));
      assert.equal(found?.state === 'found' && found.instance.smbiosUuid, isTold ? id : undefined, hypervisor);
    }
  });

  it('shows the region of the configuration where it names one', async () => {
    const { fake, lookup } = setUp({ region: 'north' });
    const [found] = await lookup(byId(fake.addVm('n').id));
    assert.deepEqual(found?.state === 'found' && [found.instance.region, found.instance.zone], ['north', 'SimZone1']);
  });

  for (const [state, expected] of [
    ['Running', 'running'],
    ['Stopped', 'stopped'],
    ['Starting', 'changing'],
    ['Migrating', 'changing'],
    ['Destroyed', 'absent'],
    ['Expunging', 'absent'],
  ] as const)
    it(`takes a VM in the state ${state} for ${expected}, by id and by list`, async () => {
      const { fake, lookup } = setUp();
      const vms = ['a', 'b', 'c'].map((name) => fake.addVm(name));
      vms[0]!.state = state;
      for (const some of [vms.slice(0, 1), vms]) {
        const [found] = await lookup(...some.map(({ id }) => byId(id)));
        assert.equal(found?.state === 'found' ? found.power : found?.state, expected);
      }
    });

  it('finds a VM by its exact name alone, although the API finds parts of names', async () => {
    const { fake, lookup } = setUp();
    const { id } = fake.addVm('node-1');
    fake.addVm('node-10');
    const [one, none] = await lookup(byName('node-1'), byName('node'));
    assert.equal(one?.state === 'found' && one.instance.id, id);
    assert.equal(none?.state === 'unknown' && none.error.kind, 'NotFound');
  });

  it('answers unknown, not absent, when the project is gone', async () => {
    const { fake, lookup } = setUp({ project });
    const { id } = fake.addVm('n');
    assert.equal((await lookup(byId(id)))[0]?.state, 'found');
    fake.project = undefined;
    const [found] = await lookup(byId(id));
    assert.equal(found?.state === 'unknown' && found.error.kind, 'Invalid');
  });

  it('answers unknown for a VM that cannot be read, and finds the others', async () => {
    const { fake, lookup } = setUp();
    const vms = ['a', 'b', 'c'].map((name) => fake.addVm(name));
    vms[1]!.more = { nic: [{ ipaddress: 'none' }] };
    const found = await lookup(...vms.map(({ id }) => byId(id)));
    assert.deepEqual(
      found.map(({ state }) => state),
      ['found', 'unknown', 'found'],
    );
    assert.match(found[1]?.state === 'unknown' ? found[1].error.message : '', /"none", expected an IP address/);
  });

  it('accepts the scheme of Talos, and refuses those of other clouds', async () => {
    const { cloud } = setUp();
    const id = '915653c4-298b-4d74-bdee-4ced282114f1';
    const ids = [`cloudstack://${id}`, `external-cloudstack://${id}`, `openstack:///${id}`];
    assert.deepEqual(
      ids.map((one) => cloud.accepts(one)),
      [true, true, false],
    );
  });
});

describe('the scope', () => {
  it('identifies by the account of the key, or by the project', async () => {
    const { cloud, during, fake } = setUp();
    assert.deepEqual(await during(cloud.identify()), { scope: `cs.test/${fake.account}`, account: fake.account });
    const other = setUp({ project });
    assert.deepEqual(await other.during(other.cloud.identify()), { scope: `cs.test/${project}`, account: project });
  });

  it('tells no scope for a project that the account does not see', async () => {
    const { cloud, during, fake } = setUp({ project });
    fake.project = undefined;
    await assert.rejects(during(cloud.identify()), /does not exist|project-id/);
  });
});

describe('check', () => {
  it('names each command that the role does not have, and what it is for', async () => {
    const world = cloudStackWorld();
    world.fake.forbidden.add('createLoadBalancerRule');
    const results = await world.during((await world.open()).check());
    const failed = results.filter(({ ok }) => !ok);
    assert.deepEqual(
      failed.map(({ name, neededFor }) => [name, neededFor]),
      [['role for load balancers', ['load balancers']]],
    );
    assert.match(
      failed[0]!.message,
      /the role does not have createLoadBalancerRule; see deploy\/iam\/cloudstack\.json/,
    );
    await world.close();
  });
});
