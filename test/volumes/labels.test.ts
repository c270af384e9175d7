import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { affinityTo, regionLabel, zoneLabel } from './harness/volume-object.ts';
import { volumeStage } from './harness/volume-stage.ts';

const minutes = 60_000;

describe('the labels of PersistentVolumes', () => {
  const begin = volumeStage();

  it('labels a volume with its zone and region, and a node affinity of the same, in one patch', async () => {
    const stage = begin();
    stage.disk('data', 'sim-1b');
    stage.create('data');
    const replica = stage.replica();
    await replica.start();
    const { metadata, spec } = stage.get('data');
    assert.deepEqual(metadata.labels, { [zoneLabel]: 'sim-1b', [regionLabel]: 'sim-1' });
    assert.deepEqual(spec.nodeAffinity, affinityTo(['sim-1b'], 'sim-1'));
    assert.deepEqual(replica.kube.writes(), ['patch /api/v1/persistentvolumes/data']);
    assert.equal(replica.log.filter((line) => line.includes('volume labelled')).length, 1);
    assert.equal(await replica.metric('mooring_volumes_labelled_total'), 1);
  });

  it('joins the zones of a replicated volume with two underscores, and allows Nodes of each', async () => {
    const stage = begin();
    stage.disk('wide', 'sim-1c', 'sim-1a');
    stage.create('wide');
    await stage.replica().start();
    const { metadata, spec } = stage.get('wide');
    assert.equal(metadata.labels?.[zoneLabel], 'sim-1a__sim-1c');
    assert.deepEqual(spec.nodeAffinity, affinityTo(['sim-1a', 'sim-1c'], 'sim-1'));
  });

  it('leaves out the zone of a volume that has none', async () => {
    const stage = begin();
    stage.disk('regional');
    stage.create('regional');
    await stage.replica().start();
    assert.deepEqual(stage.get('regional').metadata.labels, { [regionLabel]: 'sim-1' });
  });

  it('labels many volumes with few calls of the cloud', async () => {
    const stage = begin();
    for (let index = 0; index < 150; index += 1) {
      stage.disk(`disk-${index}`, 'sim-1a');
      stage.create(`disk-${index}`);
    }
    const replica = stage.replica();
    await replica.start();
    assert.equal(await replica.metric('mooring_volumes_labelled_total'), 150);
    assert.ok(stage.lookups() <= 2, `${stage.lookups()} calls`);
  });

  it('writes no labels again in a later replica, which looks up all volumes in a single call', async () => {
    const stage = begin();
    stage.disk('a', 'sim-1a');
    stage.disk('b');
    for (const name of ['a', 'b']) stage.create(name);
    const first = stage.replica();
    await first.start();
    await first.stop();
    const before = stage.lookups();
    const second = stage.replica();
    await second.start();
    await stage.clock.advance(30 * minutes);
    assert.deepEqual(second.kube.writes(), []);
    assert.equal(stage.lookups() - before, 1);
  });

  it("keeps a person's labels, and adds the other label and the affinity where they agree with the cloud", async () => {
    const stage = begin();
    stage.disk('mine', 'sim-1a');
    stage.create('mine', { labels: { [zoneLabel]: 'sim-1a', team: 'web' } });
    await stage.replica().start();
    const { metadata, spec } = stage.get('mine');
    assert.deepEqual(metadata.labels, { [zoneLabel]: 'sim-1a', team: 'web', [regionLabel]: 'sim-1' });
    assert.deepEqual(spec.nodeAffinity, affinityTo(['sim-1a'], 'sim-1'));
  });

  it('leaves a volume whose label differs from the cloud alone, with an event, until a person changes it', async () => {
    const stage = begin();
    stage.disk('other', 'sim-1a');
    stage.create('other', { labels: { [zoneLabel]: 'sim-1b' } });
    const replica = stage.replica();
    await replica.start();
    assert.deepEqual(replica.kube.writes(), []);
    assert.deepEqual(replica.events, [
      `VolumeTopologyDiffers other: PersistentVolume other gets no zone and region: label ${zoneLabel}: sim-1b, ` +
        'but the cloud says sim-1a',
    ]);
    assert.equal(await replica.metric('mooring_volumes_waiting', '{reason="VolumeTopologyDiffers"}'), 1);
    stage.patch('other', { metadata: { labels: { [zoneLabel]: 'sim-1a' } } });
    await stage.clock.advance(1000);
    assert.deepEqual(stage.get('other').spec.nodeAffinity, affinityTo(['sim-1a'], 'sim-1'));
    assert.equal(await replica.metric('mooring_volumes_waiting', '{reason="VolumeTopologyDiffers"}'), 0);
  });

  it('labels a volume whose node affinity is set already, and keeps the affinity', async () => {
    const stage = begin();
    stage.disk('placed', 'sim-1a');
    const matchExpressions = [{ key: 'topology.csi.example/zone', operator: 'In', values: ['sim-1a'] }];
    const nodeAffinity = { required: { nodeSelectorTerms: [{ matchExpressions }] } };
    const csi = { driver: 'csi.simulated.mooring.dev', volumeHandle: 'placed' };
    stage.create('placed', { spec: { csi, nodeAffinity } });
    await stage.replica().start();
    const { metadata, spec } = stage.get('placed');
    assert.deepEqual(metadata.labels, { [zoneLabel]: 'sim-1a', [regionLabel]: 'sim-1' });
    assert.deepEqual(spec.nodeAffinity, nodeAffinity);
  });

  it('trusts labels of a provisioner: the affinity follows them without a lookup', async () => {
    const stage = begin();
    const annotations = { 'pv.kubernetes.io/provisioned-by': 'csi.simulated.mooring.dev' };
    stage.create('made', { labels: { [zoneLabel]: 'sim-1c__sim-1a', [regionLabel]: 'sim-1' }, annotations });
    await stage.replica().start();
    assert.deepEqual(stage.get('made').spec.nodeAffinity, affinityTo(['sim-1a', 'sim-1c'], 'sim-1'));
    assert.equal(stage.lookups(), 0);
  });
});

describe('a PersistentVolume', () => {
  const begin = volumeStage();

  it('leaves a PersistentVolume of no configured cloud alone, without a lookup', async () => {
    const stage = begin();
    stage.create('nfs', { spec: { nfs: { server: '10.0.0.1', path: '/' } } });
    stage.create('ebs', { spec: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } } });
    stage.create('strange', { disk: 'NO SUCH FORM' });
    const replica = stage.replica();
    await replica.start();
    assert.deepEqual(replica.kube.writes(), []);
    assert.equal(stage.lookups(), 0);
    assert.deepEqual(replica.events, []);
  });

  it('leaves a paused PersistentVolume alone until the annotation goes', async () => {
    const stage = begin();
    stage.disk('still', 'sim-1a');
    stage.create('still', { annotations: { 'mooring.dev/paused': 'true' } });
    const replica = stage.replica();
    await replica.start();
    assert.deepEqual([stage.lookups(), replica.kube.writes()], [0, []]);
    stage.patch('still', { metadata: { annotations: { 'mooring.dev/paused': null } } });
    await stage.clock.advance(1000);
    assert.equal(stage.get('still').metadata.labels?.[zoneLabel], 'sim-1a');
  });

  it('writes no label while everything is paused, and labels the volume afterwards', async () => {
    const stage = begin();
    stage.disk('all', 'sim-1a');
    stage.create('all');
    const replica = stage.replica();
    replica.paused = true;
    await replica.start();
    await stage.clock.advance(minutes);
    assert.deepEqual(replica.kube.writes(), []);
    replica.paused = false;
    await stage.clock.advance(6000);
    assert.equal(stage.get('all').metadata.labels?.[zoneLabel], 'sim-1a');
  });

  it('waits for a volume that does not exist with one event, and labels it once it exists', async () => {
    const stage = begin();
    stage.create('early');
    const replica = stage.replica();
    await replica.start();
    await stage.clock.advance(5 * minutes);
    assert.deepEqual(replica.events, [
      'VolumeNotFound early: PersistentVolume early gets no zone and region: the cloud has no volume early',
    ]);
    assert.equal(replica.log.filter((line) => line.includes('volume waits')).length, 1);
    assert.equal(await replica.metric('mooring_volumes_waiting', '{reason="VolumeNotFound"}'), 1);
    assert.ok(stage.lookups() < 8, `${stage.lookups()} lookups in five minutes`);
    stage.disk('early', 'sim-1a');
    await stage.clock.advance(11 * minutes);
    assert.equal(stage.get('early').metadata.labels?.[zoneLabel], 'sim-1a');
    assert.equal(await replica.metric('mooring_volumes_waiting', '{reason="VolumeNotFound"}'), 0);
  });

  it('waits while the cloud does not answer, and the event says why', async () => {
    const stage = begin();
    stage.disk('far', 'sim-1a');
    stage.create('far');
    const fault = stage.cloud.faults.add({ operation: 'volumes.lookup', effect: { kind: 'error', status: 503 } });
    const replica = stage.replica();
    await replica.start();
    await stage.clock.advance(3 * minutes);
    assert.equal(replica.events.length, 1);
    assert.match(replica.events[0]!, /^VolumeLookupFailed far: .*volume far: Unavailable: /);
    assert.deepEqual(replica.kube.writes(), []);
    stage.cloud.faults.remove(fault);
    await stage.clock.advance(11 * minutes);
    assert.equal(stage.get('far').metadata.labels?.[zoneLabel], 'sim-1a');
  });

  it('labels a PersistentVolume by the one of several configured clouds that has its volume', async () => {
    const stage = begin({ clouds: [{}, { region: 'sim-2' }] });
    stage.disk('twice', 'sim-1a');
    stage.create('twice');
    stage.create('once');
    stage.cloud.network.volumes.create({ id: 'once', place: 'demo/sim-2', zones: ['sim-2a'] });
    await stage.replica().start();
    assert.equal(stage.get('twice').metadata.labels?.[zoneLabel], 'sim-1a');
    assert.deepEqual(stage.get('once').metadata.labels, { [zoneLabel]: 'sim-2a', [regionLabel]: 'sim-2' });
  });

  it('keeps what another writer changes in a PersistentVolume meanwhile', async () => {
    const stage = begin();
    stage.disk('raced', 'sim-1a');
    stage.create('raced');
    const replica = stage.replica();
    replica.kube.intercept = ({ verb }) => {
      if (verb !== 'patch') return;
      replica.kube.intercept = undefined;
      stage.patch('raced', { metadata: { labels: { [zoneLabel]: 'sim-1c' } } });
    };
    await replica.start();
    await stage.clock.advance(minutes);
    assert.deepEqual(stage.get('raced').metadata.labels, { [zoneLabel]: 'sim-1c' });
    assert.match(replica.events.join(), /VolumeTopologyDiffers/);
  });

  it('counts a deleted PersistentVolume no longer as waiting', async () => {
    const stage = begin();
    stage.create('gone');
    const replica = stage.replica();
    await replica.start();
    stage.patch('gone', { metadata: { finalizers: [] } });
    await stage.kube.call({ verb: 'delete', path: '/api/v1/persistentvolumes/gone' });
    await stage.clock.advance(1000);
    assert.equal(await replica.metric('mooring_volumes_waiting', '{reason="VolumeNotFound"}'), 0);
  });
});
