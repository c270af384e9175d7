import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeGceWorld } from '../../../test/clouds/gce/gce-world.ts';
import { type VolumeRef, volumeKey } from '../volumes.ts';

const csi = (place: string, name: string, project = 'proj'): VolumeRef => ({
  source: 'pd.csi.storage.gke.io',
  handle: `projects/${project}/${place}/disks/${name}`,
  zones: [],
});
const inTree = (handle: string, ...zones: string[]): VolumeRef => ({ source: 'gcePersistentDisk', handle, zones });

async function setUp() {
  const world = fakeGceWorld('target pools');
  const { fake } = world;
  const cloud = await world.open();
  const url = (path: string) => `${fake.api}/projects/proj/${path}`;
  fake.calls.length = 0;
  return {
    world,
    fake,
    volumes: cloud.volumes!,
    zonal: (name: string, zone: string) => void fake.disks.push({ name, zone: url(`zones/${zone}`) }),
    regional(name: string, region: string, ...zones: string[]) {
      fake.disks.push({
        name,
        region: url(`regions/${region}`),
        replicaZones: zones.map((one) => url(`zones/${one}`)),
      });
    },
    async lookup(...refs: VolumeRef[]) {
      const answers = await world.during(cloud.volumes!.lookup(refs));
      return refs.map((ref) => {
        const answer = answers.get(volumeKey(ref))!;
        if (answer.state === 'found') return `${answer.place.zones} in ${answer.place.region}`;
        return answer.state === 'unknown'
          ? `unknown ${answer.error.kind}: ${answer.error.message.replace(/^.*?: /, '')}`
          : answer.state;
      });
    },
    paths: () => fake.calls.map(({ path }) => path.replace('/compute/v1/projects/proj/', '')),
  };
}

describe('persistent disks', () => {
  it('shows the zone of a disk, or the zones that it is replicated in', async () => {
    const { zonal, regional, lookup, world } = await setUp();
    zonal('a', 'us-central1-b');
    regional('b', 'us-central1', 'us-central1-a', 'us-central1-b');
    const refs = [csi('zones/us-central1-b', 'a'), csi('regions/us-central1', 'b'), csi('zones/us-central1-a', 'a')];
    assert.deepEqual(await lookup(...refs), [
      'us-central1-b in us-central1',
      'us-central1-a,us-central1-b in us-central1',
      'absent',
    ]);
    await world.close();
  });

  it('looks for a disk by name where the zone label says, else in the whole project', async () => {
    const { zonal, regional, lookup, paths, world } = await setUp();
    zonal('a', 'us-central1-b');
    regional('b', 'us-central1', 'us-central1-a', 'us-central1-b');
    const labelled = inTree('b', 'us-central1-a', 'us-central1-b');
    assert.deepEqual(await lookup(inTree('a', 'us-central1-b'), labelled), [
      'us-central1-b in us-central1',
      'us-central1-a,us-central1-b in us-central1',
    ]);
    assert.deepEqual(paths(), ['zones/us-central1-b/disks/a', 'regions/us-central1/disks/b']);
    assert.deepEqual(await lookup(inTree('a'), csi('zones/UNSPECIFIED', 'a', 'UNSPECIFIED'), inTree('none')), [
      'us-central1-b in us-central1',
      'us-central1-b in us-central1',
      'absent',
    ]);
    zonal('a', 'europe-west1-d');
    assert.deepEqual(await lookup(inTree('a')), ['unknown Conflict: 2 disks are named a: label its zone']);
    await world.close();
  });

  it('reads many disks by one list, and only those that it leaves out one by one', async () => {
    const { zonal, lookup, paths, world } = await setUp();
    const names = Array.from({ length: 20 }, (_, n) => `disk-${n}`);
    for (const name of names) zonal(name, 'us-central1-a');
    const refs = [...names, 'none'].map((name) => csi('zones/us-central1-a', name));
    const answers = await lookup(...refs);
    assert.deepEqual(answers, [...names.map(() => 'us-central1-a in us-central1'), 'absent']);
    assert.deepEqual(paths(), ['aggregated/disks', 'zones/us-central1-a/disks/none']);
    await world.close();
  });

  it('answers unknown where the call is refused, or a zone was not reached', async () => {
    const { fake, lookup, world } = await setUp();
    fake.granted = new Set();
    const many = Array.from({ length: 9 }, (_, n) => csi('zones/us-central1-a', `disk-${n}`));
    for (const answer of [...(await lookup(...many)), ...(await lookup(many[0]!))])
      assert.match(answer, /^unknown Forbidden: /);
    fake.granted = undefined;
    fake.unreachable.add('us-central1-a');
    assert.deepEqual(await lookup(inTree('a')), ['unknown Unavailable: not reached: us-central1-a']);
    await world.close();
  });

  it('refuses disks of another project, and ids of another form', async () => {
    const { volumes, world } = await setUp();
    for (const ref of [csi('zones/us-central1-a', 'a'), inTree('a')]) assert.ok(volumes.accepts(ref));
    const others = [csi('zones/us-central1-a', 'a', 'other'), csi('zones/../..', 'a'), inTree('A/b'), inTree('a?x=y')];
    for (const ref of [...others, csi('zones/us central1', 'a')]) assert.ok(!volumes.accepts(ref), ref.handle);
    await world.close();
  });
});
