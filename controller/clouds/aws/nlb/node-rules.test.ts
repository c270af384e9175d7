import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  balancerName,
  desiredOf,
  machine,
  managedConfig,
  member,
  network,
  plainConfig,
  port,
  subnets as subnetsOfVpc,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group, rule } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { type DesiredLoadBalancer, ownerTags } from '../../load-balancers.ts';
import { keys } from '../load-balancer-annotations.ts';
import { type IngressRule, ruleKey } from '../security-groups/ingress-rule.ts';

type Machine = ReturnType<typeof machine>;
const shown = (m: Machine, id = 'sg-nodes') =>
  m
    .ingressOf(id)
    .map((one) => `${ruleKey(one)} ${one.description ?? ''}`.trim())
    .sort();
const other = (service: string, fields: Partial<DesiredLoadBalancer> = {}) =>
  desiredOf(service, { ...fields, annotations: { [keys.type]: 'nlb', ...fields.annotations } });
const mtu = (source: string) => `icmp 3-4 ${source} kubernetes.io/rule/nlb/mtu`;
const client = (name: string, node: number, source: string) =>
  `tcp ${node}-${node} ${source} kubernetes.io/rule/nlb/client=${name}`;
const probes = (...sources: string[]) =>
  sources.map((source) => `tcp 10256-10256 ${source} mooring.dev/health cluster=uid-c`);
const subnets = ['10.0.0.0/24', '10.0.1.0/24'];

describe('rules on the groups of the nodes for a network load balancer without groups', () => {
  it('let in clients to the node port, health checks from the subnets, and packet sizes', async () => {
    const m = machine();
    await m.ensure(network());
    assert.deepEqual(shown(m), [mtu('0.0.0.0/0'), ...probes(...subnets), client(balancerName, 30_080, '0.0.0.0/0')]);
  });

  it('let in no health checks where clients reach that port', async () => {
    const m = machine();
    await m.ensure(network({ annotations: { [keys.healthPort]: 'traffic-port', [keys.healthProtocol]: 'TCP' } }));
    assert.deepEqual(shown(m), [mtu('0.0.0.0/0'), client(balancerName, 30_080, '0.0.0.0/0')]);
  });

  it('let in health checks from IPv6 ranges that subnets have got, from the next audit on', async () => {
    const places = subnetsOfVpc.map((subnet) => ({ ...subnet, ipv6: false }));
    const m = machine({ subnets: places });
    await m.ensure(network());
    for (const place of places) place.ipv6 = true;
    const dual = network({ families: ['IPv4', 'IPv6'] });
    await m.ensure(dual);
    await m.clock.advance(300_000);
    await m.audit();
    await m.ensure(dual);
    const rules = shown(m).filter((one) => one.includes('10256-10256 2001:db8:'));
    assert.equal(rules.length, 2, shown(m).join());
  });

  it('makes no rules where a person looks after the groups', async () => {
    const m = machine({ config: { ...plainConfig, disableSecurityGroupIngress: true } });
    await m.ensure(network());
    assert.deepEqual(shown(m), []);
  });

  it('takes the rules of the classic controller for its own', async () => {
    const m = machine();
    const name = balancerName;
    const nodes = m.aws.groups.get('sg-nodes')!;
    const ingress = [
      rule('tcp 30080 0.0.0.0/0', `kubernetes.io/rule/nlb/client=${name}`),
      rule('icmp 3-4 0.0.0.0/0', 'kubernetes.io/rule/nlb/mtu'),
      ...subnets.map((source) => rule(`tcp 31000 ${source}`, `kubernetes.io/rule/nlb/health=${name}`)),
    ];
    m.aws.groups.set('sg-nodes', { ...nodes, ingress });
    const local = network({ trafficPolicy: 'Local', healthCheck: { port: 31_000, path: '/healthz' } });
    const { sent } = await m.ensure(local);
    assert.ok(!sent.some((one) => one.includes('Ingress')), sent.join());
    await m.remove(local);
    assert.deepEqual(shown(m), []);
  });

  /** As the classic controller made it, with a client that the Service does not name any more. */
  async function adopted(asked: DesiredLoadBalancer) {
    const m = machine({ config: { ...plainConfig, healthProbe: { mode: 'ServiceNodePort' } } });
    await m.ensure(asked);
    const { hostname, tags } = m.networkBalancer()!;
    const { listeners, targetGroups } = m.aws.region;
    const tagged = [tags, ...[...listeners.values(), ...targetGroups.values()].map((one) => one.tags)];
    for (const own of tagged) for (const key of Object.values(ownerTags)) own.delete(key);
    const nodes = m.aws.groups.get('sg-nodes')!;
    const stale = rule('tcp 30080 198.51.100.0/24', `kubernetes.io/rule/nlb/client=${balancerName}`);
    m.aws.groups.set('sg-nodes', { ...nodes, ingress: [...nodes.ingress, stale] });
    const proof = { clusterName: 'kubernetes', addresses: [hostname] };
    const restart = async () => {
      m.restart();
      await m.during(m.balancers.observeAll('uid-c', undefined, [m.refOf(asked, proof)]));
    };
    await restart();
    return { m, proof, restart };
  }

  for (const fields of [
    { trafficPolicy: 'Local', healthCheck: { port: 31_000, path: '/healthz' } },
    { sourceRanges: ['192.0.2.0/24'] },
  ] as const) {
    it(`deletes the rules of an unchanged adopted load balancer, with ${Object.keys(fields)[0]}`, async () => {
      for (const restarts of [false, true]) {
        const { m, proof, restart } = await adopted(network(fields));
        const before = shown(m);
        assert.deepEqual((await m.ensure(network(fields), undefined, proof)).sent, []);
        assert.deepEqual(shown(m), before);
        if (restarts) await restart();
        await m.remove(network(fields), undefined, proof);
        assert.deepEqual([shown(m), m.networkBalancer(), m.aws.region.targetGroups.size], [[], undefined, 0]);
      }
    });
  }

  it('deletes the rules that an adopted load balancer does not need with its first change', async () => {
    const { m, proof } = await adopted(network());
    const changed = network({ ports: [port(80), port(81)] });
    await m.ensure(changed, undefined, proof);
    assert.deepEqual(shown(m), [
      mtu('0.0.0.0/0'),
      ...[30_080, 30_081].map((node) => client(balancerName, node, '0.0.0.0/0')),
    ]);
    await m.remove(changed);
    assert.deepEqual(shown(m), []);
  });

  it('come for other ports and clients before the old ones go', async () => {
    const m = machine();
    await m.ensure(network());
    const { sent } = await m.ensure(network({ sourceRanges: ['192.0.2.0/24'], ports: [port(80, 30_999)] }));
    const rules = sent.filter((one) => one.includes('Ingress'));
    assert.equal(rules[0], 'AuthorizeSecurityGroupIngress');
    assert.deepEqual(shown(m), [
      mtu('192.0.2.0/24'),
      ...probes(...subnets),
      client(balancerName, 30_999, '192.0.2.0/24'),
    ]);
  });

  it('go where members were and are no more, and not while an answer has left out a member', async () => {
    const gone = new Set<string>();
    const instance = (id: string) => {
      if (gone.has(id)) return undefined;
      return { zone: 'eu-west-1a', groups: [id === 'i-3' ? 'sg-other' : 'sg-nodes'], tags: clusterTag };
    };
    const m = machine({ instance, more: [group('sg-other', { tags: clusterTag })] });
    await m.ensure(network());
    const before = shown(m);
    for (const id of ['i-1', 'i-2']) gone.add(id);
    m.restart();
    const unseen = [1, 2].map((one) => member(one, { addresses: [] }));
    await m.ensure(network({ members: [...unseen, member(3)] }));
    assert.deepEqual(shown(m), before);
    await m.ensure(network({ members: [member(3)] }));
    assert.deepEqual(shown(m), []);
    assert.deepEqual(shown(m, 'sg-other'), before);
  });

  it('keeps shared rules while another load balancer is there, and deletes them with the last one', async () => {
    const m = machine();
    await m.ensure(network());
    await m.ensure(other('u2', { ports: [port(81)] }));
    await m.remove(network());
    assert.deepEqual(shown(m), [mtu('0.0.0.0/0'), ...probes(...subnets), client('au2', 30_081, '0.0.0.0/0')]);
    await m.remove(other('u2'));
    assert.deepEqual(shown(m), []);
  });

  it('all go when two Services go at once', async () => {
    const m = machine();
    await m.ensure(network());
    await m.ensure(other('u2', { ports: [port(81)] }));
    await Promise.all([m.remove(network()), m.remove(other('u2'))]);
    assert.deepEqual(shown(m), []);
    assert.deepEqual([m.listeners(), m.aws.region.targetGroups.size], [[], 0]);
  });

  it('go with a Service that was deleted while no controller ran', async () => {
    const m = machine();
    await m.ensure(network());
    m.restart();
    await m.audit();
    await m.remove(network());
    assert.deepEqual([shown(m), m.aws.region.targetGroups.size], [[], 0]);
  });
});

describe("rules on the groups of the nodes for a network load balancer with a person's group", () => {
  const naming = (service: string, at: number) =>
    other(service, { ports: [port(at)], annotations: { [keys.securityGroups]: 'sg-persons' } });

  it('let in the ports of each Service alone; what an earlier version let in goes when each has its own', async () => {
    const m = machine({ config: managedConfig });
    await m.ensure(naming('u1', 80));
    await m.ensure(naming('u2', 81));
    const narrow = [
      mtu('sg-persons'),
      ...probes('sg-persons'),
      client('au1', 30_080, 'sg-persons'),
      client('au2', 30_081, 'sg-persons'),
    ];
    assert.deepEqual(shown(m), narrow);
    const nodes = m.aws.groups.get('sg-nodes')!;
    const broad = rule('-1 * sg-persons', 'mooring.dev/traffic cluster=uid-c');
    m.aws.groups.set('sg-nodes', { ...nodes, ingress: [...nodes.ingress, broad] });
    m.restart();
    await m.audit();
    await m.ensure(naming('u1', 80));
    assert.deepEqual(shown(m), narrow);
    for (const [service, at] of [
      ['u1', 80],
      ['u2', 81],
    ] as const)
      await m.remove(naming(service, at));
    assert.deepEqual(shown(m), []);
  });
});

describe('whatever rules persons have made', () => {
  const cidr = fc.constantFrom('0.0.0.0/0', '192.0.2.0/24', '10.0.0.0/24', '10.0.1.0/24', '2001:db8::/64');
  const source = fc.oneof(cidr, fc.constantFrom('sg-persons', 'pl-1'));
  const number = fc.constantFrom(22, 10256, 30080, 30081, 30999, 32000);
  const personsRule = fc.oneof(
    fc
      .record({ protocol: fc.constantFrom('tcp', 'udp'), at: number, from: source })
      .map(({ protocol, at, from }) => ({ protocol, fromPort: at, toPort: at, source: from })),
    source.map((from) => ({ protocol: '-1', fromPort: -1, toPort: -1, source: from })),
    source.map((from) => ({ protocol: 'icmp', fromPort: 3, toPort: 4, source: from })),
    source.map((from) => ({ protocol: 'tcp', fromPort: 30000, toPort: 32767, source: from })),
  );
  const description = fc.constantFrom(
    undefined,
    'ssh',
    'kubernetes.io/rule/nlb/',
    'health',
    'mooring.dev/traffic',
    'mooring.dev/traffic cluster=another',
  );
  const persons = fc
    .uniqueArray(fc.tuple(personsRule, description), { selector: ([one]) => ruleKey(one), maxLength: 12 })
    .map((rules) => rules.map(([one, about]): IngressRule => ({ ...one, description: about })));
  const asked = fc
    .record({
      clients: fc.uniqueArray(fc.constantFrom('0.0.0.0/0', '192.0.2.0/24'), { minLength: 1 }),
      ports: fc.uniqueArray(fc.constantFrom(30080, 30081, 30999), { minLength: 1 }),
      isLocal: fc.boolean(),
    })
    .map(({ clients, ports, isLocal }): Partial<DesiredLoadBalancer> => {
      return {
        sourceRanges: clients,
        ports: ports.map((at) => port(at - 30_000, at)),
        ...(isLocal && { trafficPolicy: 'Local', healthCheck: { port: 32_000, path: '/healthz' } }),
      };
    });

  for (const config of [plainConfig, managedConfig]) {
    it(`revokes none of them and ends settled, ${config === plainConfig ? 'without' : 'with'} groups`, async () => {
      await fc.assert(
        fc.asyncProperty(persons, asked, asked, asked, async (theirs, first, second, third) => {
          const m = machine({ config });
          const nodes = m.aws.groups.get('sg-nodes')!;
          m.aws.groups.set('sg-nodes', { ...nodes, ingress: theirs });
          const before = shown(m);
          for (const fields of [first, second]) await m.ensure(network(fields));
          assert.deepEqual((await m.ensure(network(second))).sent, []);
          // Ports of two Services never meet.
          const healthCheck = { port: third.healthCheck === undefined ? 10_256 : 32_001, path: '/healthz' };
          await m.ensure(other('u2', { ...third, ports: [port(1500, 31_500)], healthCheck }));
          await m.remove(network());
          await m.remove(other('u2'));
          assert.deepEqual(shown(m), before);
        }),
        { numRuns: 60 },
      );
    });
  }
});
