import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FakeBalancer } from '../../../../test/clouds/aws/fake/fake-aws.ts';
import { desiredOf, machine, owner } from '../../../../test/clouds/aws/fake/machine.ts';
import { group } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';

const tagsOf = (service: string) => ({ [ownerTags.cluster]: owner.cluster, [ownerTags.service]: service });

function balancer(name: string, tags: Readonly<Record<string, string>>): FakeBalancer {
  const DNSName = `${name}-1.eu-west-1.elb.amazonaws.com`;
  return { description: { LoadBalancerName: name, DNSName }, tags, attributes: {} };
}

/** Load balancers by their names, with their tags. */
function world(
  there: Readonly<Record<string, Readonly<Record<string, string>>>>,
  more: Parameters<typeof machine>[0] = {},
) {
  const m = machine(more);
  for (const [name, tags] of Object.entries(there)) m.aws.balancers.set(name, balancer(name, tags));
  const count = (operation: string) => m.aws.reads.filter((one) => one.operation === operation).length;
  const observe = (service: string, name: string) =>
    m.during(m.balancers.observe(m.refOf(desiredOf(service, { name }))));
  return { ...m, count, observe };
}

describe('a read of classic load balancers', () => {
  it('shows all of the cluster, with tags in runs of twenty names, and attributes once an hour', async () => {
    const there = Object.fromEntries(
      Array.from({ length: 45 }, (_, at) => [`a${at}`, at < 30 ? tagsOf(`s${at}`) : {}]),
    );
    const { audit, count, clock, aws } = world(there);
    assert.equal((await audit()).length, 30);
    const counts = () => ['DescribeLoadBalancers', 'DescribeTags', 'DescribeLoadBalancerAttributes'].map(count);
    assert.deepEqual(counts(), [1, 3, 30]);
    await audit();
    assert.deepEqual(counts(), [2, 6, 30]);
    aws.reads.length = 0;
    await clock.advance(2_700_000);
    await audit();
    const some = count('DescribeLoadBalancerAttributes');
    assert.ok(some > 0 && some < 30, `${some}: not all at once`);
    await clock.advance(900_000);
    await audit();
    assert.equal(count('DescribeLoadBalancerAttributes'), 30);
  });

  it('discards a read that leaves out the tags of a load balancer', async () => {
    const { audit, observe, aws } = world({ a1: tagsOf('s1'), a2: tagsOf('s2') });
    aws.setTagsLeftOut('a2');
    await assert.rejects(audit(), { kind: 'Unavailable', message: /a2/ });
    await assert.rejects(observe('s2', 'a2'), { kind: 'Unavailable' });
  });

  it('discards a read where AWS knows no tags of a load balancer that exists', async () => {
    const { audit, observe, aws } = world({ a1: tagsOf('s1'), a2: tagsOf('s2') });
    aws.setTagsUnknown('a2');
    await assert.rejects(audit(), { kind: 'Unavailable', message: /a2/ });
    await assert.rejects(observe('s2', 'a2'), { kind: 'Unavailable' });
  });

  it('shows nothing where there is none', async () => {
    assert.equal(await world({}).observe('s1', 'a1'), undefined);
  });

  it('shows a group without load balancer as the rest of its Service', async () => {
    const front = group('sg-1', { name: 'k8s-elb-a1', tags: tagsOf('s1') });
    const { audit, observe } = world({}, { more: [front] });
    const [all, one] = [await audit(), await observe('s1', 'a1')];
    for (const seen of [all[0], one]) assert.deepEqual([seen?.id, seen?.owner?.service], [undefined, 's1']);
  });

  it('shows a load balancer that was retained without an owner', async () => {
    const retained = { [ownerTags.cluster]: owner.cluster, [ownerTags.retained]: 'default/web' };
    const [seen] = await world({ a1: retained }).audit();
    assert.deepEqual([seen?.owner, seen?.retained, seen?.service], [undefined, true, 'default/web']);
  });
});
