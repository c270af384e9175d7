import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  carriedBy,
  desired,
  desiredOf,
  machine,
  managedConfig,
  member,
  plainConfig,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { keys } from '../load-balancer-annotations.ts';
import type { ObservedSecurityGroup } from '../security-groups/network-facts.ts';

const networkOf: typeof desiredOf = (service) => desiredOf(service, { annotations: { [keys.type]: 'nlb' } });
const trafficIn = (groups: ReadonlyMap<string, ObservedSecurityGroup>) =>
  [...groups.values()].find(({ name }) => name.startsWith('k8s-traffic-'))!;

describe('the group that all load balancers of a cluster carry', () => {
  it('shares the traffic group and its rule, and deletes both with the last load balancer', async () => {
    const { ensure, remove, rulesOfNodes, groups } = machine();
    await ensure(desired());
    const rules = rulesOfNodes();
    assert.equal(rules.length, 1);
    await ensure(desiredOf('u2'));
    assert.deepEqual(rulesOfNodes(), rules);
    await remove(desired());
    assert.deepEqual(rulesOfNodes(), rules);
    await remove(desiredOf('u2'));
    assert.deepEqual([rulesOfNodes(), groups()], [[], ['sg-nodes', 'sg-persons']]);
  });

  it('keeps the traffic group for load balancers that a process never heard of, network ones too', async () => {
    const { ensure, remove, rulesOfNodes, restart, aws } = machine();
    await ensure(desired());
    await ensure(desiredOf('u2'));
    restart();
    await remove(desired());
    assert.equal(rulesOfNodes().length, 1);
    const traffic = trafficIn(aws.groups);
    aws.region.balancers.set('arn', { arn: 'arn', name: 'network', groups: [traffic.id], places: [] } as never);
    restart();
    await remove(desiredOf('u2'));
    assert.equal(rulesOfNodes().length, 1);
    assert.ok(aws.groups.has(traffic.id));
  });

  it('keeps the traffic group and its rule in use after DisableSecurityGroupIngress is set', async () => {
    const config = { ...plainConfig };
    const { ensure, restart, audit, remove, rulesOfNodes, groups, balancer } = machine({ config });
    await ensure(desired());
    const carried = carriedBy(balancer());
    Object.assign(config, { disableSecurityGroupIngress: true });
    restart();
    await audit();
    assert.deepEqual((await ensure(desired())).sent, []);
    await ensure(desiredOf('u2'));
    assert.deepEqual([carriedBy(balancer()), carriedBy(balancer('au2')).length], [carried, 1]);
    await remove(desiredOf('u2'));
    assert.equal(rulesOfNodes().length, 1);
    await remove(desired());
    assert.deepEqual([rulesOfNodes(), groups()], [[], ['sg-nodes', 'sg-persons']]);
  });

  it('recognises the traffic group by its name where its tags were taken off, and restores them', async () => {
    for (const ask of [desiredOf, networkOf]) {
      const { ensure, restart, audit, remove, rulesOfNodes, groups, aws, clock } = machine({ config: managedConfig });
      await ensure(ask('u1'));
      const { id, tags } = trafficIn(aws.groups);
      for (const service of ['u2', 'u1']) {
        aws.groups.set(id, { ...aws.groups.get(id)!, tags: {} });
        await clock.advance(300_000);
        restart();
        await audit();
        assert.deepEqual((await ensure(ask(service))).refusals, []);
        assert.deepEqual(aws.groups.get(id)!.tags, tags);
      }
      for (const service of ['u1', 'u2']) await remove(ask(service));
      assert.deepEqual([rulesOfNodes(), groups()], [[], ['sg-nodes', 'sg-persons']]);
    }
  });

  it('refuses a group of others that has the name of the traffic group', async () => {
    const m = machine();
    await m.ensure(desired());
    const { name } = trafficIn(m.aws.groups);
    const theirs = machine({ more: [group('sg-theirs', { name })] });
    theirs.aws.region.balancers.set('arn', { arn: 'arn', name: 'network', groups: ['sg-theirs'], places: [] } as never);
    await assert.rejects(theirs.ensure(desired()), /no end/);
    assert.deepEqual(theirs.rulesOfNodes(), []);
  });

  it('finds a traffic group that a crash has left behind, and deletes it', async () => {
    const m = machine();
    await m.ensure(desired());
    m.aws.balancers.clear();
    for (const { id, name } of m.aws.groups.values()) if (name.startsWith('k8s-elb-')) m.aws.groups.delete(id);
    m.restart();
    const [left] = await m.audit();
    assert.equal(left?.owner?.service, '*');
    const plan = m.balancers.planRemoval(left!.owner!, { retain: false });
    assert.equal(await m.during(m.balancers.apply(plan, { permit: () => {} })), undefined);
    assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
  });

  it('keeps the traffic group when one load balancer goes while another comes', async () => {
    for (let order = 0; order < 2; order += 1) {
      const { ensure, remove, rulesOfNodes, groups } = machine();
      await ensure(desired());
      const both = [() => remove(desired()), () => ensure(desiredOf('u2'))];
      await Promise.all((order === 0 ? both : both.reverse()).map((work) => work()));
      assert.equal(rulesOfNodes().length, 1);
      await ensure(desiredOf('u2'));
      await remove(desiredOf('u2'));
      assert.deepEqual([rulesOfNodes(), groups()], [[], ['sg-nodes', 'sg-persons']]);
    }
  });
});

it('the rules of nodes in several groups are made for each, once its members are known', async () => {
  const other = group('sg-other', { tags: clusterTag });
  const instance = (id: string) => ({
    zone: 'eu-west-1a',
    groups: [id === 'i-3' ? 'sg-other' : 'sg-nodes'],
    tags: clusterTag,
  });
  const { ensure, keysOf, remove } = machine({ more: [other], instance });
  await ensure(desired());
  assert.deepEqual(keysOf('sg-other'), []);
  await ensure(desired({ members: [member(1), member(3)] }));
  assert.equal(keysOf('sg-other').length, 1);
  await remove(desired());
  assert.deepEqual([keysOf('sg-other'), keysOf('sg-nodes')], [[], []]);
});
