import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { balancerName, carriedBy, desired, machine, member, port } from '../../../../test/clouds/aws/fake/machine.ts';
import { clusterTag, group, rule } from '../../../../test/clouds/aws/fake/network-facts.ts';
import { ownerTags } from '../../load-balancers.ts';
import { WithheldError } from '../../permit.ts';
import { toCloudError } from '../errors.ts';
import { keys } from '../load-balancer-annotations.ts';

const hostname = `${balancerName}-0.eu-west-1.elb.amazonaws.com`;
const proof = { clusterName: 'kubernetes', addresses: [hostname] };

/** As the classic controller makes it for a Service with the one port 80. */
function classicWorld() {
  const ingress = [rule('tcp 80 0.0.0.0/0'), rule('icmp 3-4 0.0.0.0/0')];
  const front = group('sg-front', { name: `k8s-elb-${balancerName}`, tags: clusterTag, ingress });
  const m = machine({ persons: ['-1 * sg-front'], more: [front] });
  m.addClassicControllers(['sg-front']);
  return m;
}

describe('a load balancer of the classic controller', () => {
  it('adopts a load balancer of the classic controller without a call while it matches', async () => {
    const m = classicWorld();
    const { observed, sent } = await m.ensure(desired(), undefined, proof);
    assert.deepEqual([sent, observed?.adopted, observed?.owner?.service], [[], true, 'uid-s']);
    const ref = m.refOf(desired(), proof);
    m.restart();
    const [among] = await m.during(m.balancers.observeAll(desired().owner.cluster, undefined, [ref]));
    assert.equal(among?.adopted, true);
    assert.deepEqual(m.balancers.plan(desired()).steps, []);
  });

  for (const value of ['HTTP', 'grpc'])
    it(`keeps its listeners with the protocol ${value}, which the classic controller passed over`, async () => {
      const m = classicWorld();
      const annotations = { [keys.backendProtocol]: value };
      const { sent, refusals } = await m.ensure(desired({ annotations }), undefined, proof);
      assert.deepEqual([sent, refusals], [[], []]);
      const more = desired({ annotations, ports: [port(80), port(81)] });
      const { sent: calls } = await m.ensure(more, undefined, proof);
      assert.equal(calls.includes('DeleteLoadBalancerListeners'), false);
      const listeners = m.balancer()!.description['ListenerDescriptions'];
      assert.equal(JSON.stringify(listeners).match(/"Protocol":"TCP"/g)?.length, 2);
    });

  it('adopts no load balancer whose address is not that of the Service', async () => {
    const m = classicWorld();
    const { observed, sent, refusals } = await m.ensure(desired(), undefined, { ...proof, addresses: ['elsewhere'] });
    assert.deepEqual([sent, observed?.owner], [[], undefined]);
    assert.deepEqual(
      refusals.map(({ reason }) => reason),
      ['ForeignLoadBalancer'],
    );
  });

  it('gets our tags before its first change, keeps its one group and its rule, and is removed as ours', async () => {
    const m = classicWorld();
    const changed = desired({ ports: [port(80), port(443)] });
    const { sent } = await m.ensure(changed, undefined, proof);
    assert.deepEqual(sent.slice(0, 2).toSorted(), ['AddTags', 'CreateTags']);
    assert.equal(m.balancer()?.tags[ownerTags.service], 'uid-s');
    assert.deepEqual([carriedBy(m.balancer()), m.rulesOfNodes()], [['sg-front'], ['-1 -1 sg-front']]);
    m.restart();
    assert.deepEqual((await m.ensure(changed)).sent, []);
    await m.remove(changed);
    assert.deepEqual([m.groups(), m.rulesOfNodes(), m.balancer()], [['sg-nodes', 'sg-persons'], [], undefined]);
  });

  it('takes its group along where Mooring never changed it, AWS keeps that in use, and a leader dies', async () => {
    for (let most = 0; most < 5; most += 1) {
      const m = classicWorld();
      await m.ensure(desired(), undefined, proof);
      m.aws.busy.set(`k8s-elb-${balancerName}`, 3);
      let calls = 0;
      const dying = () => {
        calls += 1;
        if (calls > most) throw new WithheldError('Fenced', 'another replica leads');
      };
      await assert.rejects(m.remove(desired(), dying, proof), WithheldError);
      m.restart();
      await m.remove(desired(), undefined, proof);
      assert.deepEqual([m.groups(), m.rulesOfNodes(), m.balancer()], [['sg-nodes', 'sg-persons'], [], undefined]);
    }
  });

  for (const [code, status, warned] of [
    ['UnauthorizedOperation', 403, 1],
    ['TagLimitExceeded', 400, 1],
    ['InvalidParameterValue', 400, 1],
    ['InvalidGroup.NotFound', 400, 0],
  ] as const)
    it(`goes although the tags of its group are answered with ${code}`, async () => {
      const m = classicWorld();
      await m.ensure(desired(), undefined, proof);
      m.aws.setHook(({ operation }) => {
        if (operation !== 'CreateTags') return undefined;
        const answer = { Code: code, $metadata: { httpStatusCode: status } };
        throw toCloudError(Object.assign(new Error('no'), answer), operation);
      });
      const { sent } = await m.remove(desired(), undefined, proof);
      assert.ok(sent.includes('DeleteLoadBalancer'), sent.join());
      assert.deepEqual([m.groups(), m.rulesOfNodes(), m.balancer()], [['sg-nodes', 'sg-persons'], [], undefined]);
      assert.equal(m.warnings.length, warned, m.warnings.join());
    });

  it('keeps serving while the tags of its group are throttled', async () => {
    const m = classicWorld();
    await m.ensure(desired(), undefined, proof);
    m.aws.setHook(({ operation }) => {
      if (operation !== 'CreateTags') return undefined;
      throw toCloudError(Object.assign(new Error('no'), { name: 'Throttling' }), operation);
    });
    await assert.rejects(m.remove(desired(), undefined, proof), /no end/);
    assert.notEqual(m.balancer(), undefined);
  });

  it('gets its members also while its group cannot be tagged', async () => {
    const m = classicWorld();
    await m.ensure(desired(), undefined, proof);
    const instancesOf = () =>
      (m.balancer()!.description['Instances'] as { InstanceId: string }[]).map(({ InstanceId }) => InstanceId);
    const denied = () => {
      const answer = { Code: 'UnauthorizedOperation', $metadata: { httpStatusCode: 403 } };
      return toCloudError(Object.assign(new Error('no'), answer), 'CreateTags');
    };
    m.aws.setHook(({ operation }) => {
      if (operation === 'CreateTags') throw denied();
      return undefined;
    });
    for (const numbers of [
      [2, 3],
      [3, 4],
    ]) {
      const changed = desired({ members: numbers.map((number) => member(number)) });
      await assert.rejects(m.ensure(changed, undefined, proof), /no end/);
      assert.deepEqual(
        instancesOf(),
        numbers.map((number) => `i-${number}`),
      );
      m.restart();
    }
    m.aws.setHook(() => undefined);
    const changed = desired({ members: [member(4)] });
    assert.deepEqual((await m.ensure(changed, undefined, proof)).refusals, []);
    assert.equal(m.aws.groups.get('sg-front')?.tags[ownerTags.service], 'uid-s');
    assert.deepEqual(
      [carriedBy(m.balancer()), instancesOf(), m.rulesOfNodes()],
      [['sg-front'], ['i-4'], ['-1 -1 sg-front']],
    );
    await m.remove(changed);
    assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
  });

  it('deletes a load balancer that was never changed, with its group and rules', async () => {
    const m = classicWorld();
    await m.remove(desired(), undefined, proof);
    assert.deepEqual([m.groups(), m.rulesOfNodes(), m.balancer()], [['sg-nodes', 'sg-persons'], [], undefined]);
  });

  it('replaces a load balancer of the classic controller for another scheme, with consent', async () => {
    const m = classicWorld();
    const internal = desired({ annotations: { [keys.internal]: 'true' }, mayChangeAddress: true });
    const { refusals } = await m.ensure(internal, undefined, proof);
    assert.deepEqual([refusals, m.balancer()?.description['Scheme']], [[], 'internal']);
    await m.remove(internal);
    assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
  });

  it('adopts to the same end after a crash at any call', async () => {
    const changed = desired({ ports: [port(80), port(443)] });
    const clean = classicWorld();
    const { sent } = await clean.ensure(changed, undefined, proof);
    for (let call = 1; call <= sent.length; call += 1) {
      const m = classicWorld();
      let left = call;
      const crash = () => {
        left -= 1;
        if (left < 0) throw new Error('crash');
      };
      await m.ensure(changed, crash, proof).catch(() => undefined);
      m.restart();
      await m.ensure(changed, undefined, proof);
      assert.deepEqual(m.balancer(), clean.balancer(), `at call ${call}`);
      assert.deepEqual([...m.aws.groups.values()], [...clean.aws.groups.values()], `at call ${call}`);
    }
  });
});
