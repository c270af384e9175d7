import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as classic from '../../../test/clouds/aws/fake/machine.ts';
import { group, rule } from '../../../test/clouds/aws/fake/network-facts.ts';
import { type DesiredLoadBalancer, ownerTags } from '../load-balancers.ts';
import { keys } from './load-balancer-annotations.ts';
import type { IngressRule } from './security-groups/ingress-rule.ts';
import { descriptions } from './security-groups/rule-descriptions.ts';

const database = group('sg-database');
const uid = classic.owner.cluster;
const tagged = (value: string) => group('sg-tagged', { tags: { [ownerTags.consent]: value } });

describe('a Service of a network load balancer that names a security group', () => {
  const naming = (ids: string) => classic.network({ annotations: { [keys.securityGroups]: ids } });
  const world = (more = [database]) =>
    classic.machine({ config: classic.managedConfig, more: [group('sg-allowed'), ...more] });

  it('gets no load balancer where the operator has not allowed the group, and is told who can allow it', async () => {
    const { sent, refusals } = await world().ensure(naming('sg-allowed,sg-database'));
    assert.deepEqual(sent, []);
    assert.deepEqual(
      refusals.map(({ message }) => message),
      [
        `${keys.securityGroups}: security group sg-database is not for default/web; an operator allows it with ` +
          `--allowed-security-groups=sg-database, or by the tag mooring.dev/attachable-by=${uid}/default on that group`,
      ],
    );
  });

  for (const [value, isAllowed] of [
    [uid, true],
    [`${uid}/default`, true],
    [`${uid}/default/web`, true],
    [`${uid}/default/api`, false],
    [`${uid}/evil`, false],
    ['another/default', false],
  ] as const) {
    it(`${isAllowed ? 'uses' : 'refuses'} a group with the tag ${value}`, async () => {
      const { refusals } = await world([tagged(value)]).ensure(naming('sg-tagged'));
      assert.equal(refusals.length === 0, isAllowed);
    });
  }

  it('refuses a group that has the tag of the cluster alone', async () => {
    const { refusals, sent } = await world().ensure(naming('sg-nodes'));
    assert.deepEqual([refusals.length, sent], [1, []]);
  });

  it('keeps the load balancer that stands as it is', async () => {
    const { ensure } = world();
    await ensure(classic.network());
    const { refusals, sent } = await ensure(naming('sg-database'));
    assert.match(refusals[0]?.message ?? '', /sg-database is not for default\/web/);
    assert.deepEqual(sent, []);
  });

  it('keeps a group that its own load balancer carries already, with a remark', async () => {
    const { ensure, restart } = world();
    await ensure(naming('sg-allowed'));
    restart(new Set());
    const { sent, refusals, remarks } = await ensure(naming('sg-allowed'));
    assert.deepEqual([sent, refusals], [[], []]);
    assert.match(remarks.join(), /security group sg-allowed stays, since the load balancer carries it/);
    const other = await ensure(naming('sg-allowed,sg-database'));
    assert.deepEqual(other.sent, []);
    assert.match(other.refusals[0]?.message ?? '', /sg-database is not for/);
  });

  it("opens the Service's own ports alone to the named group", async () => {
    const { ensure, rulesOfNodes } = world();
    await ensure(naming('sg-allowed'));
    assert.deepEqual(rulesOfNodes(), ['tcp 30080 sg-allowed', 'tcp 10256 sg-allowed', 'icmp 3 sg-allowed']);
  });

  it('changes its groups when the nodes admit the new ones, and stays where their group is full', async () => {
    const m = world();
    const isAdmitted = () => {
      const { groups = [] } = m.networkBalancer() ?? {};
      const rules = m.ingressOf('sg-nodes').filter(({ source }) => groups.includes(source));
      return rules.some(({ protocol, fromPort }) => protocol === '-1' || fromPort === 30_080);
    };
    await m.ensure(classic.network());
    m.aws.setHook(({ operation }) => void assert.ok(isAdmitted(), operation));
    for (const asked of [naming('sg-allowed'), classic.network(), naming('sg-allowed')]) await m.ensure(asked);
    const nodes = m.aws.groups.get('sg-nodes')!;
    const more = Array.from({ length: 60 - nodes.ingress.length }, (_, at) => rule(`tcp ${20_000 + at} 192.0.2.0/24`));
    m.aws.groups.set('sg-nodes', { ...nodes, ingress: [...nodes.ingress, ...more] });
    await assert.rejects(m.ensure(classic.network()), /no end/);
    assert.deepEqual(m.networkBalancer()!.groups, ['sg-allowed']);
  });

  it('opens no port of the nodes themselves for its health check', async () => {
    const { ensure, aws } = world();
    const annotations = { [keys.securityGroups]: 'sg-allowed', [keys.healthPort]: '10250' };
    const { refusals } = await ensure(classic.network({ annotations }));
    assert.match(refusals[0]?.message ?? '', /health check port 10250 is one of the nodes themselves/);
    assert.ok(!JSON.stringify(aws.sent.map(({ input }) => input)).includes('"FromPort":10250'));
  });
});

for (const [what, annotations] of [
  ['a network load balancer without groups', { [keys.type]: 'nlb' }],
  ['a classic load balancer with the group of a person', { [keys.securityGroups]: 'sg-persons' }],
] as const) {
  it(`the port that health checks of several Services ask stays open for the last of them, on ${what}`, async () => {
    const { ensure, remove, rulesOfNodes } = classic.machine();
    const onPort = { [keys.healthPort]: '9100', [keys.healthProtocol]: 'TCP' };
    const [one, two] = ['u1', 'u2'].map((name, at) =>
      classic.desiredOf(name, { ports: [classic.port(80 + at)], annotations: { ...annotations, ...onPort } }),
    ) as [DesiredLoadBalancer, DesiredLoadBalancer];
    const probes = () => rulesOfNodes().filter((each) => each.startsWith('tcp 9100'));
    await ensure(one);
    const opened = probes();
    assert.ok(opened.length > 0);
    await ensure(two);
    assert.deepEqual((await remove(one)).refusals, []);
    assert.deepEqual(probes(), opened);
    assert.deepEqual((await ensure(two)).sent, []);
    await remove(two);
    assert.deepEqual(rulesOfNodes(), []);
  });

  it(`a port that only health checks of one Service asked goes with them, on ${what}`, async () => {
    for (const restarts of [false, true]) {
      const m = classic.machine();
      const on = (at: string) =>
        classic.desiredOf('u1', {
          annotations: { ...annotations, [keys.healthPort]: at, [keys.healthProtocol]: 'TCP' },
        });
      const other = classic.desiredOf('u2', { ports: [classic.port(81)], annotations });
      const restart = async () => {
        if (restarts) m.restart();
        if (restarts) await m.audit();
      };
      const probes = (at: string) => m.rulesOfNodes().filter((each) => each.startsWith(`tcp ${at}`)).length > 0;
      await m.ensure(on('9100'));
      await m.ensure(other);
      await restart();
      await m.ensure(on('9200'));
      assert.deepEqual(['9100', '9200', '10256'].map(probes), [false, true, true]);
      await restart();
      await m.remove(on('9200'));
      assert.deepEqual(['9100', '9200', '10256'].map(probes), [false, false, true]);
      assert.deepEqual((await m.ensure(other)).sent, []);
      await m.remove(other);
      assert.deepEqual(m.rulesOfNodes(), []);
    }
  });

  it(`a port that health checks ask stays open before their Service is known again, on ${what}`, async () => {
    const m = classic.machine();
    const [one, two] = ['u1', 'u2'].map((name, at) =>
      classic.desiredOf(name, {
        ports: [classic.port(80 + at)],
        annotations: { ...annotations, [keys.healthPort]: '9100', [keys.healthProtocol]: 'TCP' },
      }),
    ) as [DesiredLoadBalancer, DesiredLoadBalancer];
    await m.ensure(one);
    await m.ensure(two);
    const opened = m.rulesOfNodes().filter((each) => each.startsWith('tcp 9100'));
    m.restart();
    m.balancers.declare([], false, new Set());
    await m.audit();
    await m.during(m.balancers.observe(m.refOf(one)));
    const plan = () => m.balancers.planRemoval(one.owner, { retain: false });
    for (let next = plan(); next.steps.length > 0; next = plan())
      await m.during(m.balancers.apply(next, { permit: () => {} }));
    assert.equal(m.aws.balancers.size + m.aws.region.balancers.size, 1);
    assert.deepEqual(
      m.rulesOfNodes().filter((each) => each.startsWith('tcp 9100')),
      opened,
    );
  });
}

describe('a Service of a classic load balancer that names a security group', () => {
  const naming = (ids: string, key: string = keys.securityGroups) => classic.desired({ annotations: { [key]: ids } });
  const machine = (persons: readonly string[] = [], allowed = new Set(['sg-persons', 'sg-allowed'])) =>
    classic.machine({ persons, allowed, more: [database, group('sg-allowed')] });

  for (const key of [keys.securityGroups, keys.extraSecurityGroups]) {
    it(`gets none where the operator has not allowed the group of ${key}`, async () => {
      const { sent, refusals } = await machine().ensure(naming('sg-database', key));
      assert.deepEqual(sent, []);
      assert.match(
        refusals[0]?.message ?? '',
        new RegExp(`^${key}: security group sg-database is not for default/web`),
      );
    });

    it(`keeps the load balancer that stands as it is, asked for the group by ${key}`, async () => {
      const { ensure: make } = machine();
      await make(classic.desired());
      const { sent, refusals } = await make(naming('sg-database', key));
      assert.deepEqual([sent, refusals.length], [[], 1]);
    });
  }

  it('keeps a group that its own load balancer carries already, with a remark', async () => {
    const { ensure: make, restart } = machine();
    const desired = naming('sg-allowed', keys.extraSecurityGroups);
    await make(desired);
    restart(new Set());
    const { sent, refusals, remarks } = await make(desired);
    assert.deepEqual([sent, refusals], [[], []]);
    assert.match(remarks.join(), /security group sg-allowed stays/);
  });

  it("narrows what an earlier version let in from such a group: the Service's own ports first", async () => {
    const { aws, ensure: make, remove, rulesOfNodes, restart, audit } = machine(['tcp 22 192.0.2.0/24']);
    await make(naming('sg-persons'));
    const narrow = rulesOfNodes();
    const broad = { ...rule('-1 * sg-persons'), description: descriptions.traffic('uid-c') };
    const nodes = aws.groups.get('sg-nodes')!;
    aws.groups.set('sg-nodes', { ...nodes, ingress: [...nodes.ingress, broad] });
    restart();
    await audit();
    const { sent } = await make(naming('sg-persons'));
    assert.deepEqual(rulesOfNodes(), narrow);
    assert.deepEqual(sent, ['RevokeSecurityGroupIngress']);
    await remove(naming('sg-persons'));
    assert.deepEqual(rulesOfNodes(), ['tcp 22 192.0.2.0/24']);
  });

  it('leaves what the classic controller or a person let in from such a group: no mark says whose it is', async () => {
    const { ensure: make, rulesOfNodes } = machine(['-1 * sg-persons']);
    await make(naming('sg-persons'));
    assert.equal(rulesOfNodes()[0], '-1 -1 sg-persons');
  });

  it('never lets in everything from a group of a person, whatever group it had before', async () => {
    const named = ['sg-persons', 'sg-allowed', 'sg-persons,sg-allowed', ''];
    for (const from of named) {
      for (const to of named) {
        const { aws, ensure: make, ingressOf } = machine();
        let isServing = false;
        aws.setHook(() => {
          const everything = (one: IngressRule) => one.protocol === '-1' && /persons|allowed/.test(one.source);
          assert.deepEqual(ingressOf('sg-nodes').filter(everything), []);
          // At every moment some rule lets in the load balancer to the port of the Service, from a group that it has.
          const carried = classic.carriedBy(aws.balancers.get(classic.balancerName));
          const isOpen = ingressOf('sg-nodes').some(
            (one) => carried.includes(one.source) && (one.protocol === '-1' || one.fromPort === 30_080),
          );
          assert.ok(isOpen || !isServing);
          return undefined;
        });
        await make(from === '' ? classic.desired() : naming(from));
        isServing = true;
        await make(to === '' ? classic.desired() : naming(to));
      }
    }
  });
});
