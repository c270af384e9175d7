import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { labelOfZones, viewVolume, zonesOfLabel } from './volume-view.ts';

const sources = [{ name: 'awsElasticBlockStore', idField: 'volumeID' }, { name: 'ebs.csi.aws.com' }];

function view(spec: unknown, metadata: object = {}) {
  return viewVolume({ metadata: { name: 'pv', uid: 'u', resourceVersion: '1', ...metadata }, spec }, sources);
}

describe('the volume that a PersistentVolume names', () => {
  for (const [what, spec, expected] of [
    [
      'reads the id of an in-tree source',
      { awsElasticBlockStore: { volumeID: 'vol-1' } },
      'awsElasticBlockStore vol-1',
    ],
    [
      'reads the handle of a CSI driver',
      { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'v' } },
      'ebs.csi.aws.com v',
    ],
    ['finds no volume of another driver', { csi: { driver: 'pd.csi.storage.gke.io', volumeHandle: 'v' } }, undefined],
    ['finds no volume of another source', { nfs: { server: 'a', path: '/' } }, undefined],
    [
      'finds no volume while it is created',
      { awsElasticBlockStore: { volumeID: 'placeholder-for-provisioning' } },
      undefined,
    ],
    ['finds no volume without a spec', undefined, undefined],
    ['finds no volume where its fields have other types', { awsElasticBlockStore: 'vol-1', csi: null }, undefined],
    ['finds no volume with an empty id', { awsElasticBlockStore: { volumeID: '' } }, undefined],
  ] as const)
    it(what, () => {
      const { ref } = view(spec);
      assert.equal(ref && `${ref.source} ${ref.handle}`, expected);
    });

  it('looks for the volume in the zones of the label', () => {
    const labels = { 'topology.kubernetes.io/zone': 'b__a__a' };
    assert.deepEqual(view({ awsElasticBlockStore: { volumeID: 'v' } }, { labels }).ref?.zones, ['a', 'b']);
  });
});

describe('a PersistentVolume', () => {
  it('refuses a node affinity of another shape, and names the field', () => {
    for (const nodeSelectorTerms of [{}, [null], [{ matchExpressions: [{}] }], [{ matchExpressions: 'x' }]])
      assert.throws(
        () => view({ nodeAffinity: { required: { nodeSelectorTerms } } }),
        /^TypeError: spec\.nodeAffinity\.required\.nodeSelectorTerms: expected /,
      );
  });
});

describe('the zone label', () => {
  it('joins zones with two underscores, in order and each once, and is split at them', () => {
    assert.equal(labelOfZones(['b', 'a', 'b']), 'a__b');
    assert.deepEqual(zonesOfLabel('b__a__'), ['a', 'b']);
    assert.deepEqual(zonesOfLabel('a_b'), ['a_b']);
    assert.deepEqual(zonesOfLabel(undefined), []);
  });
});
