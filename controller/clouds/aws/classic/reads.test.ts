import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { factsOf, group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { type LoadBalancerRef, ownerTags } from '../../load-balancers.ts';
import { clusterTagsOf } from '../cluster-tags.ts';
import { toCloudError } from '../errors.ts';
import { createGroupUsers } from '../security-groups/group-users.ts';
import type { NetworkFacts, ObservedSecurityGroup } from '../security-groups/network-facts.ts';
import { createClassicReads, leftoverService } from './reads.ts';

const cluster = 'uid-c';
const tagsOf = (service: string) => ({ [ownerTags.cluster]: cluster, [ownerTags.service]: service });

interface Script {
  /** Names of load balancers, with their tags. */
  readonly there: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** That DescribeTags leaves out. */
  readonly untold?: readonly string[];
  /** That DescribeTags says are not there. */
  readonly unknown?: readonly string[];
  readonly groups?: readonly ObservedSecurityGroup[];
}

function readsOf({ there, untold = [], unknown = [], groups = [] }: Script) {
  const sent: string[] = [];
  const clock = fakeClock();
  const answers: Readonly<Record<string, (names: readonly string[] | undefined) => unknown>> = {
    DescribeLoadBalancers(names) {
      if (names?.some((name) => there[name] === undefined)) throw notFound('DescribeLoadBalancers');
      const shown = names ?? Object.keys(there);
      return {
        LoadBalancerDescriptions: shown.map((name) => ({ LoadBalancerName: name, DNSName: `${name}-1.example` })),
      };
    },
    DescribeTags(names = []) {
      assert.ok(names.length <= 20, 'DescribeTags takes 20 names');
      if (names.some((name) => there[name] === undefined || unknown.includes(name))) throw notFound('DescribeTags');
      const told = names.filter((name) => !untold.includes(name));
      return {
        TagDescriptions: told.map((name) => ({
          LoadBalancerName: name,
          Tags: Object.entries(there[name] ?? {}).map(([Key, Value]) => ({ Key, Value })),
        })),
      };
    },
    DescribeLoadBalancerAttributes: () => ({ LoadBalancerAttributes: {} }),
  };
  const elb = {
    async read(operation: string, { input }: { input: { LoadBalancerNames?: string[] } }) {
      sent.push(operation);
      return answers[operation]?.(input.LoadBalancerNames);
    },
  };
  const users = createGroupUsers({ elb: () => elb as never, elbv2: () => elb as never });
  users.listed('nlb', []);
  const facts = factsOf(groups);
  const network = {
    users,
    reads: {
      ...{ facts: async () => facts, instances: async () => new Map(), subnets: async () => [] },
      vpc: async () => 'vpc-1',
    },
    groups: { left: (_name: string, known: NetworkFacts) => ({ ...known, users: users.known() }) },
  };
  const parts = {
    context: { clock } as never,
    elb: () => elb as never,
    cluster: async () => clusterTagsOf('c1', false),
  };
  return { reads: createClassicReads(parts, network as never), sent, clock };
}

function notFound(operation: string) {
  const error = Object.assign(new Error('no'), { Code: 'LoadBalancerNotFound', $metadata: { httpStatusCode: 400 } });
  return toCloudError(error, operation);
}

function ref(service: string, name: string): LoadBalancerRef {
  return { owner: { cluster, service }, name, service: 'default/web', id: undefined, attachTo: undefined };
}

describe('reads of classic load balancers', () => {
  it('everything of the cluster, tags in runs of twenty names, attributes once an hour', async () => {
    const there = Object.fromEntries(
      Array.from({ length: 45 }, (_, at) => [`a${at}`, at < 30 ? tagsOf(`s${at}`) : {}]),
    );
    const { reads, sent, clock } = readsOf({ there });
    assert.equal((await reads.observeAll(cluster)).length, 30);
    const count = (operation: string) => sent.filter((one) => one === operation).length;
    assert.deepEqual(
      [count('DescribeLoadBalancers'), count('DescribeTags'), count('DescribeLoadBalancerAttributes')],
      [1, 3, 30],
    );
    await reads.observeAll(cluster);
    assert.equal(count('DescribeLoadBalancerAttributes'), 30);
    await clock.advance(3_600_000);
    await reads.observeAll(cluster);
    assert.equal(count('DescribeLoadBalancerAttributes'), 40, 'so many at once, the rest by the next looks');
  });

  it('an answer that leaves out the tags of one is no answer', async () => {
    const { reads } = readsOf({ there: { a1: tagsOf('s1'), a2: tagsOf('s2') }, untold: ['a2'] });
    await assert.rejects(reads.observeAll(cluster), { kind: 'Unavailable', message: /a2/ });
    await assert.rejects(reads.observe(ref('s2', 'a2')), { kind: 'Unavailable' });
  });

  it('one that is there and whose tags are said to be of nothing is not taken for gone', async () => {
    const { reads } = readsOf({ there: { a1: tagsOf('s1'), a2: tagsOf('s2') }, unknown: ['a2'] });
    await assert.rejects(reads.observeAll(cluster), { kind: 'Unavailable', message: /a2/ });
    await assert.rejects(reads.observe(ref('s2', 'a2')), { kind: 'Unavailable' });
  });

  it('one that is not there is nothing', async () => {
    const { reads } = readsOf({ there: {} });
    assert.equal(await reads.observe(ref('s1', 'a1')), undefined);
  });

  it('a group in front of none is what is left of its Service, and is found by itself', async () => {
    const front = group('sg-1', { name: 'k8s-elb-a1', tags: tagsOf('s1') });
    const { reads } = readsOf({ there: {}, groups: [front] });
    const [all, one] = [await reads.observeAll(cluster), await reads.observe(ref('s1', 'a1'))];
    for (const seen of [all[0], one]) assert.deepEqual([seen?.id, seen?.owner?.service], [undefined, 's1']);
  });

  it('a traffic group that nobody carries is found as what is left of all', async () => {
    const traffic = group('sg-9', {
      name: 'k8s-traffic-x',
      tags: { [ownerTags.cluster]: cluster, 'mooring.dev/traffic-group': 'x' },
    });
    const { reads } = readsOf({ there: {}, groups: [traffic] });
    const all = await reads.observeAll(cluster);
    assert.deepEqual(
      all.map(({ owner }) => owner?.service),
      [leftoverService],
    );
    assert.equal((await reads.observe(ref(leftoverService, 'a1')))?.pieces.leftover, 'sg-9');
  });
});
