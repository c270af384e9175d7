import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  carriedBy,
  desired,
  desiredOf,
  type Machine,
  machine,
  managedConfig,
  member,
  network,
  plainConfig,
  port,
} from '../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group, rule } from '../../../test/clouds/aws/fake/network-facts.ts';
import { toCloudError } from './errors.ts';
import { keys } from './load-balancer-annotations.ts';

const fault = (Code: string) =>
  toCloudError(Object.assign(new Error(Code), { Code, $metadata: { httpStatusCode: 400 } }), 'a call');
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

  it('keeps the rules of Services as they are', async () => {
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

describe('a classic load balancer with four groups beside its own, so without room for the traffic group', () => {
  const extras = ['sg-x1', 'sg-x2', 'sg-x3', 'sg-x4'];
  const naming = (ids: readonly string[], fields = {}) =>
    desired({ annotations: { [keys.extraSecurityGroups]: ids.join() }, ...fields });
  const options = { more: [...extras, 'sg-x5'].map((id) => group(id)), allowed: new Set([...extras, 'sg-x5']) };

  for (const first of [[], extras]) {
    it(`lets a full load balancer in to the nodes by its own group, with ${first.length || 'no'} others`, async () => {
      const m = machine(options);
      await m.ensure(naming(first));
      m.aws.setHook(({ operation }) => {
        const carried = carriedBy(m.balancer());
        assert.ok(!m.balancer() || m.ingressOf('sg-nodes').some(({ source }) => carried.includes(source)), operation);
        return undefined;
      });
      for (const ids of [extras, [], extras]) {
        await m.ensure(naming(ids));
        // Where its own group is let in, it does without the other.
        assert.deepEqual(carriedBy(m.balancer()).slice(1), ids);
        m.restart();
        await m.audit();
        assert.deepEqual((await m.ensure(naming(ids))).sent, []);
      }
      await m.remove(desired());
      assert.deepEqual([m.rulesOfNodes(), m.groups().length], [[], 7]);
    });
  }

  it('lets an adopted full load balancer in to nodes that come with another group', async () => {
    const instance = (id: string) => {
      return { zone: 'eu-west-1a', groups: [id === 'i-3' ? 'sg-other' : 'sg-nodes'], tags: clusterTag };
    };
    const ingress = [rule('tcp 80 0.0.0.0/0'), rule('icmp 3-4 0.0.0.0/0')];
    const front = group('sg-front', { name: 'k8s-elb-auids', tags: clusterTag, ingress });
    const more = [...options.more, front, group('sg-other', { tags: clusterTag })];
    const m = machine({ ...options, instance, more, persons: ['-1 * sg-front'] });
    const proof = m.addClassicControllers(['sg-front', ...extras]);
    assert.deepEqual((await m.ensure(naming(extras), undefined, proof)).sent, []);
    const { refusals } = await m.ensure(naming(extras, { members: [member(2), member(3)] }), undefined, proof);
    assert.deepEqual([refusals, instancesOf(m)], [[], ['i-2', 'i-3']]);
    assert.deepEqual(m.keysOf('sg-other'), ['-1 -1--1 sg-front']);
    assert.equal(carriedBy(m.balancer()).length, 5);
    await m.remove(naming(extras), undefined, proof);
    assert.deepEqual([m.keysOf('sg-other'), m.rulesOfNodes()], [[], []]);
  });

  it('keeps the traffic group where the groups of the nodes may not be changed any more', async () => {
    const config = { ...plainConfig };
    const m = machine({ ...options, config });
    await m.ensure(naming(extras.slice(0, 3)));
    const [carried, opened] = [carriedBy(m.balancer()), m.rulesOfNodes()];
    Object.assign(config, { disableSecurityGroupIngress: true });
    m.restart();
    await m.audit();
    const { sent, refusals } = await m.ensure(naming(extras));
    assert.deepEqual([sent, carriedBy(m.balancer()), m.rulesOfNodes()], [[], carried, opened]);
    assert.match(refusals[0]?.message ?? '', /extra-security-groups: 4 groups leave no room for the traffic group/);
    await m.ensure(naming(['sg-x4']));
    assert.deepEqual(carriedBy(m.balancer()), [...carried.slice(0, 2), 'sg-x4']);
  });

  it('refuses a fifth group beside its own, and says how many are possible', async () => {
    const { sent, refusals } = await machine(options).ensure(naming([...extras, 'sg-x5']));
    assert.deepEqual(sent, []);
    assert.match(refusals[0]?.message ?? '', /extra-security-groups: .*expected at most 5 groups with its own/);
  });
});

for (const [type, ask, config] of [
  ['classic', desired, plainConfig],
  ['network', network, managedConfig],
] as const) {
  describe(`source ranges of a ${type} load balancer that do not fit in its group beside those of before`, () => {
    const ranges = (net: number, count: number) => Array.from({ length: count }, (_, at) => `10.${net}.${at}.0/24`);
    async function narrowed(from: readonly string[], to: readonly string[], refusal?: string) {
      const m = machine({ config });
      await m.ensure(ask({ sourceRanges: from }));
      const front = [...m.aws.groups.values()].find(({ name }) => /^k8s-(elb|default)-/.test(name))!.id;
      m.aws.setHook(({ operation }) => {
        if (refusal !== undefined && operation.startsWith('Authorize')) throw fault(refusal);
        return undefined;
      });
      const before = m.aws.sent.length;
      const error = await m.ensure(ask({ sourceRanges: to })).catch((reason: unknown) => reason);
      const left = [...new Set(m.ingressOf(front).map(({ source }) => source))];
      return {
        left,
        sent: m.aws.sent.slice(before).map(({ operation }) => operation),
        isDone: 'sent' in Object(error),
      };
    }

    it('replace them: those that go make room', async () => {
      const { left, sent, isDone } = await narrowed(ranges(1, 20), ranges(2, 20));
      assert.deepEqual([left, isDone], [ranges(2, 20), true]);
      const [open, close] = ['AuthorizeSecurityGroupIngress', 'RevokeSecurityGroupIngress'];
      assert.deepEqual(sent, [open, close, open]);
    });

    it('leave those of before where they may never fit, everybody included', async () => {
      for (const from of [[], ranges(1, 20)]) {
        const { left, sent, isDone } = await narrowed(from, [...from.slice(0, 2), ...ranges(2, 40)]);
        assert.deepEqual([left, isDone], [from.length > 0 ? from : ['0.0.0.0/0'], false]);
        assert.ok(!sent.includes('RevokeSecurityGroupIngress'));
      }
    });

    it('cut off no client where the new ones are refused for another reason', async () => {
      const { left, sent } = await narrowed(ranges(1, 20), ranges(2, 20), 'UnauthorizedOperation');
      assert.deepEqual([left, sent], [ranges(1, 20), []]);
    });
  });
}

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

describe('a classic load balancer in the group of a person', () => {
  const probing = (port: string) => ({ [keys.healthPort]: port, [keys.healthProtocol]: 'TCP' });
  const config = { ...plainConfig, elbSecurityGroup: 'sg-persons' };
  const full = (m: Machine) => {
    const nodes = m.aws.groups.get('sg-nodes')!;
    m.aws.groups.set('sg-nodes', {
      ...nodes,
      ingress: [...nodes.ingress, ...rules(60 - nodes.ingress.length).map((text) => rule(text))],
    });
  };
  const asked = (m: Machine) => {
    const { ListenerDescriptions, HealthCheck } = m.balancer()!.description as unknown as {
      ListenerDescriptions: { Listener: { InstancePort: number } }[];
      HealthCheck: { Target: string };
    };
    return [...ListenerDescriptions.map(({ Listener }) => Listener.InstancePort), HealthCheck.Target];
  };

  it('asks no port of the nodes that a full group of theirs does not let in yet', async () => {
    for (const fields of [{ ports: [port(80, 30_999)] }, { annotations: probing('9200') }]) {
      const m = machine({ config });
      await m.ensure(desired({ annotations: probing('9100') }));
      full(m);
      await assert.rejects(m.ensure(desired({ annotations: probing('9100'), ...fields })), /no end/);
      assert.deepEqual(asked(m), [30_080, 'TCP:9100']);
    }
  });

  it('asks another port after the nodes let it in', async () => {
    const m = machine({ config });
    await m.ensure(desired({ annotations: probing('9100') }));
    const { sent } = await m.ensure(desired({ ports: [port(80, 30_999)], annotations: probing('9200') }));
    assert.equal(sent[0], 'AuthorizeSecurityGroupIngress');
    assert.deepEqual(asked(m), [30_999, 'TCP:9200']);
  });
});
