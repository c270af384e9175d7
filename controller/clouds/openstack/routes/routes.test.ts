import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { fakeHttp } from '../../../../test/clouds/openstack/fake/fake-openstack.ts';
import {
  addressOf,
  always,
  desired,
  pairs,
  range,
  refused,
  setUp,
  table,
  writes,
} from '../../../../test/clouds/openstack/routes-harness.ts';
import { WithheldError } from '../../permit.ts';
import type { OpenStackRoute } from './index.ts';

for (const atomic of [true, false]) {
  describe(`routes of a router that takes ${atomic ? 'single routes' : 'whole lists alone'}`, () => {
    it('creates a route to the port of the server after the pair on the port', async () => {
      const world = setUp({ atomic });
      const made = await world.routes().create(desired(1), always);
      assert.deepEqual(table(world), [`${range(1)} ${addressOf(1)}`]);
      assert.deepEqual(pairs(world, 'p1'), [range(1)]);
      assert.deepEqual(writes(world), ['ports p1', atomic ? 'routers r1/add_extraroutes' : 'routers r1']);
      const { routes } = await world.routes().observe('c');
      assert.deepEqual(routes, [made]);
      assert.deepEqual([made.providerID, made.via, made.blackhole], ['openstack:///s1', addressOf(1), false]);
      await world.routes().remove(made, always);
      assert.deepEqual([table(world), pairs(world, 'p1')], [[], []]);
    });

    it('shares calls among routes when many come at once', async () => {
      const world = setUp({ atomic, servers: 20 });
      const routes = world.routes();
      await Promise.all(Array.from({ length: 20 }, (_, n) => routes.create(desired(n), always)));
      assert.equal(table(world).length, 20);
      const ofRouter = writes(world).filter((path) => path.startsWith('routers'));
      assert.equal(ofRouter.length, 1);
      const seen = (await routes.observe('c')).routes;
      world.fake.calls.length = 0;
      await Promise.all(seen.map((route) => routes.remove(route, always)));
      assert.deepEqual(table(world), []);
      assert.equal(writes(world).filter((path) => path.startsWith('routers')).length, 1);
      assert.ok(!world.fake.ports.some((port) => (port.pairs ?? []).length > 0));
    });

    it('makes the changes of other callers when one lacks its permit', async () => {
      const world = setUp({ atomic });
      const routes = world.routes();
      const permit = () => {
        throw new WithheldError('Paused', 'paused');
      };
      const all = await Promise.allSettled([
        routes.create(desired(0), always),
        routes.create(desired(1), { permit }),
        routes.create(desired(2), always),
      ]);
      assert.deepEqual(
        all.map((one) => (one.status === 'fulfilled' ? 'made' : String(one.reason.name))),
        ['made', 'WithheldError', 'made'],
      );
      assert.deepEqual(
        table(world),
        [0, 2].map((n) => `${range(n)} ${addressOf(n)}`),
      );
      assert.deepEqual(pairs(world, 'p1'), []);
    });

    it('fills a full table, and refuses the rest', async () => {
      const world = setUp({ atomic, servers: 12 });
      world.fake.maxRoutes = 7;
      const routes = world.routes();
      const all = await Promise.all(Array.from({ length: 12 }, (_, n) => refused(routes.create(desired(n), always))));
      assert.equal(all.filter((one) => one === 'made').length, 7);
      assert.equal(all.filter((one) => one === 'QuotaExceeded').length, 5);
      assert.equal(table(world).length, 7);
    });

    it('makes the other routes of a call when Neutron refuses one', async () => {
      const world = setUp({ atomic, servers: 6 });
      const astray = { id: 'astray', deviceId: 's9', networkId: 'n1', ips: ['192.0.2.9'] };
      world.fake.ports.push(astray);
      const routes = world.routes();
      const wanted = [desired(0), desired(9), desired(2), desired(3), desired(5)];
      const all = await Promise.all(wanted.map((route) => refused(routes.create(route, always))));
      assert.deepEqual(all, ['made', 'Invalid', 'made', 'made', 'made']);
    });

    it("loses nothing with two writers, each other's routes and pairs included", async () => {
      const change = fc.record({
        writer: fc.integer({ min: 0, max: 2 }),
        server: fc.integer({ min: 0, max: 2 }),
        number: fc.integer({ min: 0, max: 5 }),
        delay: fc.integer({ min: 0, max: 12 }),
      });
      const turns = async (count: number) => {
        for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      };
      await fc.assert(
        fc.asyncProperty(
          fc.array(change, { minLength: 2, maxLength: 14 }),
          fc.integer({ min: 0, max: 5 }),
          async (changes, pace) => {
            const world = setUp({ atomic });
            const inner = fakeHttp(world.fake);
            const writers = [0, 1, 2].map((n) =>
              world.routes(async (request) => {
                await turns((n * pace) % 7);
                return inner(request);
              }),
            );
            // A foreign pair on a port, and a foreign route in the table.
            world.fake.ports.find(({ id }) => id === 'p0')!.pairs = [{ ip_address: '172.16.0.1' }];
            world.fake.routers.get('r1')!.routes = [{ destination: '172.30.0.0/16', nexthop: addressOf(3) }];
            const ends = await Promise.all(
              changes.map(async ({ writer, server, number, delay }) => {
                await turns(delay);
                return refused(writers[writer]!.create(desired(server, range(number)), always));
              }),
            );
            const expected = new Map<string, string>([['172.30.0.0/16', addressOf(3)]]);
            for (const [at, end] of ends.entries()) {
              const { server, number } = changes[at]!;
              if (end !== 'made') assert.equal(end, 'Conflict');
              else {
                assert.ok(
                  [undefined, addressOf(server)].includes(expected.get(range(number))),
                  'a destination has two next hops',
                );
                expected.set(range(number), addressOf(server));
              }
            }
            for (const [destination, nexthop] of expected)
              assert.ok(table(world).includes(`${destination} ${nexthop}`));
            assert.equal(
              new Set(world.fake.routers.get('r1')!.routes.map(({ destination }) => destination)).size,
              table(world).length,
            );
            assert.ok(pairs(world, 'p0').includes('172.16.0.1'));
            const { routes } = await world.routes().observe('c');
            for (const route of routes.slice(1)) assert.equal(route.blackhole, route.destination === '172.30.0.0/16');
          },
        ),
        { numRuns: 60 },
      );
    });
  });
}

describe('routes of a router', () => {
  it('shows a route without a port, or with one that does not admit the range, as a blackhole', async () => {
    const world = setUp();
    const routes = world.routes();
    await routes.create(desired(1), always);
    await routes.create(desired(2), always);
    world.fake.ports.splice(
      world.fake.ports.findIndex(({ id }) => id === 'p2'),
      1,
    );
    world.fake.ports.find(({ id }) => id === 'p1')!.pairs = [];
    const seen = (await routes.observe('c')).routes.map(({ destination, providerID, blackhole }) => [
      destination,
      providerID,
      blackhole,
    ]);
    assert.deepEqual(seen, [
      [range(1), 'openstack:///s1', true],
      [range(2), undefined, true],
    ]);
  });

  it('uses a wider existing pair, and keeps it', async () => {
    const world = setUp();
    const port = world.fake.ports.find(({ id }) => id === 'p1')!;
    port.pairs = [{ ip_address: '10.244.0.0/16' }];
    const made = await world.routes().create(desired(1), always);
    assert.deepEqual(writes(world), ['routers r1/add_extraroutes']);
    assert.equal((await world.routes().observe('c')).routes[0]?.blackhole, false);
    await world.routes().remove(made, always);
    assert.deepEqual(pairs(world, 'p1'), ['10.244.0.0/16']);
  });

  it('needs no pair on a port without port security, nor in a Neutron without pairs', async () => {
    const open = setUp();
    Object.assign(open.fake.ports.find(({ id }) => id === 'p1')!, { portSecurity: false });
    await open.routes().create(desired(1), always);
    assert.deepEqual(pairs(open, 'p1'), []);
    const without = setUp();
    without.fake.extensions.splice(without.fake.extensions.indexOf('allowed-address-pairs'), 1);
    await without.routes().create(desired(1), always);
    assert.deepEqual(pairs(without, 'p1'), []);
    assert.equal((await without.routes().observe('c')).routes[0]?.blackhole, false);
  });

  it('opens the port of one Node in one call for both families', async () => {
    const world = setUp();
    const routes = world.routes();
    await Promise.all([
      routes.create(desired(1), always),
      routes.create({ ...desired(1, 'fd00:10:0:1::/64'), addresses: [addressOf(1), 'fd20::11'] }, always),
    ]);
    assert.deepEqual(table(world), [`${range(1)} ${addressOf(1)}`, 'fd00:10:0:1::/64 fd20::11']);
    assert.deepEqual(pairs(world, 'p1'), [range(1), 'fd00:10:0:1::/64']);
    assert.deepEqual(writes(world), ['ports p1', 'routers r1/add_extraroutes']);
  });

  it("takes the first of the Node's addresses that the router reaches", async () => {
    const world = setUp();
    world.fake.ports.push({ id: 'other', deviceId: 's1', networkId: 'n2', ips: ['192.168.9.1'] });
    world.fake.ports.push({ id: 'second', deviceId: 's1', networkId: 'n1', ips: ['10.20.7.7'] });
    await world.routes().create({ ...desired(1), addresses: ['192.168.9.1', '10.20.7.7', addressOf(1)] }, always);
    assert.deepEqual(table(world), [`${range(1)} 10.20.7.7`]);
  });

  it('refuses a server by name that the router does not reach', async () => {
    const world = setUp();
    await assert.rejects(
      world.routes().create(desired(77), always),
      /server s77 of node-77 has no IPv4 address in a network of the router/,
    );
    assert.deepEqual(writes(world), []);
  });

  it('recognises and deletes a route in another spelling', async () => {
    const world = setUp();
    world.fake.routers.get('r1')!.routes = [{ destination: '10.244.1.77/24', nexthop: addressOf(1) }];
    const [route] = (await world.routes().observe('c')).routes;
    assert.equal(route?.destination, range(1));
    assert.deepEqual(await refused(world.routes().create(desired(2, range(1)), always)), 'Conflict');
    assert.equal((await world.routes().create(desired(1), always)).id, route.id);
    await world.routes().remove(route, always);
    assert.deepEqual(table(world), []);
  });

  it('names a Neutron whose routers take no routes', async () => {
    const world = setUp();
    world.fake.extensions.length = 0;
    await assert.rejects(world.routes().observe('c'), /neither the extension extraroute nor extraroute-atomic/);
  });

  it('costs two reads for an empty table, one more for each fifty routes, and the extensions once', async () => {
    const world = setUp({ servers: 120 });
    world.fake.maxRoutes = 500;
    const routes = world.routes();
    const reads = async () => {
      world.fake.calls.length = 0;
      await routes.observe('c');
      return world.fake.calls.filter(({ service }) => service === 'network').length;
    };
    assert.equal(await reads(), 3);
    assert.equal(await reads(), 2);
    await Promise.all(Array.from({ length: 120 }, (_, n) => routes.create(desired(n), always)));
    assert.equal(await reads(), 5);
  });

  it('costs one read and two writes for each route after a read of the table', async () => {
    const world = setUp();
    const routes = world.routes();
    await routes.observe('c');
    const calls = async (work: Promise<unknown>) => {
      world.fake.calls.length = 0;
      await work;
      return world.fake.calls.map(({ method, path }) => `${method} ${path}`);
    };
    const made: OpenStackRoute[] = [];
    assert.deepEqual(await calls(routes.create(desired(1), always).then((route) => made.push(route))), [
      'GET /ports',
      'PUT /ports/p1',
      'PUT /routers/r1/add_extraroutes',
    ]);
    assert.deepEqual(await calls(routes.remove(made[0]!, always)), [
      'GET /ports',
      'PUT /ports/p1',
      'PUT /routers/r1/remove_extraroutes',
    ]);
  });

  it('finds changes of the table since its last read', async () => {
    const world = setUp();
    const router = world.fake.routers.get('r1')!;
    const routes = world.routes();
    const made = await routes.create(desired(1), always);
    // A foreign change replaces it by another.
    router.routes = [{ destination: range(2), nexthop: addressOf(3) }];
    router.revision += 1;
    assert.equal((await routes.create(desired(1), always)).id, made.id);
    assert.equal(await refused(routes.create(desired(2), always)), 'Conflict');
    assert.deepEqual(table(world), [`${range(1)} ${addressOf(1)}`, `${range(2)} ${addressOf(3)}`]);
    // And in another network, where the router has an interface now.
    world.fake.ports.push({
      id: 'rp2',
      deviceId: 'r1',
      networkId: 'n2',
      ips: ['10.30.0.1'],
      deviceOwner: 'network:router_interface',
    });
    world.fake.subnets.push({ id: 's2', networkId: 'n2', cidr: '10.30.0.0/16' });
    world.fake.ports.push({ id: 'q', deviceId: 's50', networkId: 'n2', ips: ['10.30.0.50'] });
    assert.equal((await routes.create(desired(50), always)).stored.nexthop, '10.30.0.50');
  });

  it('adds a route without If-Match where the router has no revisions', async () => {
    const world = setUp({ ifMatch: false });
    await world.routes().create(desired(1), always);
    assert.ok(world.fake.calls.every(({ headers }) => headers['if-match'] === undefined));
    assert.deepEqual(table(world), [`${range(1)} ${addressOf(1)}`]);
  });

  it('answers a caller that gives up before its turn, without a call', async () => {
    const world = setUp();
    const routes = world.routes();
    const signal = AbortSignal.abort();
    assert.equal(await refused(routes.create(desired(1), { ...always, signal })), 'Unavailable');
    assert.deepEqual(writes(world), []);
    await routes.create(desired(2), always);
    assert.equal(table(world).length, 1);
  });
});
