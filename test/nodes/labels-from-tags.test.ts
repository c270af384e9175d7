import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { annotations } from '../../common/well-known.ts';
import { fleet, type Member } from './harness/fleet.ts';
import type { World } from './harness/world.ts';
import { worldStage } from './harness/world-stage.ts';

const minutes = (count: number) => count * 60_000;
const team = 'example.com/team';

describe('labels from tags', () => {
  const begin = worldStage();
  let world: World;
  let member: Member;
  beforeEach(async () => {
    const stage = begin({ tagLabels: [{ tagPrefix: 'k8s-label/', labelPrefix: 'example.com/' }] });
    world = stage.world;
    await stage.replica.start();
    member = (await fleet(world, 1))[0]!;
  });

  const labels = () => world.cluster.mustNode('n0').metadata.labels ?? {};
  const record = () => world.cluster.mustNode('n0').metadata.annotations?.[annotations.labelsFromTags];
  async function tag(tags: Readonly<Record<string, string>>): Promise<void> {
    world.cloud.model.setTags(member.vm.id, tags);
    await world.clock.advance(minutes(6));
  }

  it('adds, changes and removes a label with its tag', async () => {
    await tag({ 'k8s-label/team': 'data', team: 'other' });
    assert.deepEqual([labels()[team], record()], ['data', team]);
    await tag({ 'k8s-label/team': 'web shop', 'k8s-label/tier': 'front' });
    assert.deepEqual([labels()[team], labels()['example.com/tier']], ['web-shop', 'front']);
    assert.equal(record(), `${team},example.com/tier`.split(',').sort().join(','));
    await tag({});
    assert.deepEqual([labels()[team], labels()['example.com/tier'], record()], [undefined, undefined, undefined]);
  });

  it('leaves a label that a person set, and removes nothing that it did not make', async () => {
    world.cluster.mergePatch('n0', { metadata: { labels: { [team]: 'mine', 'example.com/other': 'mine' } } });
    await tag({ 'k8s-label/team': 'data' });
    assert.deepEqual([labels()[team], labels()['example.com/other']], ['mine', 'mine']);
    await tag({});
    assert.deepEqual([labels()[team], labels()['example.com/other']], ['mine', 'mine']);
  });

  it('writes no labels from tags while nothing changes', async () => {
    await tag({ 'k8s-label/team': 'data' });
    const version = world.cluster.mustNode('n0').metadata.resourceVersion;
    await world.clock.advance(minutes(12));
    assert.equal(world.cluster.mustNode('n0').metadata.resourceVersion, version);
  });
});
