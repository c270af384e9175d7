import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { azureWorld } from '../../../test/clouds/azure/azure-world.ts';
import { subscription } from '../../../test/clouds/azure/fake/fake-state.ts';
import { type VolumeRef, volumeKey } from '../volumes.ts';

const idOf = (name: string, group = 'rg', of = subscription) =>
  `/subscriptions/${of}/resourceGroups/${group}/providers/Microsoft.Compute/disks/${name}`;
const ref = (handle: string): VolumeRef => ({ source: 'disk.csi.azure.com', handle, zones: [] });

async function setUp() {
  const world = azureWorld();
  const cloud = await world.open();
  await world.during(cloud.identify());
  world.fake.calls.length = 0;
  return {
    world,
    fake: world.fake,
    volumes: cloud.volumes!,
    async lookup(...refs: VolumeRef[]) {
      const answers = await world.during(cloud.volumes!.lookup(refs));
      return refs.map((one) => {
        const answer = answers.get(volumeKey(one))!;
        if (answer.state === 'found') return `${answer.place.zones} in ${answer.place.region}`;
        return answer.state === 'unknown' ? `unknown ${answer.error.kind}` : answer.state;
      });
    },
  };
}

describe('managed disks of Azure', () => {
  it('shows the zone of a disk as Nodes have it, and none for a disk of the whole region', async () => {
    const { fake, lookup, world } = await setUp();
    fake.disks.set(idOf('zonal'), ['2']);
    fake.disks.set(idOf('regional'), undefined);
    fake.disks.set(idOf('replicated'), ['1', '2', '3']);
    const refs = ['zonal', 'regional', 'replicated', 'none'].map((name) => ref(idOf(name)));
    assert.deepEqual(await lookup(...refs), [
      'westeurope-2 in westeurope',
      ' in westeurope',
      ' in westeurope',
      'absent',
    ]);
    assert.deepEqual(
      await lookup(
        ref(
          idOf('ZONAL')
            .toUpperCase()
            .replace(/^\/SUB/, '/sub'),
        ),
      ),
      ['westeurope-2 in westeurope'],
    );
    await world.close();
  });

  it('reads many disks by lists of their resource groups', async () => {
    const { fake, lookup, world } = await setUp();
    fake.groups.add('other');
    fake.pageSize = 50;
    const ids = Array.from({ length: 9 }, (_, n) => idOf(`d${n}`, n % 2 === 0 ? 'rg' : 'Other'));
    for (const id of ids) fake.disks.set(id, ['1']);
    const answers = await lookup(...ids.map(ref), ref(idOf('none')));
    assert.deepEqual(answers, [...ids.map(() => 'westeurope-1 in westeurope'), 'absent']);
    const paths = fake.calls.filter(({ path }) => path.includes('/disks')).map(({ path }) => path.split('/').at(-1));
    assert.deepEqual(paths.sort(), ['disks', 'disks', 'none']);
    await world.close();
  });

  it('answers unknown where the call is refused', async () => {
    const { fake, lookup, world } = await setUp();
    fake.allowed = new Set();
    assert.deepEqual(await lookup(ref(idOf('d'))), ['unknown Forbidden']);
    await world.close();
  });

  it('refuses disks of another subscription, and blobs', async () => {
    const { volumes, world } = await setUp();
    assert.ok(volumes.accepts(ref(idOf('d'))));
    const elsewhere = idOf('d', 'rg', '00000000-0000-0000-0000-000000000000');
    for (const handle of [elsewhere, 'https://a.blob.core.windows.net/v/d.vhd', `${idOf('d')}/x`, idOf('..'), 'd'])
      assert.ok(!volumes.accepts(ref(handle)), handle);
    await world.close();
  });
});
