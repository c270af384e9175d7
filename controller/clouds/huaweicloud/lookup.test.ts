import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { agencyKey, region } from '../../../test/clouds/huawei/fake/fake-huawei.ts';
import { type HuaweiWorld, huaweiWorld } from '../../../test/clouds/huawei/huawei-world.ts';
import type { Lookup, OpenedCloud } from '../cloud.ts';

async function open(env: Readonly<Record<string, string>> = {}) {
  const world: HuaweiWorld = huaweiWorld({ env });
  const cloud = (await world.open()) as OpenedCloud;
  const found = (answer: Lookup | undefined) => (answer?.state === 'found' ? answer.instance : undefined);
  const byName = async (name: string) =>
    (await world.during(cloud.instances.lookup([{ by: 'name', name }]))).get(`name:${name}`);
  const byId = async (providerID: string) =>
    (await world.during(cloud.instances.lookup([{ by: 'providerID', providerID }]))).get(providerID);
  return { world, cloud, found, byName, byId };
}

describe('the ECSs of Huawei Cloud', () => {
  let opened: Awaited<ReturnType<typeof open>>;
  before(async () => {
    opened = await open();
  });
  after(() => opened.world.close());

  it('shows zone, region, flavor, and the addresses of every interface, the primary one first', async () => {
    const { world, byId, found } = opened;
    const server = world.fake.addServer('whole', { further: ['10.1.0.9'] });
    const instance = found(await byId(`huaweicloud://${server.id}`));
    assert.deepEqual([instance?.zone, instance?.region, instance?.type], [server.zone, region, server.flavor]);
    assert.deepEqual(instance?.addresses, [
      { type: 'InternalIP', address: server.address },
      { type: 'InternalIP', address: '10.1.0.9' },
      { type: 'ExternalIP', address: server.elastic },
    ]);
  });

  it('finds an ECS by a bare id, and shows the prefixed one', async () => {
    const { world, byId, found } = opened;
    const { id } = world.fake.addServer('bare');
    assert.equal(found(await byId(id))?.providerID, `huaweicloud://${id}`);
  });

  it('finds no ECS whose name merely fits the asked name as a pattern', async () => {
    const { world, byName, found } = opened;
    world.fake.addServer('node-x1');
    assert.equal((await byName('node.x1'))?.state, 'unknown');
    world.fake.addServer('node.x1');
    assert.equal(found(await byName('node.x1'))?.name, 'node.x1');
    assert.equal((await byName('node'))?.state, 'unknown');
  });

  it('finds an ECS by the fixed address that its Node is called by', async () => {
    const { world, byName, found } = opened;
    const { id, address } = world.fake.addServer('called-by-address');
    assert.equal(found(await byName(address))?.id, id);
    assert.equal((await byName('10.99.99.99'))?.state, 'unknown');
  });

  it('proves no absence by a 404 of the gateway', async () => {
    const { world, byId } = opened;
    const body = { error_code: 'APIGW.0101', error_msg: 'The API does not exist', request_id: 'r' };
    world.fake.fault = () => ({ status: 404, body });
    const answer = await byId(world.unusedProviderID());
    world.fake.fault = undefined;
    assert.equal(answer?.state === 'unknown' && answer.error.kind, 'Unavailable');
  });

  it('proves absence by a 404 about the ECS alone, and not by one about something else', async () => {
    const { world, byId } = opened;
    const id = world.unusedProviderID();
    const about = (code: string, message: string) => () => ({ status: 404, body: { error: { code, message } } });
    world.fake.fault = about('Ecs.0201', 'tenant could not be found');
    const other = await byId(id);
    world.fake.fault = undefined;
    assert.equal(other?.state === 'unknown' && other.error.kind, 'Unavailable');
    assert.equal((await byId(id))?.state, 'absent');
  });

  it('leaves ECSs unknown after two pages that are the same', async () => {
    const { world, byName } = await open();
    let pages = 0;
    world.fake.fault = ({ path }) => {
      if (!path.endsWith('/cloudservers/detail')) return undefined;
      pages += 1;
      const shown = { status: 'ACTIVE', name: 'x', flavor: { id: 's6' }, addresses: {} };
      return { status: 200, body: { servers: Array.from({ length: 1000 }, (_, at) => ({ id: `${at}`, ...shown })) } };
    };
    const answer = await byName('first');
    assert.equal(answer?.state === 'unknown' && answer.error.kind, 'Unavailable');
    assert.equal(pages, 2);
    await world.close();
  });

  it('leaves ECSs unknown while the gateway throttles, and reports throttling', async () => {
    const { world, byId } = opened;
    const body = { error_code: 'APIGW.0308', error_msg: 'The throttling threshold has been reached', request_id: 'r' };
    world.fake.fault = () => ({ status: 429, body });
    const answer = await byId(world.unusedProviderID());
    world.fake.fault = undefined;
    assert.equal(answer?.state === 'unknown' && answer.error.kind, 'Throttled');
    await world.pass(120_000);
  });
});

describe('the account of Huawei Cloud', () => {
  it('takes the project of the region where none is configured, and reads it once', async () => {
    const { world, cloud } = await open();
    const { scope, account } = await world.during(cloud.identify());
    assert.equal(account, world.fake.project);
    assert.equal(scope, `huaweicloud.test/${region}/${world.fake.project}`);
    await world.during(cloud.identify());
    assert.equal(world.fake.calls.filter(({ path }) => path === '/v3/projects').length, 1);
    await world.close();
  });

  it('refuses an access key that is not of the configured project', async () => {
    const { world, cloud } = await open({ PROJECT_ID: '0'.repeat(32) });
    await assert.rejects(world.during(cloud.identify()), { kind: 'Forbidden' });
    await world.close();
  });

  it('uses the keys of the agency of the ECS, and renews them before they end', async () => {
    const { world, cloud } = await open({ ACCESS_KEY_ID: '', SECRET_ACCESS_KEY: '' });
    await assert.rejects(world.during(cloud.identify()), { kind: 'Unauthorized' });
    world.fake.agency = { lifeMs: 3_600_000 };
    await world.during(cloud.identify());
    const keys = () => world.fake.calls.filter(({ path }) => path.endsWith('/securitykey')).length;
    const before = keys();
    await world.pass(40 * 60_000);
    await world.during(cloud.identify());
    assert.equal(keys(), before);
    await world.pass(16 * 60_000);
    world.fake.agency = undefined;
    await world.during(cloud.identify());
    world.fake.agency = { lifeMs: 3_600_000 };
    const ofThisHour = [...world.fake.keys.keys()].filter((id) => id.startsWith(agencyKey.id));
    await world.pass(10_000);
    await world.during(cloud.identify());
    for (const id of ofThisHour) world.fake.keys.delete(id);
    await world.during(cloud.identify());
    await world.close();
  });
});
