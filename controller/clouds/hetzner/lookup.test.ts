import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeDedicatedServer } from '../../../test/clouds/hetzner/fake-robot.ts';
import { type HetznerWorld, hetznerWorld, withRobot } from '../../../test/clouds/hetzner/hetzner-world.ts';
import type { Cloud, CloudIdentity, InstanceRef, Lookup } from '../cloud.ts';

type Opened = Omit<Cloud, keyof CloudIdentity>;

const byId = (providerID: string): InstanceRef => ({ by: 'providerID', providerID });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

function short(lookup: Lookup | undefined): string {
  if (lookup?.state === 'found') return `found ${lookup.power} by ${lookup.request}`;
  return lookup?.state === 'unknown' ? `unknown ${lookup.error.kind}` : (lookup?.state ?? 'no answer');
}

async function states(world: HetznerWorld, cloud: Opened, refs: readonly InstanceRef[]): Promise<string[]> {
  return [...(await world.during(cloud.instances.lookup(refs))).values()].map(short);
}

const paths = (world: HetznerWorld, from = 0) =>
  world.fake.calls
    .slice(from)
    .map(({ path, query }) => `${path}${query.has('name') ? `?name=${query.get('name')}` : ''}`);

function dedicated(number: number, over: Partial<FakeDedicatedServer> = {}): FakeDedicatedServer {
  return {
    server_number: number,
    server_name: `metal-${number}`,
    server_ip: `192.0.2.${number % 250}`,
    dc: 'FSN1-DC14',
    server_ipv6_net: `2001:db8:${number}::`,
    product: 'EX44 (Ltd.)',
    operatingStatus: 'running',
    ...over,
  };
}

describe('looking up servers of Hetzner Cloud', () => {
  it('describes a server as its Node shall show it', async () => {
    const world = hetznerWorld({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
    const storage = world.fake.addNetwork('storage', '192.168.0.0/16', '192.168.0.0/24');
    const server = world.fake.addServer('node-1', { place: 'hel1', network: world.networkId });
    Object.assign(server, { ipv4: '198.51.100.7', ipv6: '2001:db8:c2c:1234::/64' });
    server.privateNets.unshift({ network: storage.id, ip: '192.168.0.9', alias_ips: [] });
    for (const showsDatacentre of [true, false]) {
      world.fake.showsDatacentre = showsDatacentre;
      const cloud = await world.open();
      const lookup = (await cloud.instances.lookup([byId(`hcloud://${server.id}`)])).get(`hcloud://${server.id}`);
      assert.ok(lookup?.state === 'found', short(lookup));
      assert.deepEqual(lookup.instance, {
        cloud: 'hetzner',
        id: String(server.id),
        providerID: `hcloud://${server.id}`,
        incarnation: String(server.id),
        name: 'node-1',
        zone: 'hel1-dc2',
        region: 'hel1',
        type: 'cpx11',
        addresses: [
          { type: 'Hostname', address: 'node-1' },
          { type: 'ExternalIP', address: '198.51.100.7' },
          { type: 'ExternalIP', address: '2001:db8:c2c:1234::1' },
          { type: 'InternalIP', address: '10.0.0.2' },
        ],
        labels: { 'instance.hetzner.cloud/provided-by': 'cloud' },
        tags: {},
      });
    }
  });

  it('leaves out what is switched off: zones, families, and private addresses without a network', async () => {
    const env = {
      HCLOUD_NETWORK: '',
      HCLOUD_INSTANCES_ZONE_LABEL_ENABLED: 'false',
      HCLOUD_INSTANCES_ADDRESS_FAMILY: 'ipv6',
    };
    const world = hetznerWorld({ env });
    const { id } = world.fake.addServer('node-1', { network: world.networkId });
    const lookup = (await (await world.open()).instances.lookup([byName('node-1')])).get('name:node-1');
    assert.ok(lookup?.state === 'found', short(lookup));
    assert.equal(lookup.instance.zone, undefined);
    assert.deepEqual(
      lookup.instance.addresses.map(({ type }) => type),
      ['Hostname', 'ExternalIP'],
    );
    assert.deepEqual(paths(world), ['/v1/servers?name=node-1']);
    assert.equal(lookup.instance.providerID, `hcloud://${id}`);
  });

  it('reads all servers for many, and each by its id for two', async () => {
    const world = hetznerWorld();
    const vms = await Promise.all(Array.from({ length: 60 }, () => world.createVm()));
    const refs = vms.map(({ providerID }) => byId(providerID));
    const cloud = await world.open();
    assert.deepEqual(await states(world, cloud, refs), Array(60).fill('found running by list'));
    assert.deepEqual(paths(world), [...Array(3).fill('/v1/servers'), '/v1/networks?name=k8s']);
    const before = world.fake.calls.length;
    assert.deepEqual(await states(world, cloud, refs.slice(0, 2)), Array(2).fill('found running by id'));
    assert.equal(world.fake.calls.length - before, 2);
  });

  it('tells the power of a server', async () => {
    const world = hetznerWorld();
    const cloud = await world.open();
    const { id } = world.fake.addServer('node-1');
    for (const [status, power] of [
      ['running', 'running'],
      ['off', 'stopped'],
      ...['initializing', 'starting', 'stopping', 'deleting', 'migrating', 'unknown'].map((one) => [one, 'changing']),
    ] as const) {
      world.fake.servers.get(id)!.status = status!;
      assert.deepEqual(await states(world, cloud, [byId(`hcloud://${id}`)]), [`found ${power} by id`], status);
    }
  });

  it('takes no other 404 than the one of the API for an absence', async () => {
    const world = hetznerWorld();
    const cloud = await world.open();
    const ref = byId(world.unusedProviderID());
    assert.deepEqual(await states(world, cloud, [ref]), ['absent']);
    world.fake.fault = ({ path }) => (path.startsWith('/v1/servers') ? { status: 404, body: '404 page' } : undefined);
    assert.deepEqual(await states(world, cloud, [ref]), ['unknown Unavailable']);
  });

  it('counts a server as absent without a network only after the token has shown one that was asked for', async () => {
    const world = hetznerWorld({ env: { ...withRobot, HCLOUD_NETWORK: '' } });
    const vms = await Promise.all([1, 2, 3].map(() => world.createVm()));
    const refs = vms.map(({ providerID }) => byId(providerID));
    world.fake.dedicated.set(1, dedicated(1));
    const unused = () => byId(world.unusedProviderID());
    const wrongProject = await world.open();
    const beside = [byId('hrobot://1'), unused()];
    assert.deepEqual(await states(world, wrongProject, beside), ['found running by id', 'unknown Unavailable']);
    const three = [unused(), unused(), unused()];
    assert.deepEqual(await states(world, wrongProject, three), Array(3).fill('unknown Unavailable'));
    assert.deepEqual(await states(world, wrongProject, refs.slice(0, 1)), ['found running by id']);
    assert.deepEqual(await states(world, wrongProject, [unused()]), ['absent']);
    const listed = await world.open();
    assert.deepEqual(await states(world, listed, [...refs, unused()]), [
      ...Array(3).fill('found running by list'),
      'absent',
    ]);
  });

  it('takes a network that is not there for no absence of a server', async () => {
    for (const HCLOUD_NETWORK of ['gone', '1']) {
      const world = hetznerWorld({ env: { HCLOUD_NETWORK } });
      const cloud = await world.open();
      const { id } = world.fake.addServer('node-1');
      const refs = [byId(`hcloud://${id}`), byName('node-1')];
      assert.deepEqual(await states(world, cloud, refs), Array(2).fill('unknown Invalid'));
      for (const count of [1, 3]) {
        const unused = Array.from({ length: count }, () => byId(world.unusedProviderID()));
        assert.deepEqual(await states(world, cloud, unused), Array(count).fill('unknown Invalid'));
      }
    }
  });

  it('answers with an error for a server that cannot be read, and for the others as they are', async () => {
    const world = hetznerWorld({ env: { HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
    const cloud = await world.open();
    const vms = await Promise.all([1, 2, 3, 4, 5].map(() => world.createVm()));
    const [noAddress, noNetwork] = [...world.fake.servers.values()];
    Object.assign(noAddress!, { privateNets: [{ network: world.networkId, ip: '', alias_ips: [] }] });
    noNetwork!.ipv6 = 'none/64';
    const refs = vms.map(({ providerID }) => byId(providerID));
    const broken = Array(2).fill('unknown Invalid');
    assert.deepEqual(await states(world, cloud, refs), [...broken, ...Array(3).fill('found running by list')]);
    assert.deepEqual(await states(world, cloud, refs.slice(0, 2)), broken);
  });

  it('holds no dedicated server where they are not served', async () => {
    const world = hetznerWorld();
    const cloud = await world.open();
    assert.equal(cloud.accepts('hrobot://321'), false);
    assert.deepEqual(await states(world, cloud, [byId('hrobot://321')]), ['unknown Invalid']);
    assert.equal(world.fake.calls.length, 0);
  });
});

describe('looking up dedicated servers', () => {
  const open = async (...servers: FakeDedicatedServer[]) => {
    const world = hetznerWorld({ env: { ...withRobot, HCLOUD_INSTANCES_ADDRESS_FAMILY: 'dualstack' } });
    for (const server of servers) world.fake.dedicated.set(server.server_number, server);
    return { world, cloud: await world.open() };
  };

  it('describes a server as the classic controller does, and keeps internal addresses to the kubelet', async () => {
    const { cloud } = await open(dedicated(321));
    assert.equal(cloud.accepts('hrobot://321'), true);
    for (const ref of [byId('hrobot://321'), byId('hcloud://bm-321'), byName('metal-321')]) {
      const [lookup] = (await cloud.instances.lookup([ref])).values();
      assert.ok(lookup?.state === 'found', short(lookup));
      assert.deepEqual(lookup.instance, {
        cloud: 'hetzner',
        id: 'bm-321',
        providerID: 'hrobot://321',
        incarnation: 'bm-321',
        name: 'metal-321',
        zone: 'fsn1-dc14',
        region: 'fsn1',
        type: 'EX44-Ltd.',
        addresses: [
          { type: 'Hostname', address: 'metal-321' },
          { type: 'ExternalIP', address: '2001:db8:321::1' },
          { type: 'ExternalIP', address: '192.0.2.71' },
        ],
        keepsInternalIPs: true,
        labels: { 'instance.hetzner.cloud/provided-by': 'robot' },
      });
    }
  });

  it('reads the list of the robot once a minute and the power of a server every five minutes', async () => {
    const { world, cloud } = await open(dedicated(1), dedicated(2), dedicated(3));
    const refs = [1, 2, 3].map((number) => byId(`hrobot://${number}`));
    const expected = Array(3).fill('found running by list');
    assert.deepEqual(await states(world, cloud, refs), expected);
    assert.deepEqual(await states(world, cloud, refs), expected);
    const all = ['/robot/server', '/robot/reset/1', '/robot/reset/2', '/robot/reset/3'];
    assert.deepEqual(paths(world), all);
    await world.pass(61_000);
    await states(world, cloud, refs);
    assert.deepEqual(paths(world), [...all, '/robot/server']);
    await world.pass(240_000);
    world.fake.dedicated.get(3)!.operatingStatus = 'shut off';
    assert.deepEqual(await states(world, cloud, refs), [...expected.slice(1), 'found stopped by list']);
    assert.deepEqual(paths(world, 5).toSorted(), all.toSorted());
  });

  it('asks a server that was off for its power again after 20 s', async () => {
    const { world, cloud } = await open(dedicated(1, { operatingStatus: 'shut off' }));
    const ask = () => states(world, cloud, [byId('hrobot://1')]);
    assert.deepEqual(await ask(), ['found stopped by id']);
    world.fake.dedicated.get(1)!.operatingStatus = 'running';
    await world.pass(19_000);
    assert.deepEqual(await ask(), ['found stopped by id']);
    await world.pass(1000);
    assert.deepEqual(await ask(), ['found running by id']);
  });

  it('takes a server without reset option for running', async () => {
    const { world, cloud } = await open(dedicated(1, { operatingStatus: undefined }));
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['found running by id']);
  });

  it('counts a server as absent only after the credential has shown another one that was asked for', async () => {
    const { world, cloud } = await open(dedicated(1));
    assert.deepEqual(await states(world, cloud, [byId('hrobot://9')]), ['unknown Unavailable']);
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1'), byId('hrobot://9')]), [
      'found running by id',
      'absent',
    ]);
    const other = await world.open();
    world.fake.dedicated.clear();
    assert.deepEqual(
      await states(
        world,
        other,
        [1, 2, 3].map((number) => byId(`hrobot://${number}`)),
      ),
      [...Array(3).fill('unknown Unavailable')],
    );
  });

  it('takes no other 404 of the robot for the absence of a server than the one about that server', async () => {
    const { world, cloud } = await open(dedicated(1));
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['found running by id']);
    const error = { status: 404, code: 'NOT_FOUND', message: 'not found' };
    world.fake.fault = ({ path }) => (path.startsWith('/robot/') ? { status: 404, body: { error } } : undefined);
    assert.deepEqual(await states(world, cloud, [byId('hrobot://9')]), ['unknown Unavailable']);
    await world.pass(61_000);
    assert.deepEqual(await states(world, cloud, [byName('metal-1')]), ['unknown Unavailable']);
    world.fake.fault = undefined;
    assert.deepEqual(await states(world, cloud, [byId('hrobot://9')]), ['absent']);
  });

  it('keeps a failure of one API from the servers of the other', async () => {
    const { world, cloud } = await open(dedicated(1), dedicated(2), dedicated(3));
    const vms = await Promise.all([1, 2, 3].map(() => world.createVm()));
    const refs = [...vms.map(({ providerID }) => byId(providerID)), ...[1, 2, 3].map((one) => byId(`hrobot://${one}`))];
    for (const [failing, expected] of [
      ['/robot/', [...Array(3).fill('found running by list'), ...Array(3).fill('unknown Unavailable')]],
      ['/v1/', [...Array(3).fill('unknown Unavailable'), ...Array(3).fill('found running by list')]],
    ] as const) {
      world.fake.fault = ({ path }) => (path.startsWith(failing) ? { status: 503, body: 'no' } : undefined);
      assert.deepEqual(await states(world, cloud, refs), expected, failing);
    }
  });

  it('answers with Conflict for a name that both APIs know', async () => {
    const { world, cloud } = await open(dedicated(1, { server_name: 'twin' }));
    world.fake.addServer('twin');
    assert.deepEqual(await states(world, cloud, [byName('twin'), byName('other')]), [
      'unknown Conflict',
      'unknown NotFound',
    ]);
  });

  it('shows a refused password to the robot once in ten minutes, which blocks the address after three', async () => {
    const { world, cloud } = await open(dedicated(1));
    const error = { status: 401, code: 'UNAUTHORIZED', message: 'Unauthorized' };
    world.fake.fault = ({ path }) => (path.startsWith('/robot/') ? { status: 401, body: { error } } : undefined);
    const refused = async () =>
      assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['unknown Unauthorized']);
    for (let each = 0; each < 5; each += 1) await refused();
    assert.equal(world.fake.calls.length, 1);
    await world.pass(599_000);
    await refused();
    assert.equal(world.fake.calls.length, 1);
    world.fake.fault = undefined;
    await world.pass(2000);
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['found running by id']);
  });

  it('shows a refused password once, too, where several servers are asked for at once', async () => {
    const { world, cloud } = await open(dedicated(1), dedicated(2), dedicated(3));
    const error = { status: 401, code: 'UNAUTHORIZED', message: 'Unauthorized' };
    world.fake.fault = ({ path }) => (path.startsWith('/robot/') ? { status: 401, body: { error } } : undefined);
    const answers = [1, 2, 3].map((number) => states(world, cloud, [byId(`hrobot://${number}`)]));
    assert.deepEqual((await Promise.all(answers)).flat(), Array(3).fill('unknown Unauthorized'));
    assert.equal(world.fake.calls.length, 1);
  });

  it('rests as the robot asks when its limit is reached', async () => {
    const { world, cloud } = await open(dedicated(1));
    const error = { status: 403, code: 'RATE_LIMIT_EXCEEDED', message: 'rate limit exceeded', max_request: 200 };
    world.fake.fault = ({ path }) => (path.startsWith('/robot/') ? { status: 403, body: { error } } : undefined);
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['unknown Throttled']);
    const calls = world.fake.calls.length;
    assert.deepEqual(await states(world, cloud, [byId('hrobot://1')]), ['unknown Throttled']);
    assert.equal(world.fake.calls.length, calls);
  });
});
