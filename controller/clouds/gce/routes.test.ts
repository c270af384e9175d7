import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { configFor, keyFile } from '../../../test/clouds/gce/fake/configuration.ts';
import { createFakeGce, network } from '../../../test/clouds/gce/fake/fake-gce.ts';
import { identified } from '../cloud.ts';
import type { DesiredRoute } from '../routes.ts';
import { readConfig } from './config.ts';
import { openGce } from './index.ts';

const origin = 'http://gce.test';
const always = { permit: () => {} };
const desired: DesiredRoute = {
  cluster: 'cluster-uid',
  node: 'n',
  nodeUid: '7e2b8c1e-0f0a-4f53-b3a5-0c8d6f1f2a3b',
  addresses: [],
  destination: '10.4.1.0/24',
  providerID: 'gce://proj/us-central1-a/n',
};

async function setUp(conf = configFor(origin)) {
  const clock = fakeClock();
  const fake = createFakeGce(clock);
  const during = <T>(work: Promise<T>) => advanceDuring(clock, work);
  const env = { GOOGLE_APPLICATION_CREDENTIALS: '/key.json' };
  const context = { clock, random: seededRandom(1), log: silentLog, onCall: () => {}, env };
  const config = readConfig({ path: 'gce.conf', text: conf });
  const opened = await openGce({
    config,
    context,
    readText: async () => keyFile(fake, origin),
    wrapHttp: () => fake.http,
  });
  assert.ok(!('reportOnly' in opened));
  const { routes } = await during(identified(opened));
  assert.ok(routes);
  fake.addVm('n');
  fake.calls.length = 0;
  return {
    fake,
    clock,
    during,
    observe: async () => (await during(routes.observe('cluster-uid'))).routes,
    create: (more: Partial<DesiredRoute> = {}) => during(routes.create({ ...desired, ...more }, always)),
    remove: (...args: Parameters<typeof routes.remove>) => during(routes.remove(...args)),
  };
}

describe('routes', () => {
  it('creates a route with the owner in the description, in one change that it waits for', async () => {
    const { fake, create } = await setUp();
    const made = await create();
    const [route] = fake.routes.values();
    assert.deepEqual(
      { ...route, id: undefined, selfLink: undefined, kind: undefined },
      {
        id: undefined,
        selfLink: undefined,
        kind: undefined,
        priority: 1000,
        destRange: '10.4.1.0/24',
        name: made.id,
        description: 'k8s-node-route mooring.dev/cluster=cluster-uid node=n',
        network: `https://www.googleapis.com/compute/v1/projects/proj/global/networks/${network}`,
        nextHopInstance: 'https://www.googleapis.com/compute/v1/projects/proj/zones/us-central1-a/instances/n',
      },
    );
    assert.match(made.id, /^k8s-7e2b8c1e-0f0a-4f53-b3a5-0c8d6f1f2a3b-[0-9a-f]{8}$/);
    assert.deepEqual(
      fake.calls.map(({ method, path }) => `${method} ${path.replace(/operation-\d+/, 'o').replace(/.*proj\//, '')}`),
      [
        'GET global/routes',
        'GET zones/us-central1-a/instances/n',
        'POST global/routes',
        'POST global/operations/o/wait',
      ],
    );
  });

  it('need no look after the table was read, until one is removed or half a minute has passed', async () => {
    const { fake, clock, observe, create, remove } = await setUp();
    const looks = () =>
      fake.calls.splice(0).filter(({ method, path }) => method === 'GET' && /routes$/.test(path)).length;
    await observe();
    assert.equal(looks(), 1);
    const made = await create();
    assert.equal(looks(), 0);
    await remove(made, always);
    await create();
    assert.equal(looks(), 1);
    await observe();
    await clock.advance(30_001);
    looks();
    await create({ destination: '10.4.2.0/24' });
    assert.equal(looks(), 1);
  });

  it('finds a route by its name that was made after the table was read', async () => {
    const { fake, observe, create } = await setUp();
    await observe();
    const { id } = await create();
    assert.equal((await create()).id, id);
    assert.equal(fake.routes.size, 1);
  });

  it('makes one read and no change for a route that stands already', async () => {
    const { fake, create } = await setUp();
    const { id } = await create();
    fake.calls.length = 0;
    assert.equal((await create()).id, id);
    assert.deepEqual(
      fake.calls.map(({ method }) => method),
      ['GET'],
    );
  });

  it('gives routes of both families of a node names of their own', async () => {
    const { fake, create } = await setUp();
    const both = [await create(), await create({ destination: 'fd00:10:1::/64' })];
    assert.deepEqual(
      [...fake.routes.keys()],
      both.map(({ id }) => id),
    );
  });

  it('finds a route of IPv6 however the API writes its range', async () => {
    const { fake, create, observe } = await setUp();
    const { id } = await create({ destination: 'fd00:10:1::/64' });
    assert.equal(fake.routes.get(id)?.destRange, 'fd00:10:1:0:0:0:0:0/64');
    assert.deepEqual(
      (await observe()).map(({ destination }) => destination),
      ['fd00:10:1::/64'],
    );
    assert.equal((await create({ destination: 'fd00:10:1::/64' })).id, id);
  });

  it('takes a route for ours by the cluster in its description', async () => {
    const { fake, create, observe } = await setUp();
    const { id } = await create();
    const route = fake.routes.get(id)!;
    const others = [
      { name: 'kubernetes-1', description: 'k8s-node-route' },
      { name: 'other-cluster', description: 'k8s-node-route mooring.dev/cluster=cluster-uid-2 node=n' },
      { name: 'kubernetes-2', description: 'k8s-node-route-2' },
      { name: 'kubernetes-3', description: undefined },
    ];
    for (const other of others) fake.routes.set(other.name, { ...route, ...other } as typeof route);
    assert.deepEqual(
      (await observe()).map(({ id: name, ours, providerID }) => [name, ours, providerID]),
      [
        [id, true],
        ['kubernetes-1', undefined],
        ...['other-cluster', 'kubernetes-2', 'kubernetes-3'].map((name) => [name, false]),
      ].map((expected) => [...expected, desired.providerID]),
    );
  });

  it('takes no route to a VM of another project for ours', async () => {
    const { fake, create, observe } = await setUp();
    const { id } = await create();
    const link = 'https://www.googleapis.com/compute/v1/projects/other/zones/us-central1-a/instances/n';
    const route = { ...fake.routes.get(id)!, nextHopInstance: link };
    fake.routes.set(id, route);
    fake.routes.set('kubernetes-1', { ...route, name: 'kubernetes-1', description: 'k8s-node-route' });
    assert.deepEqual(
      (await observe()).map(({ id: name, providerID, ours }) => [name, providerID, ours]),
      [id, 'kubernetes-1'].map((name) => [name, undefined, false]),
    );
  });

  it('leaves out routes of other networks, and shows no providerID without an instance of the project', async () => {
    const { fake, create, observe } = await setUp();
    const { id } = await create();
    const { nextHopInstance: _, ...route } = fake.routes.get(id)!;
    fake.routes.clear();
    fake.routes.set('a', { ...route, name: 'a', network: 'https://x/projects/proj/global/networks/other' });
    fake.routes.set('b', { ...route, name: 'b', nextHopGateway: 'https://x/projects/proj/global/gateways/default' });
    const elsewhere = 'https://x/projects/other/zones/us-central1-a/instances/n';
    fake.routes.set('c', { ...route, name: 'c', nextHopInstance: elsewhere });
    assert.deepEqual(
      (await observe()).map(({ id: name, providerID, blackhole }) => [name, providerID, blackhole]),
      [
        ['b', undefined, false],
        ['c', undefined, false],
      ],
    );
  });

  it('refuses a VM that forwards no packets, or that has the range as an alias', async () => {
    const { fake, create } = await setUp();
    const vm = fake.vm('us-central1-a', 'n')!;
    vm.wire.canIpForward = false;
    await assert.rejects(create(), { kind: 'Invalid', message: /n forwards no packets/ });
    vm.wire.networkInterfaces![0]!.aliasIpRanges = [{ ipCidrRange: '10.4.1.0/24' }];
    await assert.rejects(create(), { kind: 'Invalid', message: /10\.4\.1\.0\/24 is an alias range of n/ });
    assert.equal(fake.routes.size, 0);
  });

  it('refuses a VM that is not there or is of another project, and a bad destination', async () => {
    const { create } = await setUp();
    await assert.rejects(create({ providerID: 'gce://proj/us-central1-a/none' }), { kind: 'NotFound' });
    await assert.rejects(create({ providerID: 'gce://other/us-central1-a/n' }), { kind: 'Invalid' });
    await assert.rejects(create({ destination: '10.4.1.0' }), { kind: 'Invalid' });
  });

  it('rejects with Conflict where two routes have the destination, although one leads to the VM', async () => {
    const { fake, create } = await setUp();
    const { id } = await create();
    fake.routes.set('second', { ...fake.routes.get(id)!, name: 'second' });
    await assert.rejects(create(), { kind: 'Conflict' });
  });

  it('rejects where the operation of a route fails, and creates the route by the next try', async () => {
    const { fake, create } = await setUp();
    fake.operations.failNext = { code: 'RESOURCE_NOT_READY', status: 400, message: 'not ready' };
    await assert.rejects(create(), { kind: 'Busy' });
    assert.ok((await create()).ours);
  });

  it('rejects with Taken where another route has the name, after looks for an earlier try', async () => {
    const { fake, clock, create } = await setUp();
    const { id } = await create();
    fake.routes.set(id, { ...fake.routes.get(id)!, destRange: '10.9.0.0/24' });
    const before = clock.monotonic();
    await assert.rejects(create(), { kind: 'Taken' });
    assert.ok(clock.monotonic() - before >= 9000);
  });

  it('takes a route that is gone for deleted, but not by a 404 about the project', async () => {
    const { fake, create, remove } = await setUp();
    const made = await create();
    await remove(made, always);
    await remove(made, always);
    const message = "The resource 'projects/proj' was not found";
    const errors = [{ reason: 'notFound' }];
    fake.fault = () => ({ status: 404, body: { error: { code: 404, message, errors } } });
    await assert.rejects(remove(made, always), { kind: 'Unavailable' });
  });

  it('reads the routes of a Shared VPC in the project of the network', async () => {
    const { fake, observe } = await setUp(configFor(origin, 'network-project-id = host'));
    await assert.rejects(observe(), { kind: 'NotFound' });
    assert.equal(fake.calls[0]!.path, '/compute/v1/projects/host/global/routes');
  });

  it("takes the network of the controller's own VM where none is configured", async () => {
    const { fake, create, observe } = await setUp(configFor(origin).replace(/network-name = .*/, ''));
    await assert.rejects(observe(), { kind: 'Invalid', message: /network-name: missing/ });
    fake.identity.metadata.set('instance/network-interfaces/0/network', 'projects/881234567890/networks/default');
    assert.ok((await create()).ours);
    assert.equal((await observe()).length, 1);
  });
});
