import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { robotUser, token } from '../../../test/clouds/hetzner/fake-hetzner.ts';
import { hetznerWorld, withRobot } from '../../../test/clouds/hetzner/hetzner-world.ts';
import type { OpenedCloud } from '../cloud.ts';
import { cloudModule } from './index.ts';

const withoutNetwork = { HCLOUD_NETWORK: '' };

async function open(options: Parameters<typeof hetznerWorld>[0] = {}) {
  const world = hetznerWorld(options);
  return { world, cloud: (await world.open()) as OpenedCloud };
}

describe('one project of Hetzner Cloud', () => {
  it('identifies the project by its network, and knows the scope from before there was one', async () => {
    const { world, cloud } = await open();
    const expected = {
      scope: `hetzner.test/network-${world.networkId}`,
      account: `network-${world.networkId}`,
      formerScopes: ['hetzner.test/project'],
    };
    assert.deepEqual(await cloud.identify(), expected);
    const { world: other, cloud: byId } = await open({ env: { HCLOUD_NETWORK: String(world.networkId) } });
    assert.equal(other.networkId, world.networkId);
    assert.deepEqual(await byId.identify(), expected);
  });

  it('finds a network whose name is a number', async () => {
    const { world, cloud } = await open({ env: { HCLOUD_NETWORK: '7' }, prepare: (fake) => void fake.addNetwork('7') });
    const [, seventh] = world.fake.networks.keys();
    assert.equal((await cloud.identify()).account, `network-${seventh}`);
  });

  it('refuses a token of another project, which does not see the network', async () => {
    const { cloud } = await open({ env: { HCLOUD_NETWORK: 'of-another-project' } });
    await assert.rejects(cloud.identify(), {
      kind: 'Invalid',
      message: /HCLOUD_NETWORK: "of-another-project", expected/,
    });
  });

  it('takes the name of the project from the configuration where there is no network', async () => {
    const { cloud } = await open({ env: { ...withoutNetwork, MOORING_HETZNER_PROJECT: 'blue' } });
    assert.deepEqual(await cloud.identify(), { scope: 'hetzner.test/blue', account: 'blue' });
    const { cloud: unnamed } = await open({ env: withoutNetwork });
    assert.equal((await unnamed.identify()).scope, 'hetzner.test/project');
  });

  it('reports Unauthorized as its identity while its token is refused', async () => {
    for (const env of [{}, withoutNetwork]) {
      const { world, cloud } = await open({ env });
      world.refuseCredential?.(true);
      await assert.rejects(cloud.identify(), (error) => isCloudError(error) && error.kind === 'Unauthorized');
    }
  });

  it('offers no routes without a network, or where they are switched off', async () => {
    assert.ok((await open()).cloud.routes);
    assert.equal((await open({ env: withoutNetwork })).cloud.routes, undefined);
    assert.equal((await open({ env: { HCLOUD_NETWORK_ROUTES_ENABLED: 'false' } })).cloud.routes, undefined);
  });

  it('checks by reads and by an impossible create, and says what failed', async () => {
    const { world, cloud } = await open({ env: withRobot });
    const checks = async () => (await cloud.check()).map(({ name, ok }) => [name, ok]);
    const all = ['servers', 'network', 'dedicated servers', 'writing'];
    assert.deepEqual(
      await checks(),
      all.map((name) => [name, true]),
    );
    assert.equal(world.fake.balancers.size, 0);
    world.fake.isReadOnly = true;
    assert.deepEqual(
      await checks(),
      all.map((name) => [name, name !== 'writing']),
    );
    await world.pass(61_000);
    world.refuseCredential?.(true);
    const results = await cloud.check();
    assert.deepEqual(
      results.map(({ name, ok }) => [name, ok]),
      all.map((name) => [name, false]),
    );
    assert.match(results[0]!.message, /401 unauthorized.*; see HCLOUD_TOKEN/);
    assert.doesNotMatch(JSON.stringify(results), new RegExp(`${token}|${robotUser.password}`));
  });

  it('proves a credential by a read of each API that it serves', async () => {
    const { world, cloud } = await open({ env: withRobot });
    const { ping } = cloud;
    assert.ok(ping);
    await world.during(ping());
    assert.deepEqual(
      world.fake.calls.map(({ path }) => path),
      ['/v1/servers', '/robot/server'],
    );
    const error = { status: 401, code: 'UNAUTHORIZED', message: 'Unauthorized' };
    await world.pass(61_000);
    world.fake.fault = ({ path }) => (path.startsWith('/robot/') ? { status: 401, body: { error } } : undefined);
    await assert.rejects(world.during(ping()), { kind: 'Unauthorized' });
  });

  it('opens report-only without a token', async () => {
    const context = { clock: fakeClock(), random: seededRandom(1), log: silentLog, env: {}, onCall: () => {} };
    assert.deepEqual(await cloudModule.open(undefined, context), {
      reportOnly: 'no HCLOUD_TOKEN: tried the environment',
    });
  });
});
