import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { planOf } from '../commands/harness/plan-of.ts';
import { zoneLabel } from './harness/volume-object.ts';
import { type VolumeStage, volumeStage } from './harness/volume-stage.ts';

const named = '--controllers=*,persistent-volume-label';

describe('the plan for PersistentVolumes', () => {
  const begin = volumeStage();

  async function plan({ kube: api, cloud, clock }: VolumeStage, ...flags: readonly string[]) {
    const { changes, problems } = await planOf({ api, cloud, clock }, flags);
    return [...changes.map(({ action, object, what }) => `${action} ${object}: ${what}`), ...problems];
  }

  it('plans labels and node affinity that a run would write, and writes none', async () => {
    const stage = begin();
    stage.disk('data', 'sim-1b');
    stage.create('data');
    const affinity = `${zoneLabel} In sim-1b and topology.kubernetes.io/region In sim-1`;
    assert.deepEqual(await plan(stage, named), [
      `update persistentvolume data: label ${zoneLabel}: sim-1b; label topology.kubernetes.io/region: sim-1; ` +
        `spec nodeAffinity: ${affinity}`,
    ]);
    assert.deepEqual(stage.kube.writes(), []);
    assert.equal(stage.get('data').metadata.labels, undefined);
  });

  it('plans nothing where the loop is not named', async () => {
    const stage = begin();
    stage.disk('data', 'sim-1b');
    stage.create('data');
    assert.deepEqual(await plan(stage), []);
  });

  it('says what is held back, and why', async () => {
    const stage = begin();
    stage.disk('other', 'sim-1a');
    stage.create('other', { labels: { [zoneLabel]: 'sim-1b' } });
    stage.create('none');
    const held = await plan(stage, named);
    assert.equal(held.length, 2);
    assert.match(held.join(), /hold persistentvolume other: VolumeTopologyDiffers: .*the cloud says sim-1a/);
    assert.match(held.join(), /hold persistentvolume none: VolumeNotFound: .*no volume none/);
  });

  it('names a cloud that does not answer as a problem', async () => {
    const stage = begin();
    stage.create('data');
    stage.cloud.faults.add({ operation: 'volumes.lookup', effect: { kind: 'error', status: 503 } });
    assert.match((await plan(stage, named)).join(), /volumes of http:\/\/cloud\/demo\/sim-1: Unavailable/);
  });
});
