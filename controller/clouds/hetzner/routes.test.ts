import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeCall } from '../../../test/clouds/fake-http.ts';
import { type HetznerWorld, hetznerWorld } from '../../../test/clouds/hetzner/hetzner-world.ts';
import type { CloudVm } from '../../../test/clouds/suite/world.ts';
import type { DesiredRoute, Routes } from '../routes.ts';

const always = { permit: () => {} };

async function open() {
  const world = hetznerWorld();
  const { routes } = await world.open();
  assert.ok(routes);
  return { world, routes, network: world.fake.networks.get(world.networkId)! };
}

const desired = (vm: CloudVm, destination: string): DesiredRoute => ({
  cluster: 'c',
  node: vm.name,
  nodeUid: 'u',
  destination,
  providerID: vm.providerID,
  addresses: vm.addresses,
});

const create = (world: HetznerWorld, routes: Routes, vm: CloudVm, destination: string) =>
  world.during(routes.create(desired(vm, destination), always));

const changes = (calls: readonly FakeCall[]) => calls.filter(({ method }) => method === 'POST').length;

describe('pod routes in a network of Hetzner Cloud', () => {
  it('sends one change for each route, after the one before', async () => {
    const { world, routes, network } = await open();
    const vms = await Promise.all([1, 2, 3].map(() => world.createVm()));
    const made = vms.map((vm, at) => routes.create(desired(vm, `10.244.${at}.0/24`), always));
    await world.during(Promise.all(made));
    assert.deepEqual(
      network.routes.map(({ destination, gateway }) => `${destination} ${gateway}`).toSorted(),
      vms.map(({ addresses }, at) => `10.244.${at}.0/24 ${addresses[0]}`),
    );
    assert.equal(changes(world.fake.calls), 3);
  });

  it('repeats a route change while another action locks the network, and gives up after three tries', async () => {
    const { world, routes, network } = await open();
    const vm = await world.createVm();
    world.fake.actions.start('change_ip_range', [{ id: network.id, type: 'network' }]);
    await create(world, routes, vm, '10.244.1.0/24');
    assert.equal(changes(world.fake.calls), 2);
    world.fake.actions.durationMs = 60_000;
    world.fake.actions.start('change_ip_range', [{ id: network.id, type: 'network' }]);
    await assert.rejects(create(world, routes, vm, '10.244.2.0/24'), { kind: 'Busy' });
    assert.equal(changes(world.fake.calls), 5);
    assert.equal(network.routes.length, 1);
  });

  it('goes on after a minute behind an action that never ends', async () => {
    const { world, routes, network } = await open();
    const [first, second] = await Promise.all([world.createVm(), world.createVm()]);
    world.fake.actions.durationMs = 3_600_000;
    const hanging = assert.rejects(routes.create(desired(first, '10.244.1.0/24'), always), { kind: 'Timeout' });
    await world.pass(30_000);
    assert.equal(changes(world.fake.calls), 1);
    const behind = assert.rejects(routes.create(desired(second, '10.244.2.0/24'), always), { kind: 'Busy' });
    await world.pass(45_000);
    await Promise.all([hanging, behind]);
    assert.equal(changes(world.fake.calls), 4);
    assert.equal(network.routes.length, 0);
  });

  it('makes routes inside the range of the network alone, also when it has grown', async () => {
    const { world, routes, network } = await open();
    const vm = await world.createVm();
    network.ip_range = '10.0.0.0/16';
    const outside = create(world, routes, vm, '10.244.1.0/24');
    await assert.rejects(outside, {
      kind: 'Invalid',
      message: /10\.244\.1\.0\/24, expected a range inside 10\.0\.0\.0\/16/,
    });
    assert.equal(changes(world.fake.calls), 0);
    network.ip_range = '10.0.0.0/8';
    await create(world, routes, vm, '10.244.1.0/24');
    assert.equal(network.routes.length, 1);
  });

  it('refuses routes that a network cannot have, and says why', async () => {
    const { world, routes } = await open();
    const vm = await world.createVm();
    const { id } = world.fake.addServer('elsewhere');
    const elsewhere = { ...vm, providerID: `hcloud://${id}` };
    await assert.rejects(create(world, routes, elsewhere, '10.244.1.0/24'), {
      kind: 'Invalid',
      message: new RegExp(`server ${id} is not in network ${world.networkId}`),
    });
    await assert.rejects(create(world, routes, vm, 'fd00::/64'), {
      kind: 'Invalid',
      message: /expected an IPv4 range/,
    });
    const robot = { ...vm, providerID: 'hrobot://1' };
    await assert.rejects(create(world, routes, robot, '10.244.1.0/24'), { kind: 'Invalid', message: /hrobot:\/\/1/ });
    assert.equal(changes(world.fake.calls), 0);
  });

  it('reports a conflict where a wider route is in the way, and leaves that route', async () => {
    const { world, routes, network } = await open();
    const [vm, other] = [await world.createVm(), await world.createVm()];
    await world.createForeignRoute('10.244.0.0/16', other);
    await assert.rejects(create(world, routes, vm, '10.244.1.0/24'), {
      kind: 'Conflict',
      message: new RegExp(`10.244.0.0/16 is routed to ${other.addresses[0]} already`),
    });
    assert.equal(network.routes.length, 1);
  });

  it('makes routes beside a default route, and reports no conflict with it', async () => {
    const { world, routes, network } = await open();
    const [vm, gateway] = [await world.createVm(), await world.createVm()];
    await world.createForeignRoute('0.0.0.0/0', gateway);
    await create(world, routes, vm, '10.244.1.0/24');
    assert.equal(network.routes.length, 2);
    world.fake.actions.durationMs = 60_000;
    world.fake.actions.start('change_ip_range', [{ id: network.id, type: 'network' }]);
    await assert.rejects(create(world, routes, vm, '10.244.2.0/24'), { kind: 'Busy' });
  });

  it('fails a route with its action, and makes it when asked again', async () => {
    const { world, routes, network } = await open();
    const vm = await world.createVm();
    world.fake.actions.failNext = { code: 'action_failed', message: 'no luck' };
    await assert.rejects(create(world, routes, vm, '10.244.1.0/24'), { kind: 'Unavailable', message: /no luck/ });
    await create(world, routes, vm, '10.244.1.0/24');
    assert.equal(network.routes.length, 1);
  });

  it('shows the server that has the gateway of a route, as its own address or as an alias', async () => {
    const { world, routes, network } = await open();
    const vm = await world.createVm();
    const server = world.fake.servers.get(Number(vm.providerID.slice('hcloud://'.length)))!;
    server.privateNets[0]!.alias_ips.push('10.0.0.99');
    network.routes = [
      { destination: '10.244.1.0/24', gateway: '10.0.0.99' },
      { destination: '10.244.2.0/24', gateway: '10.0.0.98' },
    ];
    const { routes: seen } = await world.during(routes.observe('c'));
    assert.deepEqual(
      seen.map(({ providerID, via, blackhole }) => [providerID, via, blackhole]),
      [
        [vm.providerID, '10.0.0.99', false],
        [undefined, '10.0.0.98', true],
      ],
    );
  });

  it('reads the network before the servers, so that a new server is not taken for a missing one', async () => {
    const { world, routes } = await open();
    let vm: CloudVm | undefined;
    await world.during(routes.observe('c'));
    const before = world.fake.calls.length;
    const joined = world.createVm();
    world.fake.fault = ({ path }) => {
      if (path.startsWith('/v1/servers') && vm === undefined) assert.equal(world.fake.calls.length - before, 2);
      return undefined;
    };
    vm = await joined;
    await world.createForeignRoute('10.244.1.0/24', vm);
    const { routes: seen } = await world.during(routes.observe('c'));
    assert.equal(seen[0]?.blackhole, false);
    assert.deepEqual(
      world.fake.calls.slice(before).map(({ path }) => path),
      [`/v1/networks/${world.networkId}`, '/v1/servers'],
    );
  });
});
