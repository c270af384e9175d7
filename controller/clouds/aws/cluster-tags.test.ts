import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterTagsOf, createCluster, tagMap } from './cluster-tags.ts';

const none = { clusterId: undefined, legacyClusterTag: false };
const tagged = (...keys: readonly string[]) => ({
  InstanceId: 'i-1',
  Tags: keys.map((Key) => ({ Key, Value: Key === 'KubernetesCluster' ? 'one' : 'owned' })),
});

describe('the cluster of resources on AWS', () => {
  it('takes the configured cluster id, without a read of this machine', async () => {
    const cluster = createCluster({ ...none, clusterId: 'one' }, false, async () => assert.fail('asked'));
    const { id, owned } = await cluster();
    assert.deepEqual([id, owned], ['one', { 'kubernetes.io/cluster/one': 'owned' }]);
  });

  it("reads the cluster id once from this machine's tags, also from the legacy one", async () => {
    let asked = 0;
    const cluster = createCluster(none, false, async () => {
      asked += 1;
      return tagged('Name', 'kubernetes.io/cluster/one');
    });
    assert.equal((await cluster()).id, 'one');
    assert.equal((await cluster()).id, 'one');
    assert.equal(asked, 1);
    const legacy = await createCluster(none, false, async () => tagged('KubernetesCluster'))();
    assert.deepEqual(legacy.owned, { 'kubernetes.io/cluster/one': 'owned', KubernetesCluster: 'one' });
  });

  it('reads the tags of this machine again after a failure', async () => {
    let fails = true;
    const cluster = createCluster(none, false, async () => {
      if (fails) throw new Error('later');
      return tagged('kubernetes.io/cluster/one');
    });
    await assert.rejects(cluster(), /later/);
    fails = false;
    assert.equal((await cluster()).id, 'one');
  });

  it('rejects several cluster tags, and names them', async () => {
    const self = async () => tagged('kubernetes.io/cluster/one', 'kubernetes.io/cluster/two');
    await assert.rejects(createCluster(none, false, self)(), {
      kind: 'Invalid',
      message: /i-1 is tagged for several.*one, two/,
    });
  });

  it('rejects a machine without a cluster tag and says what to set, unless that is allowed', async () => {
    await assert.rejects(
      createCluster(none, false, async () => tagged('Name'))(),
      /i-1 has no tag.*KubernetesClusterID/,
    );
    await assert.rejects(
      createCluster(none, false, async () => undefined)(),
      /this is no EC2 instance.*KubernetesClusterID/,
    );
    const { id, keys, owned, has, owns } = await createCluster(none, true, async () => tagged())();
    assert.deepEqual([id, keys, owned, has({}), owns({})], [undefined, [], {}, true, true]);
  });

  it('distinguishes shared from owned resources', () => {
    const { has, owns } = clusterTagsOf('one', false);
    const shared = tagMap([{ Key: 'kubernetes.io/cluster/one', Value: 'shared' }]);
    assert.deepEqual([has(shared), owns(shared)], [true, false]);
    const other = tagMap([{ Key: 'kubernetes.io/cluster/two', Value: 'owned' }]);
    assert.deepEqual([has(other), owns(other)], [false, false]);
    const legacy = tagMap([{ Key: 'KubernetesCluster', Value: 'one' }]);
    assert.deepEqual([has(legacy), owns(legacy)], [true, true]);
  });
});
