import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import { createFakeDigitalOcean, token } from '../../../test/clouds/digitalocean/fake/fake-digitalocean.ts';
import type { InstanceRef } from '../cloud.ts';
import { readConfig } from './config.ts';
import { cloudModule, openDigitalOcean } from './index.ts';

const byId = (id: number): InstanceRef => ({ by: 'providerID', providerID: `digitalocean://${id}` });
const byName = (name: string): InstanceRef => ({ by: 'name', name });

async function setUp(env: Readonly<Record<string, string>> = {}) {
  const clock = fakeClock();
  const fake = createFakeDigitalOcean(clock);
  const variables = { DO_ACCESS_TOKEN: token, DO_OVERRIDE_URL: 'http://do.test', ...env };
  const config = await readConfig(undefined, variables, async () => undefined);
  assert.ok(!('reportOnly' in config));
  const context = { clock, random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
  const cloud = openDigitalOcean({ config, context, wrapHttp: () => fake.http });
  const lookup = async (...refs: InstanceRef[]) => {
    const found = await advanceDuring(clock, cloud.instances.lookup(refs));
    return refs.map((ref) => found.get(ref.by === 'name' ? `name:${ref.name}` : ref.providerID)!);
  };
  return { fake, cloud, lookup, during: <T>(work: Promise<T>) => advanceDuring(clock, work) };
}
const paths = ({ calls }: { readonly calls: readonly { readonly path: string; readonly query: URLSearchParams }[] }) =>
  calls.map(({ path, query }) => path + (query.get('type') ?? ''));

describe('droplets', () => {
  it('shows region and size of a droplet, no zone, and the first address of each kind', async () => {
    const { fake, lookup } = await setUp();
    const { id, networks } = fake.addDroplet('node-1');
    (networks.v4 as object[]).push({ ip_address: '203.0.113.9', type: 'public' });
    const [found] = await lookup(byId(id));
    assert.ok(found?.state === 'found');
    assert.deepEqual(found.instance, {
      cloud: 'digitalocean',
      id: String(id),
      name: 'node-1',
      incarnation: String(id),
      providerID: `digitalocean://${id}`,
      region: 'nyc3',
      type: 's-2vcpu-2gb',
      addresses: [
        { type: 'Hostname', address: 'node-1' },
        { type: 'InternalIP', address: networks.v4[1]!['ip_address'] },
        { type: 'ExternalIP', address: networks.v4[0]!['ip_address'] },
        { type: 'ExternalIP', address: networks.v6[0]!['ip_address'] },
      ],
    });
  });

  for (const [status, power] of [
    ['active', 'running'],
    ['off', 'stopped'],
    ['new', 'changing'],
    ['archive', 'changing'],
  ] as const)
    it(`shows a droplet that is ${status} as ${power}`, async () => {
      const { fake, lookup } = await setUp();
      const [found] = await lookup(byId(fake.addDroplet('n', { status }).id));
      assert.equal(found?.state === 'found' && found.power, power);
    });

  it('lists droplets where more than two are asked for, and proves an absence by the id', async () => {
    const { fake, lookup } = await setUp();
    const ids = ['a', 'b', 'c'].map((name) => fake.addDroplet(name).id);
    const states = (await lookup(...ids.map(byId), byId(77))).map(({ state }) => state);
    assert.deepEqual(states, ['found', 'found', 'found', 'absent']);
    assert.deepEqual(paths(fake), ['/v2/droplets', '/v2/dropletsgpus', '/v2/droplets/77']);
  });

  it('reads the list of droplets with a GPU where a droplet is missing in the other list', async () => {
    const { fake, lookup } = await setUp();
    const ids = ['a', 'b'].map((name) => fake.addDroplet(name).id);
    const trainer = fake.addDroplet('trainer', { isGpu: true });
    const states = (await lookup(...ids.map(byId), byId(trainer.id))).map(({ state }) => state);
    assert.deepEqual(states, ['found', 'found', 'found']);
    assert.deepEqual(paths(fake), ['/v2/droplets', '/v2/dropletsgpus']);
  });

  it('finds droplets with a GPU by name, also when few are asked for', async () => {
    const { fake, lookup } = await setUp();
    const [plain, trainer] = [fake.addDroplet('plain'), fake.addDroplet('trainer', { isGpu: true })];
    const found = await lookup(byName('plain'), byName('trainer'));
    assert.deepEqual(
      found.map((one) => one?.state === 'found' && one.instance.id),
      [plain, trainer].map(({ id }) => String(id)),
    );
  });

  it("takes neither a proxy's 404 nor a list that lacks a droplet for its absence", async () => {
    const { fake, lookup } = await setUp();
    fake.fault = ({ path }) => (/\/\d+$/.test(path) ? { status: 404, body: '<html>' } : undefined);
    const [one] = await lookup(byId(77));
    assert.ok(one?.state === 'unknown' && one.error.kind === 'Unavailable');
    const many = await lookup(byId(77), byId(78), byId(79));
    assert.ok(many.every(({ state }) => state === 'unknown'));
  });

  it('answers Conflict for a name of several droplets, and compares names as they are written', async () => {
    const { fake, lookup } = await setUp();
    for (const name of ['twin', 'twin', 'Node-1']) fake.addDroplet(name);
    const [twin, node] = await lookup(byName('twin'), byName('node-1'));
    assert.ok(twin?.state === 'unknown' && twin.error.kind === 'Conflict');
    assert.ok(node?.state === 'unknown' && node.error.kind === 'NotFound');
  });

  it('answers unknown for a droplet that cannot be read, and finds the others', async () => {
    const { fake, lookup } = await setUp();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => fake.addDroplet(name));
    Object.assign(b!.networks, { v4: [{ ip_address: '10.0.0', type: 'private' }] });
    const states = (await lookup(byId(a!.id), byId(b!.id), byId(c!.id))).map(({ state }) => state);
    assert.deepEqual(states, ['found', 'unknown', 'found']);
  });
});

describe('the cloud', () => {
  it('identifies by the team of the token', async () => {
    const { fake, cloud, during } = await setUp();
    assert.deepEqual(await during(cloud.identify()), { scope: `do.test/${fake.team}`, account: fake.team });
  });

  it('serves load balancers where the region or the VPC is known', async () => {
    assert.equal((await setUp()).cloud.loadBalancerDriver, undefined);
    for (const env of [{ REGION: 'nyc3' }, { DO_CLUSTER_VPC_ID: '760e09ef-dc84-11e8-981e-3cfdfeaae000' }])
      assert.ok((await setUp(env)).cloud.loadBalancerDriver);
  });

  it('checks every right, and names the one that is missing', async () => {
    const { fake, cloud, during } = await setUp({ REGION: 'nyc3' });
    const wrong = async () => (await during(cloud.check())).filter(({ ok }) => !ok).map(({ name }) => name);
    assert.deepEqual(await wrong(), []);
    fake.isReadOnly = true;
    assert.deepEqual(await wrong(), ['writing']);
    assert.equal(fake.balancers.size, 0);
  });

  it('opens report-only without a token', async () => {
    const context = { clock: fakeClock(), random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    assert.ok('reportOnly' in (await cloudModule.open(undefined, context)));
  });
});
