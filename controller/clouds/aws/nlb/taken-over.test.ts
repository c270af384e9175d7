import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ownerTags } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { serviceNameTag } from '../load-balancer-tags.ts';
import { createLoadBalancerView } from '../load-balancer-view.ts';
import type { TargetGroup } from './network-load-balancer.ts';
import { showTargetGroup } from './resources.ts';

const owner = { cluster: 'uid-of-cluster', service: 'uid-of-web' };
const ours = {
  [ownerTags.cluster]: owner.cluster,
  [ownerTags.service]: owner.service,
  [ownerTags.serviceName]: 'default/web',
};
const tags = clusterTagsOf('c1', false);
const ofClassic = { ...tags.owned, [serviceNameTag]: 'default/web' };

/** Whose a target group is that the classic controller made, where the Service's load balancer has these tags. */
function ownerWith(balancerTags: Readonly<Record<string, string>>, loadBalancers: readonly string[]) {
  const reads = {
    lastGroups: () => new Map(),
    knownInstances: () => new Map(),
    groupsOfInstances: () => new Set<string>(),
  };
  const carrier = {
    name: 'a1',
    id: 'arn:its',
    hostname: 'a1.test',
    groups: [],
    tags: { ...ofClassic, ...balancerTags },
  };
  const view = createLoadBalancerView(reads, { all: () => [carrier] });
  view.setMarks({ cluster: owner.cluster, tags });
  const group = { arn: 'arn:group', name: 'k8s-default-web-1', tags: ofClassic, loadBalancers };
  return showTargetGroup(group as unknown as TargetGroup, view).owner;
}

describe('a target group of the classic controller', () => {
  it('counts as ours when its load balancer was taken over, whether a listener still uses it or none', () => {
    assert.deepEqual(ownerWith(ours, ['arn:its']), owner);
    assert.deepEqual(ownerWith(ours, []), owner);
  });

  it('counts as foreign while its load balancer is, and when another one uses it, too', () => {
    assert.equal(ownerWith({}, []), undefined);
    assert.equal(ownerWith({ ...ours, [ownerTags.cluster]: 'another' }, []), undefined);
    assert.equal(ownerWith({ ...ours, [ownerTags.serviceName]: 'default/shop' }, []), undefined);
    assert.equal(ownerWith(ours, ['arn:its', 'arn:other']), undefined);
  });
});
