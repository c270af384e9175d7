import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AzureWorldOptions, azureWorld } from '../../../test/clouds/azure/azure-world.ts';
import { type FakeVm, subnetOf } from '../../../test/clouds/azure/fake/fake-state.ts';
import type { FakeAnswer, Json, ReceivedCall } from '../../../test/clouds/fake-http.ts';
import { WithheldError } from '../permit.ts';
import { routeName } from './routes.ts';

const always = { permit: () => {} };

async function setUp(options: AzureWorldOptions = {}) {
  const world = azureWorld(options);
  const { routes } = await world.open();
  assert.ok(routes);
  const desired = (vm: FakeVm, destination: string, node = vm.computerName) => ({
    cluster: 'c',
    node,
    nodeUid: 'u',
    destination,
    providerID: `azure://${vm.id}`,
    addresses: [],
  });
  const create = (vm: FakeVm, destination: string, node?: string) =>
    world.during(routes.create(desired(vm, destination, node), always));
  const puts = () => world.fake.calls.filter(({ method }) => method === 'PUT');
  const names = () => world.table.routes.map(({ name }) => name);
  return { world, ...world, routes, desired, create, puts, names };
}
const byHand = (name: string, addressPrefix: string, more: Json): Json => ({
  name,
  properties: { addressPrefix, ...more },
});

describe('routes of Azure', () => {
  it('names routes of both address families as the classic controller does', async () => {
    assert.equal(routeName('node-1', '10.244.0.0/24'), 'node-1____102440024');
    assert.equal(routeName('node-1', 'fd12:3456::/64'), 'node-1____fd12345664');
    const { addVm, create, table } = await setUp();
    const vm = addVm({ families: ['IPv4', 'IPv6'] });
    await create(vm, '10.244.0.0/24');
    await create(vm, 'fd12:3456::/64');
    assert.deepEqual(
      table.routes.map(({ name, properties }) => [name, properties]),
      [
        [
          'node-1____102440024',
          { addressPrefix: '10.244.0.0/24', nextHopType: 'VirtualAppliance', nextHopIpAddress: '10.0.0.1' },
        ],
        [
          'node-1____fd12345664',
          { addressPrefix: 'fd12:3456::/64', nextHopType: 'VirtualAppliance', nextHopIpAddress: 'fd00:1::1' },
        ],
      ],
    );
  });

  it('need no public address, and no right to read one', async () => {
    const { fake, addVm, create, names } = await setUp();
    const body = { error: { code: 'AuthorizationFailed', message: 'no' } };
    fake.fault = ({ path }) => (/publicipaddresses/i.test(path) ? { status: 403, body } : undefined);
    await create(addVm({ isPublic: true }), '10.244.0.0/24');
    await create(addVm({ isPublic: true, set: fake.addSet('p', 'Uniform') }), '10.244.1.0/24');
    assert.equal(names().length, 2);
  });

  it('sends routes that gather during a write with the next one', async () => {
    const { world, addVm, routes, desired, puts, names } = await setUp();
    const vms = Array.from({ length: 20 }, () => addVm());
    await world.during(Promise.all(vms.map((vm, at) => routes.create(desired(vm, `10.244.${at}.0/24`), always))));
    assert.equal(names().length, 20);
    assert.ok(puts().length <= 4, `${puts().length} writes`);
    assert.ok(puts().every(({ headers }) => headers['if-match'] !== undefined));
  });

  it('leave everything else in the table as it is', async () => {
    const { addVm, create, table, routes, world } = await setUp();
    const kept = [
      byHand('to-the-firewall', '0.0.0.0/0', { nextHopType: 'VirtualAppliance', nextHopIpAddress: '10.9.9.9' }),
      byHand('drop', '192.0.2.0/24', { nextHopType: 'None' }),
      byHand('service-tag', 'AzureCloud.WestEurope', { nextHopType: 'Internet' }),
    ];
    table.routes = kept;
    table.tags = { team: 'network' };
    table.properties = { disableBgpRoutePropagation: true, newField: { a: 1 } };
    const route = await create(addVm(), '10.244.0.0/24');
    assert.deepEqual(table.routes.slice(0, 3), kept);
    const { routes: seen } = await world.during(routes.observe('c'));
    assert.deepEqual(
      seen.map(({ destination, via, providerID, blackhole }) => [destination, via, providerID, blackhole]),
      [
        ['0.0.0.0/0', '10.9.9.9', undefined, false],
        ['192.0.2.0/24', undefined, undefined, true],
        ['AzureCloud.WestEurope', undefined, undefined, false],
        ['10.244.0.0/24', route.via, route.providerID, false],
      ],
    );
    await world.during(routes.remove(route, always));
    assert.deepEqual(table.routes, kept);
    assert.deepEqual(table.tags, { team: 'network' });
    assert.equal(table.properties['disableBgpRoutePropagation'], true);
    assert.deepEqual(table.properties['newField'], { a: 1 });
  });

  it('keeps routes of others that come between the read and the write', async () => {
    const { fake, addVm, create, table, puts, names } = await setUp();
    let others = 0;
    fake.fault = ({ method }) => {
      if (method !== 'PUT' || others === 3) return undefined;
      others += 1;
      const hop = { nextHopType: 'VirtualAppliance', nextHopIpAddress: '10.9.9.9' };
      table.routes = [...table.routes, byHand(`other-${others}`, `192.0.${others}.0/24`, hop)];
      table.version += 1;
      return undefined;
    };
    await create(addVm(), '10.244.0.0/24');
    assert.deepEqual(names(), ['other-1', 'other-2', 'other-3', 'node-1____102440024']);
    assert.equal(puts().length, 4);
  });

  for (const [what, status, code, retryAfter] of [
    ['another operation is at work', 409, 'AnotherOperationInProgress', '7'],
    ['a retryable error comes with the status of throttling', 429, 'RetryableError', '7'],
  ] as const)
    it(`wait as long as they are told while ${what}`, async () => {
      const { fake, addVm, create, puts, clock } = await setUp();
      const body = { error: { code, message: 'busy' } };
      const times: number[] = [];
      fake.fault = ({ method }: ReceivedCall): FakeAnswer | undefined => {
        if (method !== 'PUT') return undefined;
        times.push(clock.monotonic());
        return times.length < 3 ? { status, headers: { 'retry-after': retryAfter }, body } : undefined;
      };
      await create(addVm(), '10.244.0.0/24');
      assert.equal(puts().length, 3);
      assert.ok(times[1]! - times[0]! >= 7000 && times[2]! - times[1]! >= 7000, String(times));
    });

  it('wait while the write of another client is at work on the table', async () => {
    const { world, addVm, desired, table } = await setUp();
    const [one, other] = [(await world.open()).routes!, (await world.open()).routes!];
    const vms = [addVm(), addVm()] as const;
    await world.during(
      Promise.all([
        one.create(desired(vms[0], '10.244.1.0/24'), always),
        other.create(desired(vms[1], '10.244.2.0/24'), always),
      ]),
    );
    assert.equal(table.routes.length, 2);
  });

  for (const told of ['Azure-AsyncOperation', 'Location', 'neither'] as const)
    it(`waits for the end of the operation that creates a route, told of by ${told}`, async () => {
      const { fake, addVm, create, clock, table } = await setUp();
      fake.told = told;
      fake.operationMs = 5000;
      const before = clock.monotonic();
      await create(addVm(), '10.244.0.0/24');
      assert.ok(clock.monotonic() - before >= 5000);
      assert.equal(table.routes.length, 1);
    });

  it('waits for the end of an operation that the role may not read', async () => {
    const { fake, addVm, create, clock, table } = await setUp();
    fake.operationMs = 5000;
    for (const [status, code] of [
      [403, 'AuthorizationFailed'],
      [404, 'ResourceNotFound'],
    ] as const) {
      const body = { error: { code, message: 'no' } };
      fake.fault = ({ path }) => (path.includes('/operations/') ? { status, body } : undefined);
      const before = clock.monotonic();
      await create(addVm(), `10.244.${status - 400}.0/24`);
      assert.ok(clock.monotonic() - before >= 5000);
    }
    assert.equal(table.routes.length, 2);
  });

  it('fail with the error of their operation', async () => {
    const { fake, addVm, create } = await setUp();
    const vm = addVm();
    fake.failNext = { code: 'InternalServerError', message: 'out of luck' };
    await assert.rejects(create(vm, '10.244.0.0/24'), { kind: 'Unavailable', message: /out of luck/ });
    await create(vm, '10.244.0.0/24');
  });

  it('writes a route again after a write that has failed, although the table shows it', async () => {
    const { fake, world, addVm, create, routes, puts, names } = await setUp();
    const vm = addVm();
    for (const told of ['Azure-AsyncOperation', 'neither'] as const) {
      fake.told = told;
      fake.failNext = { code: 'InternalServerError', message: 'out of luck' };
      await assert.rejects(create(vm, '10.244.0.0/24'), { kind: 'Unavailable' });
      assert.deepEqual(names(), ['node-1____102440024']);
      const before = puts().length;
      const route = await create(vm, '10.244.0.0/24');
      assert.equal(puts().length, before + 1);
      await create(vm, '10.244.0.0/24');
      assert.equal(puts().length, before + 1);
      fake.failNext = { code: 'InternalServerError', message: 'out of luck' };
      await assert.rejects(world.during(routes.remove(route, always)), { kind: 'Unavailable' });
      await world.during(routes.remove(route, always));
      assert.equal(puts().length, before + 3);
    }
  });

  it('hides a route whose write has failed until one has succeeded, and shows all others', async () => {
    const { fake, world, addVm, create, routes, puts } = await setUp();
    const vm = addVm();
    const shown = async () => (await world.during(routes.observe('c'))).routes.map(({ destination }) => destination);
    await create(vm, '10.244.0.0/24');
    fake.failNext = { code: 'InternalServerError', message: 'out of luck' };
    await assert.rejects(create(vm, '10.244.1.0/24'), { kind: 'Unavailable' });
    assert.deepEqual(await shown(), ['10.244.0.0/24']);
    await create(vm, '10.244.1.0/24');
    assert.equal(puts().length, 3);
    assert.deepEqual(await shown(), ['10.244.0.0/24', '10.244.1.0/24']);
  });

  it('waits for the operation of a write whose answer was lost, and writes no second time', async () => {
    const { fake, world, addVm, create, clock, puts, table } = await setUp();
    const vm = addVm();
    fake.operationMs = 5000;
    world.loseAnswer!(0);
    await assert.rejects(create(vm, '10.244.0.0/24'), { kind: 'Unavailable' });
    const before = clock.monotonic();
    await create(vm, '10.244.0.0/24');
    assert.ok(clock.monotonic() - before >= 4000);
    assert.equal(table.operation, undefined);
    assert.equal(puts().length, 1);
  });

  it('wait no longer than a minute for another operation: a longer time is left to the caller', async () => {
    const { fake, addVm, create, clock, puts } = await setUp();
    const vm = addVm();
    const body = { error: { code: 'AnotherOperationInProgress', message: 'busy' } };
    fake.fault = ({ method }) =>
      method === 'PUT' ? { status: 409, headers: { 'retry-after': '86400' }, body } : undefined;
    const before = clock.monotonic();
    await assert.rejects(create(vm, '10.244.0.0/24'), { kind: 'Busy', retryAfterMs: 900_000 });
    assert.ok(clock.monotonic() - before < 1000);
    assert.equal(puts().length, 1);
  });

  it('survive polls that fail, and are a timeout after two minutes', async () => {
    const { fake, addVm, create } = await setUp();
    const vm = addVm();
    let polls = 0;
    fake.fault = ({ path }) => {
      if (!path.includes('/operations/')) return undefined;
      polls += 1;
      return polls < 3 ? { status: 503 } : undefined;
    };
    await create(vm, '10.244.0.0/24');
    assert.ok(polls >= 3);
    fake.operationMs = 3_600_000;
    await assert.rejects(create(vm, '10.244.1.0/24'), { kind: 'Timeout' });
  });

  it('follow no operation to another host', async () => {
    const { fake, addVm, create } = await setUp();
    fake.fault = ({ method }) =>
      method === 'PUT'
        ? { status: 202, headers: { 'azure-asyncoperation': 'https://evil.test/operation?t=s3cret' }, body: {} }
        : undefined;
    await assert.rejects(create(addVm(), '10.244.0.0/24'), (error: Error) => {
      return /expected a URL at http:\/\/management\.azure\.test/.test(error.message) && !/s3cret/.test(error.message);
    });
    assert.ok(fake.calls.every(({ origin }) => !origin.includes('evil')));
  });

  it('create a table that is missing, in the location of the configuration', async () => {
    const { fake, addVm, create, puts, world, routes } = await setUp();
    fake.tables.clear();
    assert.deepEqual((await world.during(routes.observe('c'))).routes, []);
    await create(addVm(), '10.244.0.0/24');
    assert.equal(puts()[0]?.headers['if-none-match'], '*');
    assert.equal((await world.during(routes.observe('c'))).routes.length, 1);
    const nowhere = await setUp({ json: { location: '' } });
    nowhere.fake.tables.clear();
    const attempt = nowhere.create(nowhere.addVm(), '10.244.0.0/24');
    await assert.rejects(attempt, { kind: 'Invalid', message: /has no location/ });
  });

  it('creates the other routes of a batch where one is refused or may not be sent', async () => {
    const { world, addVm, routes, desired, names } = await setUp();
    const vms = Array.from({ length: 5 }, () => addVm());
    const withheld = () => {
      throw new WithheldError('Paused', 'paused');
    };
    const results = await world.during(
      Promise.allSettled([
        ...vms.slice(0, 3).map((vm, at) => routes.create(desired(vm, `10.244.${at}.0/24`), always)),
        routes.create(desired(vms[3]!, '10.244.3.0/24', 'a node name that Azure refuses!'), always),
        routes.create(desired(vms[4]!, '10.244.4.0/24'), { permit: withheld }),
        routes.create(desired(vms[4]!, '10.244.0.0/24'), always),
      ]),
    );
    const outcomes = results.map((one) => (one.status === 'fulfilled' ? 'ok' : (one.reason.kind ?? one.reason.reason)));
    assert.deepEqual(outcomes, ['ok', 'ok', 'ok', 'Invalid', 'Paused', 'Conflict']);
    assert.equal(names().length, 3);
  });

  it('refuses a VM of another group or without an address of the family, and what is no range', async () => {
    const { fake, addVm, create, puts } = await setUp();
    fake.groups.add('other');
    await assert.rejects(create(addVm({ group: 'other' }), '10.244.0.0/24'), { message: /expected a VM of resource/ });
    await assert.rejects(create(addVm(), 'fd12::/64'), { kind: 'Invalid', message: /has no IPv6 address/ });
    await assert.rejects(create(addVm(), 'pods'), { kind: 'Invalid', message: /expected a range/ });
    assert.equal(puts().length, 0);
  });

  it('lead to the VM that has the next hop, also as one of its further addresses and in a scale set', async () => {
    const { fake, addVm, create, table, world, routes } = await setUp();
    const set = fake.addSet('p', 'Uniform');
    fake.addSet('empty', 'Uniform');
    const [alone, instance] = [addVm(), addVm({ set })];
    const { configurations } = alone.interfaces[0]!;
    configurations.push({ ...configurations[0]!, name: 'second', primary: false, address: '10.0.77.7' });
    await create(instance, '10.244.1.0/24');
    const properties = { nextHopType: 'VirtualAppliance', nextHopIpAddress: '10.0.77.7' };
    table.routes = [...table.routes, byHand('second', '10.244.2.0/24', properties)];
    const { routes: seen } = await world.during(routes.observe('c'));
    assert.deepEqual(
      seen.map(({ providerID }) => providerID),
      [`azure://${instance.id}`, `azure://${alone.id}`],
    );
  });

  it('rejects an observation without the interfaces of a scale set that has instances', async () => {
    const { fake, addVm, create, world, routes } = await setUp();
    const set = fake.addSet('p', 'Uniform');
    const vm = addVm({ set });
    await create(vm, '10.244.1.0/24');
    const body = { error: { code: 'NotFound', message: 'Resource not found.' } };
    fake.fault = ({ path }) => (path.endsWith('/p/networkInterfaces') ? { status: 404, body } : undefined);
    await assert.rejects(world.during(routes.observe('c')), { kind: 'Unavailable' });
    fake.deleteVm(vm.id);
    const gone = async () => (await world.during(routes.observe('c'))).routes.map(({ providerID }) => providerID);
    assert.deepEqual(await gone(), [undefined]);
    fake.fault = ({ path }) => {
      if (path.endsWith('/p/networkInterfaces')) fake.sets.delete(set.id.toLowerCase());
      return undefined;
    };
    assert.deepEqual(await gone(), [undefined]);
  });

  it('lead to the VM in the network of the table where another network has the same addresses', async () => {
    const { addVm, create, table, world, routes } = await setUp();
    const [before, own, after] = [addVm(), addVm(), addVm()];
    const [configuration] = own.interfaces[0]!.configurations;
    for (const { interfaces } of [before, after])
      interfaces[0]!.configurations[0] = { ...configuration!, network: 'of-another-cluster' };
    table.properties = { subnets: [{ id: subnetOf('V') }] };
    await create(own, '10.244.1.0/24');
    const { routes: seen } = await world.during(routes.observe('c'));
    assert.deepEqual(
      seen.map(({ providerID }) => providerID),
      [`azure://${own.id}`],
    );
  });
});
