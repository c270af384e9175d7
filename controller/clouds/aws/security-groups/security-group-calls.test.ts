import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CloudError } from '../../../../common/cloud-error.ts';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { factsOf, group, rule } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { toCloudError } from '../errors.ts';
import { operationOf, type SdkCommand } from '../service-calls.ts';
import { type Carriers, createCarriers } from './carriers.ts';
import { usersOfRule } from './group-resources.ts';
import type { IngressRule } from './ingress-rule.ts';
import type { ObservedSecurityGroup } from './network-facts.ts';
import { createSecurityGroupCalls, type Needed } from './security-group-calls.ts';

const options = { permit: () => {} };
const ourTags = { [ownerTags.cluster]: 'uid-c', [ownerTags.service]: 'uid-s' };

function refusal(code: string, operation: string): CloudError {
  return toCloudError(Object.assign(new Error('no'), { Code: code, $metadata: { httpStatusCode: 400 } }), operation);
}

interface Script {
  readonly clock?: ReturnType<typeof fakeClock>;
  /** Code with which a change is refused, by operation. */
  readonly refuse?: Readonly<Record<string, string>>;
  /** As they were read last. */
  readonly known?: readonly ObservedSecurityGroup[];
  /** As EC2 shows them now. Default: as they were read last. */
  readonly there?: readonly ObservedSecurityGroup[];
  /** Load balancers as lists show them: name and groups. */
  readonly carriers?: readonly { readonly name: string; readonly groups: readonly string[] }[];
}

function callsOf({ clock = fakeClock(), refuse = {}, known = [], there = known, carriers: shown = [] }: Script) {
  const sent: string[] = [];
  const ec2 = {
    async change(command: SdkCommand<unknown>) {
      const operation = operationOf(command);
      sent.push(operation);
      const code = refuse[operation];
      if (code !== undefined) throw refusal(code, operation);
      return operation === 'CreateSecurityGroup' ? { GroupId: 'sg-new' } : {};
    },
    async read(command: { input: { GroupIds?: string[] } }) {
      const found = there.filter(({ id }) => command.input.GroupIds?.includes(id));
      return {
        SecurityGroups: found.map(({ id, name, tags, ingress }) => ({
          GroupId: id,
          GroupName: name,
          Tags: Object.entries(tags).map(([Key, Value]) => ({ Key, Value })),
          IpPermissions: ingress.map(({ protocol, fromPort, toPort, source, description }) => ({
            IpProtocol: protocol,
            FromPort: fromPort,
            ToPort: toPort,
            ...(source.startsWith('sg-')
              ? { UserIdGroupPairs: [{ GroupId: source, Description: description }] }
              : { IpRanges: [{ CidrIp: source, Description: description }] }),
          })),
        })),
      };
    },
  };
  const list = async () => shown.map((one) => ({ ...one, id: one.name, hostname: '', tags: undefined }));
  const carriers = createCarriers(clock, [{ carriers: list }]);
  const cluster = async () => clusterTagsOf('c1', false);
  const groups = new Map(known.map((one) => [one.id, one]));
  const reads = {
    vpc: async () => 'vpc-1',
    groups: async () => factsOf(there).groups,
    lastGroups: () => groups,
    noteGroup: (id: string, one: ObservedSecurityGroup | undefined) =>
      void (one === undefined ? groups.delete(id) : groups.set(id, one)),
  };
  const parts = { context: { clock } as never, ec2: ec2 as never, cluster };
  const calls = createSecurityGroupCalls(parts, reads, carriers);
  return { calls, sent, carriers, groups };
}

describe('calls about security groups', () => {
  const spec = { name: 'k8s-elb-a1', description: 'x', tags: ourTags };
  const rules = [rule('tcp 80 0.0.0.0/0')];

  it('give a new group the tags of the cluster, too', async () => {
    const made = await callsOf({}).calls.create(spec, options);
    assert.deepEqual(made.tags, { 'kubernetes.io/cluster/c1': 'owned', ...ourTags });
  });

  it('find a group that an earlier call has made', async () => {
    const there = [group('sg-7', { name: 'k8s-elb-a1', tags: ourTags })];
    const { calls } = callsOf({ refuse: { CreateSecurityGroup: 'InvalidGroup.Duplicate' }, there });
    assert.equal((await calls.create(spec, options)).id, 'sg-7');
  });

  it('rejects with Conflict where a group of that name has another owner', async () => {
    const there = [group('sg-7', { name: 'k8s-elb-a1', tags: { ...ourTags, [ownerTags.service]: 'another' } })];
    const { calls } = callsOf({ refuse: { CreateSecurityGroup: 'InvalidGroup.Duplicate' }, there });
    await assert.rejects(calls.create(spec, options), { kind: 'Conflict' });
  });

  it('succeed where all rules are there already, and are a conflict where only some are', async () => {
    const refuse = { AuthorizeSecurityGroupIngress: 'InvalidPermission.Duplicate' };
    const there = [group('sg-1', { ingress: rules })];
    const script = { refuse, known: [group('sg-1')], there };
    assert.equal((await callsOf(script).calls.authorize('sg-1', rules, options)).ingress.length, 1);
    const more = [...rules, rule('tcp 81 0.0.0.0/0')];
    await assert.rejects(callsOf(script).calls.authorize('sg-1', more, options), { kind: 'Conflict' });
  });

  it('say of a full group how many rules it has, and how many more are asked for', async () => {
    const refuse = { AuthorizeSecurityGroupIngress: 'RulesPerSecurityGroupLimitExceeded' };
    const { calls } = callsOf({ refuse, known: [group('sg-1', { name: 'nodes', ingress: rules })] });
    const more = ['tcp 80 0.0.0.0/0', 'tcp 81 0.0.0.0/0', 'tcp 82 0.0.0.0/0'].map((text) => rule(text));
    await assert.rejects(calls.authorize('sg-1', more, options), {
      kind: 'QuotaExceeded',
      message: /: RulesPerSecurityGroupLimitExceeded: security group nodes \(sg-1\) has 1 rules, and needs 2 more$/,
    });
  });

  it('succeed where rules are gone already', async () => {
    const refuse = { RevokeSecurityGroupIngress: 'InvalidPermission.NotFound' };
    const { calls } = callsOf({ refuse, known: [group('sg-1', { ingress: rules })], there: [group('sg-1')] });
    assert.deepEqual((await calls.revoke('sg-1', rules, undefined, options))?.ingress, []);
  });

  it('tell a full group as a quota', async () => {
    const refuse = { AuthorizeSecurityGroupIngress: 'RulesPerSecurityGroupLimitExceeded' };
    const { calls } = callsOf({ refuse, known: [group('sg-1')] });
    await assert.rejects(calls.authorize('sg-1', rules, options), { kind: 'QuotaExceeded' });
  });

  it('keep what two of them change of one group at the same time', async () => {
    const { calls, groups } = callsOf({ known: [group('sg-1', { ingress: rules })] });
    const more = [rule('tcp 81 0.0.0.0/0')];
    await Promise.all([
      calls.authorize('sg-1', more, options),
      calls.revoke('sg-1', rules, undefined, options),
      calls.tag('sg-1', { a: 'b' }, options),
    ]);
    const tags = { ...clusterTagsOf('c1', false).owned, a: 'b' };
    assert.deepEqual(groups.get('sg-1'), { ...group('sg-1'), ingress: more, tags });
  });

  it('tell a group in use as busy, and take one that is gone for gone', async () => {
    const known = [group('sg-1')];
    const busy = callsOf({ known, refuse: { DeleteSecurityGroup: 'DependencyViolation' } });
    await assert.rejects(busy.calls.remove('sg-1', options), { kind: 'Busy', retryAfterMs: 5000 });
    const gone = callsOf({ known, refuse: { DeleteSecurityGroup: 'InvalidGroup.NotFound' } });
    await gone.calls.remove('sg-1', options);
    assert.equal(gone.groups.size, 0);
  });

  it('try a group in use ever less often, and say after ten minutes that something else uses it', async () => {
    const clock = fakeClock();
    const known = [group('sg-1', { name: 'k8s-elb-a1' })];
    const { calls } = callsOf({ clock, known, refuse: { DeleteSecurityGroup: 'DependencyViolation' } });
    const waits: (number | undefined)[] = [];
    for (let round = 0; round < 5; round += 1) {
      const error = await calls.remove('sg-1', options).catch((thrown: CloudError) => thrown);
      const { retryAfterMs } = error as CloudError;
      waits.push(retryAfterMs);
      await clock.advance(retryAfterMs ?? 0);
    }
    assert.deepEqual(waits, [5000, 10_000, 20_000, 40_000, 80_000]);
    await clock.advance(600_000);
    await assert.rejects(calls.remove('sg-1', options), {
      kind: 'Conflict',
      message: /k8s-elb-a1 \(sg-1\) is used by something else/,
    });
  });

  it('count no load balancer that could not be made, and one whose answer was lost', async () => {
    const { calls, carriers } = callsOf({});
    const failing = (kind: 'QuotaExceeded' | 'Timeout') =>
      assert.rejects(
        calls.carrying('a2', ['sg-traffic'], async () => {
          throw new CloudError({ kind, cloud: 'aws', operation: 'CreateLoadBalancer', message: 'no' });
        }),
      );
    assert.equal(carriers.of('sg-traffic'), undefined);
    carriers.listed([], 0);
    await failing('QuotaExceeded');
    assert.deepEqual(carriers.of('sg-traffic'), []);
    await failing('Timeout');
    assert.deepEqual(carriers.of('sg-traffic'), ['a2']);
  });

  describe('revoking a rule that another load balancer may need', () => {
    const fromTraffic = rule('-1 * sg-traffic', 'mooring.dev/traffic cluster=uid-c');
    const known = [group('sg-nodes', { ingress: [fromTraffic] }), group('sg-traffic')];
    const view = { cluster: 'uid-c', mayProbe: () => true };
    /** By another one than a1. */
    const by = (what: Needed['by'], shared: IngressRule, { of }: Pick<Carriers, 'of'>): Needed => ({
      by: what,
      isNeeded: (there) =>
        usersOfRule({ group: there, rule: shared }, view, of)?.some((name) => name !== 'a1') === true,
    });

    it('keeps a rule for a load balancer that a list shows', async () => {
      const { calls, sent, carriers } = callsOf({ known, carriers: [{ name: 'a2', groups: ['sg-traffic'] }] });
      await calls.revoke('sg-nodes', [fromTraffic], by('carriers', fromTraffic, carriers), options);
      assert.deepEqual(sent, []);
    });

    it('revokes a rule where the other load balancer has rules of its own from that group', async () => {
      const own = rule('tcp 30080 sg-traffic', 'kubernetes.io/rule/nlb/client=a2');
      const admitted = [group('sg-nodes', { ingress: [fromTraffic, own] })];
      for (const [carrier, expected] of [
        ['a2', ['RevokeSecurityGroupIngress']],
        ['a3', []],
      ] as const) {
        const shown = [{ name: carrier, groups: ['sg-traffic'] }];
        const { calls, sent, carriers } = callsOf({ known: admitted, carriers: shown });
        await calls.revoke('sg-nodes', [fromTraffic], by('carriers', fromTraffic, carriers), options);
        assert.deepEqual(sent, expected);
      }
    });

    it('keeps a rule for a load balancer that is being made and that no list shows yet', async () => {
      const { calls, sent, carriers } = callsOf({ known });
      const made = Promise.withResolvers<void>();
      const needed = by('carriers', fromTraffic, carriers);
      const joining = calls.carrying('a2', ['sg-traffic'], () => made.promise);
      await calls.revoke('sg-nodes', [fromTraffic], needed, options);
      assert.deepEqual(sent, []);
      made.resolve();
      await joining;
      carriers.seen({ names: ['a2'], types: new Set(['classic']) }, [], 0);
      await calls.revoke('sg-nodes', [fromTraffic], needed, options);
      assert.deepEqual(sent, ['RevokeSecurityGroupIngress']);
    });

    it('keeps a health check rule for a load balancer whose clients a rule lets in by now', async () => {
      const health = rule('tcp 10256 10.0.0.0/24', 'mooring.dev/health cluster=uid-c');
      const client = rule('tcp 30080 0.0.0.0/0', 'kubernetes.io/rule/nlb/client=a2');
      const there = [group('sg-nodes', { ingress: [health, client] })];
      const { calls, sent, groups, carriers } = callsOf({ known: [group('sg-nodes', { ingress: [health] })], there });
      await calls.revoke('sg-nodes', [health], by('rules', health, carriers), options);
      assert.deepEqual(sent, []);
      assert.equal(groups.get('sg-nodes')?.ingress.length, 2);
    });

    it('revokes a rule for packet sizes of other sources than the clients of another load balancer', async () => {
      const mtu = rule('icmp 3-4 192.0.2.0/24', 'kubernetes.io/rule/nlb/mtu');
      const client = rule('tcp 30080 198.51.100.0/24', 'kubernetes.io/rule/nlb/client=a2');
      const { calls, sent, carriers } = callsOf({ known: [group('sg-nodes', { ingress: [mtu, client] })] });
      await calls.revoke('sg-nodes', [mtu], by('rules', mtu, carriers), options);
      assert.deepEqual(sent, ['RevokeSecurityGroupIngress']);
    });
  });
});
