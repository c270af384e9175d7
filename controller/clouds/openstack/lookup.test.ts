import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { answerJson, answerText } from '../../../test/clouds/openstack/fake/answers.ts';
import { active, uuid } from '../../../test/clouds/openstack/fake/fake-openstack.ts';
import {
  named,
  providerID,
  range,
  ref,
  startWorld,
  states,
  summary,
  type World,
} from '../../../test/clouds/openstack/fake/world.ts';
import { maxAbsenceProofs, type OpenedCloud } from '../cloud.ts';

describe('looking up servers on OpenStack', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());
  afterEach(() => world.reset());

  it('finds many servers by the pages of two lists and one token', async () => {
    world.add(...range(250));
    world.fake.pageSize = 100;
    const lookups = await (await world.open()).instances.lookup(range(250).map(ref));
    assert.equal(lookups.size, 250);
    assert.ok([...lookups.values()].every((lookup) => summary(lookup) === 'found running by list'));
    assert.deepEqual(
      [world.count('/servers/detail'), world.count('/ports'), world.count('/v3/auth/tokens'), world.fake.calls.length],
      [3, 3, 1, 7],
    );
    assert.ok(world.calls.every(({ cloud, code }) => cloud === 'openstack' && code === 'ok'));
  });

  it('asks for a few servers one by one, with one list of their ports', async () => {
    world.add(1, 2, 3);
    const lookups = await (await world.open()).instances.lookup([ref(1), ref(2)]);
    assert.deepEqual(states(lookups), ['found running by id', 'found running by id']);
    assert.deepEqual(world.paths('compute').toSorted(), [`/servers/${uuid(1)}`, `/servers/${uuid(2)}`]);
    assert.deepEqual(world.paths('network'), ['/ports']);
  });

  it('describes a server as its Node shall show it', async () => {
    world.fake.servers.set(uuid(1), active(1, { zone: 'az 1/rack' }));
    world.fake.ports.push({ id: 'port-1', deviceId: uuid(1), networkId: 'n', ips: ['10.20.0.9', '2001:db8::9'] });
    world.fake.ports.push({ id: 'port-2', deviceId: uuid(1), networkId: 'n', ips: ['10.20.0.8'], status: 'DOWN' });
    const lookup = (await (await world.open()).instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.deepEqual(lookup.instance, {
      cloud: 'openstack',
      id: uuid(1),
      providerID: providerID(1),
      incarnation: uuid(1),
      name: 'node-1',
      zone: 'az-1-rack',
      region: 'RegionOne',
      type: 'm1.small',
      addresses: [
        { type: 'InternalIP', address: '10.20.0.9' },
        { type: 'InternalIP', address: '2001:db8::9' },
        { type: 'InternalIP', address: '10.20.0.1' },
      ],
      smbiosUuid: uuid(1),
      labels: { 'topology.openstack.org/host-id': '2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6' },
      tags: {},
    });
  });

  it('tells no SMBIOS UUID of bare metal, which has the UUID of its hardware', async () => {
    const extraSpecs = { 'resources:VCPU': '0', 'resources:CUSTOM_BAREMETAL_GOLD': '1' };
    world.fake.servers.set(uuid(1), active(1, { flavor: { id: 'f9', name: 'gold', extraSpecs } }));
    const lookup = (await (await world.open()).instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.equal(lookup.instance.smbiosUuid, undefined);
  });

  it('tells no SMBIOS UUID where the operator says that the hypervisor chooses its own', async () => {
    world.add(1);
    const cloud = await world.open({ env: { MOORING_OPENSTACK_SMBIOS_UUID: 'false' } });
    const lookup = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.equal(lookup.instance.smbiosUuid, undefined);
  });

  it('prints regional providerIDs when OS_CCM_REGIONAL says so', async () => {
    world.add(1);
    const cloud = await world.open({ env: { OS_CCM_REGIONAL: 'true' } });
    const lookup = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.equal(lookup.instance.providerID, `openstack://RegionOne/${uuid(1)}`);
  });

  it('adds the addresses of trunk subports under their network', async () => {
    world.fake.networks.set('net-7', 'storage');
    world.fake.servers.set(uuid(1), active(1, { addresses: {} }));
    world.fake.ports.push({
      id: 'parent',
      deviceId: uuid(1),
      networkId: 'net-1',
      ips: ['10.20.0.1'],
      subports: ['sub'],
    });
    world.fake.ports.push({ id: 'sub', deviceId: '', networkId: 'net-7', ips: ['10.7.0.1'] });
    const cloud = await world.open({}, '[Networking]\npublic-network-name = storage\n');
    const lookup = (await cloud.instances.lookup([ref(1)])).get(providerID(1));
    assert.ok(lookup?.state === 'found');
    assert.deepEqual(lookup.instance.addresses, [
      { type: 'InternalIP', address: '10.20.0.1' },
      { type: 'ExternalIP', address: '10.7.0.1' },
    ]);
    assert.deepEqual(world.paths('network'), ['/ports', '/ports', '/networks']);
  });

  it('leaves a server unknown rather than without an address when a subport cannot be read', async () => {
    world.fake.servers.set(uuid(1), active(1));
    world.fake.ports.push({
      id: 'parent',
      deviceId: uuid(1),
      networkId: 'net-1',
      ips: ['10.20.0.1'],
      subports: ['sub'],
    });
    world.fake.fault = ({ query }, response) => (query.has('id') ? answerText(response, 503, 'no') : undefined);
    assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)])), ['unknown Unavailable']);
  });

  it('tells power and end: SHUTOFF is off unless it is being started, a deleted server is gone', async () => {
    const table: [string, string | null, string][] = [
      ['ACTIVE', null, 'found running by list'],
      ['SHUTOFF', null, 'found stopped by list'],
      ['SHUTOFF', 'powering-on', 'found changing by list'],
      ['SHUTOFF', 'image_snapshot', 'found stopped by list'],
      ['BUILD', 'spawning', 'found changing by list'],
      ['PAUSED', null, 'found changing by list'],
      ['SHELVED_OFFLOADED', null, 'found changing by list'],
      ['ERROR', null, 'found changing by list'],
      ['SOFT_DELETED', null, 'gone'],
      ['DELETED', null, 'gone'],
    ];
    for (const [n, [status, taskState]] of table.entries())
      world.fake.servers.set(uuid(n), active(n, { status, taskState }));
    world.fake.servers.set(uuid(99), active(99, { status: undefined }));
    const lookups = await (await world.open()).instances.lookup([...table.keys(), 99].map(ref));
    assert.deepEqual(states(lookups), [...table.map(([, , expected]) => expected), 'unknown Invalid']);
  });

  it('proves absence by a GET of each server that the list leaves out', async () => {
    world.add(...range(8));
    const lookups = await (await world.open()).instances.lookup([...range(8), 77, 78].map(ref));
    assert.deepEqual(states(lookups), [...Array(8).fill('found running by list'), 'absent', 'absent']);
    assert.deepEqual(
      world.paths('compute').toSorted(),
      ['/servers/detail', `/servers/${uuid(77)}`, `/servers/${uuid(78)}`].toSorted(),
    );
  });

  it('keeps a server that the list left out but its id finds', async () => {
    world.add(...range(8));
    world.fake.fault = ({ path }, response) =>
      path === '/servers/detail' ? answerJson(response, 200, { servers: [] }) : undefined;
    const lookups = await (await world.open()).instances.lookup(range(8).map(ref));
    assert.deepEqual(states(lookups), Array(8).fill('found running by id'));
  });

  it(`proves at most ${maxAbsenceProofs} a pass; the rest waits`, async () => {
    const lookups = await (await world.open()).instances.lookup(range(maxAbsenceProofs + 5).map(ref));
    assert.equal(states(lookups).filter((state) => state === 'absent').length, maxAbsenceProofs);
    assert.equal(states(lookups).filter((state) => state === 'unknown NotFound').length, 5);
  });

  it('asks for canaries one by one, and only when something is absent', async () => {
    world.add(1, 2);
    const cloud = await world.open();
    assert.deepEqual([...(await cloud.instances.lookup([ref(1)], { canaries: [ref(2)] })).keys()], [providerID(1)]);
    const loud = await cloud.instances.lookup([ref(7)], { canaries: [ref(2)] });
    assert.deepEqual(states(loud), ['absent', 'found running by id']);
  });

  it('credentials of another project leave the canary absent too', async () => {
    assert.deepEqual(states(await (await world.open()).instances.lookup([ref(1)], { canaries: [ref(2)] })), [
      'absent',
      'absent',
    ]);
  });

  it('finds nodes by exact name, one by one or in the list; a name never proves absence', async () => {
    world.fake.servers.set(uuid(1), active(1, { name: 'node.one' }));
    world.fake.servers.set(uuid(2), active(2, { name: 'twin' }));
    world.fake.servers.set(uuid(3), active(3, { name: 'twin' }));
    world.fake.servers.set(uuid(4), active(4, { name: 'nodexone' }));
    world.fake.servers.set(uuid(5), active(5, { name: 'UPPER' }));
    const cloud = await world.open();
    const few = await cloud.instances.lookup(['node.one', 'twin', 'upper', 'nobody'].map(named));
    const expected = ['found running by list', 'unknown Conflict', 'unknown NotFound', 'unknown NotFound'];
    assert.deepEqual(states(few), expected);
    assert.ok(world.fake.calls.some(({ query }) => query.get('name') === '^node\\.one$'));
    world.fake.calls.length = 0;
    const many = await cloud.instances.lookup(['node.one', 'twin', 'upper', 'nobody', 'a', 'b'].map(named));
    assert.deepEqual(states(many), [...expected, 'unknown NotFound', 'unknown NotFound']);
    assert.equal(world.count('/servers/detail'), 1);
  });

  it('reads the list once for ids and names together', async () => {
    world.add(...range(12));
    const refs = [
      ...range(6).map(ref),
      ...range(12)
        .slice(6)
        .map((n) => named(`node-${n}`)),
    ];
    const lookups = await (await world.open()).instances.lookup(refs);
    assert.deepEqual(states(lookups), Array(12).fill('found running by list'));
    assert.equal(world.count('/servers/detail'), 1);
  });

  it('never sends what this scope cannot hold', async () => {
    const foreign = ['aws:///a/i-1', `openstack://RegionTwo/${uuid(1)}`, 'openstack:///node-1', uuid(1)];
    const cloud = await world.open();
    const lookups = await cloud.instances.lookup(foreign.map((text) => ({ by: 'providerID', providerID: text })));
    assert.deepEqual(states(lookups), Array(4).fill('unknown Invalid'));
    assert.deepEqual(foreign.map(cloud.accepts), Array(4).fill(false));
    assert.ok(cloud.accepts(`openstack://RegionOne/${uuid(1)}`) && cloud.accepts(`/${uuid(1)}`));
    assert.deepEqual(world.fake.calls, []);
  });

  it('reads each flavour once from an old Nova without the microversion', async () => {
    world.fake.maxMicroversion = 40;
    world.fake.flavors.set('f1', 'm1.small');
    world.add(...range(8));
    const cloud = await world.open();
    for (let round = 0; round < 2; round += 1) {
      for (const lookup of (await cloud.instances.lookup(range(8).map(ref))).values()) {
        assert.ok(lookup.state === 'found');
        assert.equal(lookup.instance.type, 'm1.small');
      }
    }
    assert.equal(world.count('/flavors/f1'), 1);
    assert.equal(world.count('/servers/detail'), 3);
  });

  it("takes a flavour's id for an invalid name, no type when deleted, and fails when unreadable", async () => {
    world.fake.flavors.set('f2', 'm1 small (old)');
    world.fake.servers.set(uuid(1), active(1, { flavor: { id: 'f2', name: 'm1 small (old)' } }));
    world.fake.servers.set(uuid(2), active(2, { flavor: { id: 'f3', name: 'gone (old)' } }));
    const types = async (cloud: OpenedCloud) =>
      [...(await cloud.instances.lookup([ref(1), ref(2)])).values()].map((lookup) =>
        lookup.state === 'found' ? lookup.instance.type : summary(lookup),
      );
    assert.deepEqual(await types(await world.open()), ['f2', undefined]);
    world.fake.fault = ({ path }, response) => (path === '/flavors' ? answerText(response, 500, 'oops') : undefined);
    assert.deepEqual(await types(await world.open()), ['unknown Unavailable', 'unknown Unavailable']);
  });

  it('answers every ref once, and absent only for an id it asked for', async () => {
    const cloud = await world.open();
    const situation = fc.record({
      existing: fc.uniqueArray(fc.integer({ min: 1, max: 40 })),
      asked: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 45 }),
      pageSize: fc.integer({ min: 1, max: 50 }),
      failing: fc.constantFrom('nothing', 'lists', 'gets', 'second pages', 'ports'),
    });
    await fc.assert(
      fc.asyncProperty(situation, async ({ existing, asked, pageSize, failing }) => {
        world.fake.servers.clear();
        world.fake.ports.length = 0;
        world.add(...existing);
        world.fake.calls.length = 0;
        world.fake.pageSize = pageSize;
        world.fake.fault = ({ path, query }, response) => {
          const hit =
            (failing === 'lists' && path === '/servers/detail') ||
            (failing === 'gets' && /^\/servers\/0/.test(path)) ||
            (failing === 'second pages' && query.has('marker')) ||
            (failing === 'ports' && path === '/ports');
          return hit ? answerText(response, 500, 'oops') : undefined;
        };
        const lookups = await cloud.instances.lookup(asked.map(ref));
        assert.deepEqual(new Set(lookups.keys()), new Set(asked.map(providerID)));
        for (const n of asked) {
          const lookup = lookups.get(providerID(n))!;
          if (existing.includes(n)) assert.notEqual(lookup.state, 'absent');
          if (lookup.state === 'absent') assert.ok(world.paths('compute').includes(`/servers/${uuid(n)}`));
          if (failing === 'nothing' && existing.includes(n)) assert.equal(lookup.state, 'found');
        }
      }),
      { numRuns: 60 },
    );
  });
});
