import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { machine, managedConfig, network, port } from '../../../../test/clouds/aws/fake/machine.ts';
import { ownerTags } from '../../load-balancers.ts';
import { WithheldError } from '../../permit.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { toCloudError } from '../errors.ts';
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
  it('counts as ours when its load balancer was taken over', () => {
    assert.deepEqual(ownerWith(ours, ['arn:its']), owner);
  });

  it('counts as foreign while its load balancer is, and when another one uses it, too', () => {
    assert.equal(ownerWith({}, ['arn:its']), undefined);
    assert.equal(ownerWith({ ...ours, [ownerTags.cluster]: 'another' }, ['arn:its']), undefined);
    assert.equal(ownerWith({ ...ours, [ownerTags.serviceName]: 'default/shop' }, ['arn:its']), undefined);
    assert.equal(ownerWith(ours, ['arn:its', 'arn:other']), undefined);
  });

  it('counts as foreign where no listener of ours ever used it', async () => {
    const m = machine({ config: managedConfig });
    await m.ensure(network());
    const { targetGroups } = m.aws.region;
    const [its] = targetGroups.values();
    const arn = its!.arn.replace(/[^/]+$/, 'ffff0000ffff0000');
    targetGroups.set(arn, {
      ...its!,
      arn,
      name: 'k8s-default-web-0123456789',
      tags: new Map(Object.entries(ofClassic)),
    });
    await m.audit();
    assert.deepEqual((await m.ensure(network())).sent, []);
    await m.remove(network());
    assert.deepEqual([...targetGroups.keys()], [arn]);
  });
});

describe('a network load balancer of the classic controller that was never changed', () => {
  /** What Mooring makes for the same Service and is configured as the classic controller is, without its tags. */
  async function adopted(ports = [port(80)]) {
    const config = { ...managedConfig, healthProbe: { mode: 'ServiceNodePort' } as const };
    const m = machine({ config });
    const { observed } = await m.ensure(network({ ports }));
    const { balancers, listeners, targetGroups } = m.aws.region;
    for (const one of [...balancers.values(), ...listeners.values(), ...targetGroups.values()])
      for (const key of Object.values(ownerTags)) one.tags.delete(key);
    for (const [id, group] of m.aws.groups) {
      const left = Object.entries(group.tags).filter(([key]) => !Object.values<string>(ownerTags).includes(key));
      if (group.name.startsWith('k8s-default-web-')) m.aws.groups.set(id, { ...group, tags: Object.fromEntries(left) });
    }
    Object.assign(config, { healthProbe: undefined });
    m.restart();
    return { m, proof: { clusterName: 'kubernetes', addresses: observed!.ingress.map(({ hostname }) => hostname!) } };
  }

  it('gets new target groups once, with its first change of them', async () => {
    const { m, proof } = await adopted([port(80), port(443)]);
    assert.deepEqual((await m.ensure(network({ ports: [port(80), port(443)] }), undefined, proof)).sent, []);
    const { sent } = await m.ensure(network({ ports: [port(80, 30_999), port(443)] }), undefined, proof);
    const count = (operation: string) => sent.filter((one) => one === operation).length;
    assert.deepEqual(
      ['v2 CreateTargetGroup', 'v2 ModifyListener', 'v2 DeleteTargetGroup'].map(count),
      [2, 2, 2],
      sent.join(),
    );
    const probed = [...m.aws.region.targetGroups.values()].map(({ health }) => health['HealthCheckPort']);
    assert.deepEqual(probed, ['10256', '10256']);
  });

  for (const [code, status, warned] of [
    ['AccessDenied', 403, 2],
    ['TooManyTags', 400, 2],
    ['TargetGroupNotFound', 400, 0],
  ] as const)
    it(`goes although the tags of its parts are answered with ${code}`, async () => {
      const { m, proof } = await adopted();
      m.aws.setHook(({ operation }) => {
        if (!/(Add|Create)Tags$/.test(operation)) return undefined;
        const answer = { Code: code, $metadata: { httpStatusCode: status } };
        throw toCloudError(Object.assign(new Error('no'), answer), operation);
      });
      const { sent } = await m.remove(network(), undefined, proof);
      assert.ok(sent.includes('v2 DeleteLoadBalancer'), sent.join());
      assert.deepEqual([m.aws.region.targetGroups.size, m.networkBalancer()], [0, undefined]);
      assert.equal(m.warnings.length, warned, m.warnings.join());
    });

  it('takes its parts along where AWS keeps them in use, and a leader dies at any call', async () => {
    let isOver = false;
    for (let most = 0; !isOver; most += 1) {
      const { m, proof } = await adopted();
      for (const { name } of m.aws.groups.values()) m.aws.busy.set(name, 2);
      let inUse = 2;
      m.aws.setHook(({ operation }) => {
        if (operation !== 'v2 DeleteTargetGroup' || inUse === 0) return undefined;
        inUse -= 1;
        throw toCloudError(Object.assign(new Error('by a listener'), { name: 'ResourceInUse' }), operation);
      });
      let calls = 0;
      const dying = () => {
        calls += 1;
        if (calls > most) throw new WithheldError('Fenced', 'another replica leads');
      };
      isOver = await m.remove(network(), dying, proof).then(
        () => true,
        () => false,
      );
      m.restart();
      await m.remove(network(), undefined, proof);
      const left = m.groups().filter((id) => m.aws.groups.get(id)!.name.startsWith('k8s-'));
      assert.deepEqual([m.aws.region.targetGroups.size, m.networkBalancer(), left], [0, undefined, []], `${most}`);
    }
  });
});
