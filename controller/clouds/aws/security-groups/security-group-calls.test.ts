import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../../common/cloud-error.ts';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { factsOf, group, rule } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { toCloudError } from '../errors.ts';
import { createGroupUsers } from './group-users.ts';
import type { NetworkFacts, ObservedSecurityGroup } from './network-facts.ts';
import { planNodeRuleRemoval } from './node-rules.ts';
import { createSecurityGroupCalls } from './security-group-calls.ts';

const options = { permit: () => {} };
const ourTags = { [ownerTags.cluster]: 'uid-c', [ownerTags.service]: 'uid-s' };

function refusal(code: string, operation: string): CloudError {
  return toCloudError(Object.assign(new Error('no'), { Code: code, $metadata: { httpStatusCode: 400 } }), operation);
}

interface Script {
  readonly clock?: ReturnType<typeof fakeClock>;
  /** Code with which a change is refused, by operation. */
  readonly refuse?: Readonly<Record<string, string>>;
  /** As EC2 shows them when they are read anew. */
  readonly there?: readonly ObservedSecurityGroup[];
  /** Load balancers as lists show them: name and groups. */
  readonly carriers?: readonly { readonly name: string; readonly groups: readonly string[] }[];
}

function callsOf({ clock = fakeClock(), refuse = {}, there = [], carriers = [] }: Script) {
  const sent: string[] = [];
  const ec2 = {
    async change(operation: string) {
      sent.push(operation);
      const code = refuse[operation];
      if (code !== undefined) throw refusal(code, operation);
      return operation === 'CreateSecurityGroup' ? { GroupId: 'sg-new' } : {};
    },
    async read(_operation: string, command: { input: { GroupIds?: string[] } }) {
      const found = there.filter(({ id }) => command.input.GroupIds?.includes(id));
      return {
        SecurityGroups: found.map(({ id, name, tags, ingress }) => ({
          ...{ GroupId: id, GroupName: name, Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })) },
          IpPermissions: ingress.map(({ protocol, fromPort, toPort, source, description }) => ({
            ...{ IpProtocol: protocol, FromPort: fromPort, ToPort: toPort },
            ...(source.startsWith('sg-')
              ? { UserIdGroupPairs: [{ GroupId: source, Description: description }] }
              : { IpRanges: [{ CidrIp: source, Description: description }] }),
          })),
        })),
      };
    },
  };
  const elb = {
    read: async () => ({
      LoadBalancerDescriptions: carriers.map(({ name, groups }) => ({
        LoadBalancerName: name,
        SecurityGroups: groups,
      })),
    }),
  };
  const elbv2 = { read: async () => ({ LoadBalancers: [] }) };
  const users = createGroupUsers({ elb: () => elb as never, elbv2: () => elbv2 as never });
  const cluster = async () => clusterTagsOf('c1', false);
  const calls = createSecurityGroupCalls(
    { context: { clock } as never, ec2: ec2 as never, cluster },
    { facts: async () => factsOf(there) },
    users,
  );
  return { calls, sent, users };
}

describe('calls about security groups', () => {
  const create = { does: 'create security group', name: 'k8s-elb-a1', description: 'x', tags: ourTags } as const;
  const authorize = {
    does: 'authorize ingress',
    group: 'sg-1',
    rules: [rule('tcp 80 0.0.0.0/0')],
    shared: false,
  } as const;

  it('a group that is made carries the tags of the cluster, too', async () => {
    const { calls } = callsOf({});
    const after = await calls.apply(create, factsOf([]), options);
    assert.deepEqual(after.groups.get('sg-new')?.tags, { 'kubernetes.io/cluster/c1': 'owned', ...ourTags });
  });

  it('one that an earlier call has made is found', async () => {
    const there = [group('sg-7', { name: 'k8s-elb-a1', tags: ourTags })];
    const { calls } = callsOf({ refuse: { CreateSecurityGroup: 'InvalidGroup.Duplicate' }, there });
    const after = await calls.apply(create, factsOf([]), options);
    assert.equal(after.groups.get('sg-7')?.name, 'k8s-elb-a1');
  });

  it('one that has the name and another owner is not taken for it', async () => {
    const there = [group('sg-7', { name: 'k8s-elb-a1', tags: { ...ourTags, [ownerTags.service]: 'another' } })];
    const { calls } = callsOf({ refuse: { CreateSecurityGroup: 'InvalidGroup.Duplicate' }, there });
    await assert.rejects(calls.apply(create, factsOf([]), options), { kind: 'Conflict' });
  });

  it('rules that are there already are no failure, and rules of which only some are there are looked at anew', async () => {
    const refuse = { AuthorizeSecurityGroupIngress: 'InvalidPermission.Duplicate' };
    const there = [group('sg-1', { ingress: authorize.rules })];
    const after = await callsOf({ refuse, there }).calls.apply(authorize, factsOf([group('sg-1')]), options);
    assert.equal(after.groups.get('sg-1')?.ingress.length, 1);
    const more = { ...authorize, rules: [...authorize.rules, rule('tcp 81 0.0.0.0/0')] };
    await assert.rejects(callsOf({ refuse, there }).calls.apply(more, factsOf([group('sg-1')]), options), {
      kind: 'Conflict',
    });
  });

  it('rules that are gone already are no failure', async () => {
    const { calls } = callsOf({
      refuse: { RevokeSecurityGroupIngress: 'InvalidPermission.NotFound' },
      there: [group('sg-1')],
    });
    const revoke = { does: 'revoke ingress', group: 'sg-1', rules: authorize.rules, unless: undefined } as const;
    const after = await calls.apply(revoke, factsOf([group('sg-1', { ingress: authorize.rules })]), options);
    assert.deepEqual(after.groups.get('sg-1')?.ingress, []);
  });

  it('a group that is full is a quota, not a fault of ours', async () => {
    const { calls } = callsOf({ refuse: { AuthorizeSecurityGroupIngress: 'RulesPerSecurityGroupLimitExceeded' } });
    await assert.rejects(calls.apply(authorize, factsOf([group('sg-1')]), options), { kind: 'QuotaExceeded' });
  });

  it('a group in use is busy, and one that is gone is gone', async () => {
    const remove = { does: 'delete security group', group: 'sg-1', unless: undefined } as const;
    const facts = factsOf([group('sg-1')]);
    const busy = await callsOf({ refuse: { DeleteSecurityGroup: 'DependencyViolation' } }).calls.apply(
      remove,
      facts,
      options,
    );
    assert.deepEqual([...busy.busy], ['sg-1']);
    const gone = await callsOf({ refuse: { DeleteSecurityGroup: 'InvalidGroup.NotFound' } }).calls.apply(
      remove,
      facts,
      options,
    );
    assert.equal(gone.groups.size, 0);
  });

  it('one that stays in use is tried ever less often, and after ten minutes said to be used by something else', async () => {
    const clock = fakeClock();
    const { calls } = callsOf({ clock, refuse: { DeleteSecurityGroup: 'DependencyViolation' } });
    const remove = { does: 'delete security group', group: 'sg-1', unless: undefined } as const;
    const facts = factsOf([group('sg-1', { name: 'k8s-elb-a1' })]);
    const waits: (number | undefined)[] = [];
    for (let round = 0; round < 5; round += 1) {
      const { busyMs } = await calls.apply(remove, facts, options);
      waits.push(busyMs);
      await clock.advance(busyMs ?? 0);
    }
    assert.deepEqual(waits, [5000, 10_000, 20_000, 40_000, 80_000]);
    await clock.advance(600_000);
    await assert.rejects(calls.apply(remove, facts, options), {
      kind: 'Conflict',
      message: /k8s-elb-a1 \(sg-1\) is used by something else/,
    });
  });

  it('a load balancer that could not be made needs nothing', async () => {
    const { calls, users } = callsOf({});
    const carrier = { name: 'a2', groups: ['sg-traffic'] };
    const failing = (kind: 'QuotaExceeded' | 'Timeout') =>
      assert.rejects(
        calls.joining(carrier, factsOf([]), async () => {
          throw new CloudError({ kind, cloud: 'aws', operation: 'CreateLoadBalancer', message: 'no' });
        }),
      );
    users.listed('classic', []);
    users.listed('nlb', []);
    await failing('QuotaExceeded');
    assert.equal(users.known()?.get('sg-traffic'), undefined);
    await failing('Timeout');
    assert.deepEqual(users.known()?.get('sg-traffic'), ['a2']);
  });

  describe('what somebody else turns out to need stays, without a call', () => {
    const fromTraffic = rule('-1 * sg-traffic', 'mooring.dev/traffic cluster=uid-c');
    const facts: NetworkFacts = factsOf([group('sg-nodes', { ingress: [fromTraffic] }), group('sg-traffic')]);
    const unless = { by: 'users of a group', group: 'sg-traffic', but: 'a1' } as const;
    const revoke = { does: 'revoke ingress', group: 'sg-nodes', rules: [fromTraffic], unless } as const;

    it('a load balancer that a list shows', async () => {
      const { calls, sent } = callsOf({ carriers: [{ name: 'a2', groups: ['sg-traffic'] }] });
      const after = await calls.apply(revoke, facts, options);
      assert.deepEqual(sent, []);
      assert.deepEqual(after.users?.get('sg-traffic'), ['a2']);
    });

    it('but one that rules of its own let in from that group needs it no more', async () => {
      const own = rule('tcp 30080 sg-traffic', 'kubernetes.io/rule/nlb/client=a2');
      const admitted = factsOf([group('sg-nodes', { ingress: [fromTraffic, own] }), group('sg-traffic')]);
      for (const [carrier, expected] of [
        ['a2', ['RevokeSecurityGroupIngress']],
        ['a3', []],
      ] as const) {
        const { calls, sent } = callsOf({ carriers: [{ name: carrier, groups: ['sg-traffic'] }] });
        await calls.apply({ ...revoke, unless: { ...unless, unlessAdmitted: true } }, admitted, options);
        assert.deepEqual(sent, expected);
      }
    });

    it('one that is being made, and no list shows yet', async () => {
      const { calls, sent } = callsOf({});
      const made = Promise.withResolvers<void>();
      const joining = calls.joining({ name: 'a2', groups: ['sg-traffic'] }, facts, () => made.promise);
      await calls.apply(revoke, facts, options);
      assert.deepEqual(sent, []);
      made.resolve();
      await joining;
      calls.left('a2', facts);
      await calls.apply(revoke, facts, options);
      assert.deepEqual(sent, ['RevokeSecurityGroupIngress']);
    });

    it('one whose clients a rule lets in', async () => {
      const health = rule('tcp 10256 10.0.0.0/24', 'mooring.dev/health cluster=uid-c');
      const client = rule('tcp 30080 0.0.0.0/0', 'kubernetes.io/rule/nlb/client=a2');
      const { calls, sent } = callsOf({ there: [group('sg-nodes', { ingress: [health, client] })] });
      const call = { ...revoke, rules: [health], unless: { by: 'client rules', but: 'a1' } } as const;
      const after = await calls.apply(call, factsOf([group('sg-nodes', { ingress: [health] })]), options);
      assert.deepEqual(sent, []);
      assert.equal(after.groups.get('sg-nodes')?.ingress.length, 2);
    });
  });

  it("what senders need to hear about packet sizes is not kept by somebody else's senders", async () => {
    const mtu = rule('icmp 3-4 192.0.2.0/24', 'kubernetes.io/rule/nlb/mtu');
    const client = rule('tcp 30080 198.51.100.0/24', 'kubernetes.io/rule/nlb/client=a2');
    const there = group('sg-nodes', { ingress: [mtu, client] });
    const { calls, sent } = callsOf({ there: [there] });
    const wish = { owner: { cluster: 'uid-c', service: 'uid-s' }, loadBalancer: 'a1', groups: [], ownGroup: undefined };
    const [planned] = planNodeRuleRemoval(wish, factsOf([there]));
    await calls.apply(planned!.call, factsOf([there]), options);
    assert.deepEqual(sent, ['RevokeSecurityGroupIngress']);
  });

  it('who is made meanwhile learns that a rule is gone', async () => {
    const { calls } = callsOf({ there: [group('sg-nodes')] });
    const stale = factsOf([group('sg-nodes', { ingress: [rule('-1 * sg-traffic')] })]);
    const { facts } = await calls.joining({ name: 'a2', groups: ['sg-traffic'] }, stale, async () => {});
    assert.deepEqual(facts.groups.get('sg-nodes')?.ingress, []);
  });
});
