import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { answerText } from '../../../test/clouds/openstack/fake/answers.ts';
import { uuid } from '../../../test/clouds/openstack/fake/fake-openstack.ts';
import { startWorld, type World } from '../../../test/clouds/openstack/fake/world.ts';
import { type VolumeRef, volumeKey } from '../volumes.ts';

const ref = (n: number, source = 'cinder.csi.openstack.org'): VolumeRef => ({ source, handle: uuid(n), zones: [] });

describe('Cinder volumes', () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());
  afterEach(() => world.reset());

  async function lookup(refs: readonly VolumeRef[], extra = '') {
    const { volumes } = await world.open({}, extra);
    const answers = await volumes!.lookup(refs);
    return refs.map((one) => {
      const answer = answers.get(volumeKey(one))!;
      if (answer.state === 'found') return `${answer.place.zones} in ${answer.place.region}`;
      return answer.state === 'unknown'
        ? `unknown ${answer.error.kind}: ${answer.error.message.replace(/^.*?: /, '')}`
        : answer.state;
    });
  }

  it('shows the availability zone, spelt as the label of a Node, and the region', async () => {
    world.fake.volumes.set(uuid(1), 'az 1/rack');
    assert.deepEqual(await lookup([ref(1), ref(1, 'cinder'), ref(2)]), [
      'az-1-rack in RegionOne',
      'az-1-rack in RegionOne',
      'absent',
    ]);
  });

  it('shows no zone where ignore-volume-az says that every zone can use the volumes', async () => {
    world.fake.volumes.set(uuid(1), 'nova');
    assert.deepEqual(await lookup([ref(1)], '[BlockStorage]\nignore-volume-az = true\n'), [' in RegionOne']);
  });

  it('reads many volumes by the pages of one list, and the rest one by one', async () => {
    world.fake.pageSize = 5;
    const refs = Array.from({ length: 12 }, (_, n) => ref(n));
    for (const { handle } of refs.slice(0, 11)) world.fake.volumes.set(handle, 'nova');
    assert.deepEqual(await lookup(refs), [...refs.slice(0, 11).map(() => 'nova in RegionOne'), 'absent']);
    const paths = world.paths('block-storage');
    assert.deepEqual(paths, [...Array(3).fill('/volumes/detail'), `/volumes/${uuid(11)}`]);
  });

  it('leaves volumes unknown where a proxy answers 404, and where the cloud has no Cinder', async () => {
    world.fake.fault = (call, response) =>
      call.service === 'block-storage' ? answerText(response, 404, 'not found') : undefined;
    assert.match((await lookup([ref(1)]))[0]!, /^unknown Unavailable: /);
    world.fake.fault = undefined;
    const { catalog } = world.fake;
    world.fake.catalog = (catalog as { type: string }[]).filter(({ type }) => type !== 'block-storage');
    assert.match((await lookup([ref(1)]))[0]!, /^unknown Invalid: no public block-storage endpoint/);
    world.fake.catalog = catalog;
  });

  it('accepts volume ids of the form of Cinder alone', async () => {
    const { volumes } = await world.open();
    assert.ok(volumes!.accepts(ref(1)));
    for (const handle of ['vol-1', '../servers', '']) assert.ok(!volumes!.accepts({ ...ref(1), handle }));
  });
});
