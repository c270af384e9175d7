import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  desired,
  desiredOf,
  type Machine,
  machine,
  member,
  plainConfig,
  port,
} from '../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group, rule } from '../../../test/clouds/aws/fake/network-facts.ts';

/** Rules of a person, each for a port of its own. */
const rules = (count: number) => Array.from({ length: count }, (_, at) => `tcp ${20_000 + at} 192.0.2.0/24`);
const instancesOf = (m: Machine) =>
  ((m.balancer()?.description['Instances'] ?? []) as { InstanceId: string }[]).map(({ InstanceId }) => InstanceId);

describe('a group of the nodes that lets in everything from ElbSecurityGroup, as the classic controller has it', () => {
  const config = { ...plainConfig, elbSecurityGroup: 'sg-persons' };

  it('gets no rules for each Service, so it is not full after thirty', async () => {
    const m = machine({ config, persons: ['-1 * sg-persons', ...rules(59)] });
    for (const name of ['u1', 'u2', 'u3']) await m.ensure(desiredOf(name));
    assert.equal(m.rulesOfNodes().length, 60);
    await m.remove(desiredOf('u1'));
    assert.equal(m.rulesOfNodes().length, 60);
  });

  it('keeps the rules that Services have, which nobody has to write again', async () => {
    const m = machine({ config });
    await m.ensure(desired());
    const nodes = m.aws.groups.get('sg-nodes')!;
    const narrow = nodes.ingress;
    m.aws.groups.set('sg-nodes', { ...nodes, ingress: [rule('-1 * sg-persons'), ...narrow] });
    m.restart();
    await m.audit();
    assert.deepEqual((await m.ensure(desired())).sent, []);
    await m.ensure(desired({ ports: [port(80, 30_999)] }));
    assert.ok(!m.rulesOfNodes().includes('tcp 30999 sg-persons'), 'no new one');
    await m.remove(desired());
    assert.deepEqual(m.rulesOfNodes(), ['-1 -1 sg-persons']);
  });
});

describe('members of a classic load balancer', () => {
  it('come and go while the group of some nodes is full', async () => {
    const instance = (id: string) => {
      return { zone: 'eu-west-1a', groups: [id === 'i-3' ? 'sg-full' : 'sg-nodes'], tags: clusterTag };
    };
    const full = group('sg-full', { tags: clusterTag, ingress: rules(60).map((text) => rule(text)) });
    const m = machine({ instance, more: [full] });
    await m.ensure(desired());
    for (const numbers of [
      [1, 2, 3],
      [2, 3, 4],
    ])
      await assert.rejects(m.ensure(desired({ members: numbers.map((number) => member(number)) })), /no end/);
    assert.deepEqual(instancesOf(m), ['i-2', 'i-3', 'i-4']);
  });
});
