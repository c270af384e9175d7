import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import {
  member as classicMember,
  desired as classicWish,
  machine,
  plainConfig,
} from '../../../test/clouds/aws/fake/classic/machine.ts';
import { clusterTag } from '../../../test/clouds/aws/fake/network-facts.ts';
import { ensure, managed, plain } from '../../../test/clouds/aws/fake/nlb/driven.ts';
import { desired, member } from '../../../test/clouds/aws/fake/nlb/example.ts';
import { createRecordingCalls, nodeGroup } from '../../../test/clouds/aws/fake/nlb/recording-calls.ts';

/**
 * A Node may register with the providerID of any instance of the account: here one outside the cluster, with its own
 * security group.
 */
const database = { zone: 'eu-west-1a', groups: ['sg-persons'], tags: {} };
const node = { zone: 'eu-west-1a', groups: ['sg-nodes'], tags: clusterTag };

const refusalOf = (providerID: string) => (error: unknown) => {
  assert.ok(isCloudError(error));
  assert.deepEqual([error.kind, error.subjects], ['Invalid', [providerID]]);
  assert.match(error.message, /neither it nor its security group .* carries the tag of the cluster/);
  return true;
};

describe('a Node that names an instance which is no node of the cluster', () => {
  const rogue = () => machine({ instance: (id) => (id === 'i-9' ? database : node) });

  it('is refused as a member of a classic load balancer before anything is sent for it', async () => {
    const { ensure: ensureClassic, aws } = rogue();
    const members = [classicMember(1), classicMember(9)];
    await assert.rejects(ensureClassic(classicWish({ members })), refusalOf(classicMember(9).providerID));
    assert.ok(!aws.sent.some(({ operation }) => operation === 'RegisterInstancesWithLoadBalancer'));
  });

  it('leaves the members that are there where they are, and its group closed', async () => {
    const { ensure: ensureClassic, aws, ingressOf } = rogue();
    await ensureClassic(classicWish({ members: [classicMember(1)] }));
    await assert.rejects(ensureClassic(classicWish({ members: [classicMember(1), classicMember(9)] })));
    // What the controller does then: it leaves out the one that is named.
    await ensureClassic(classicWish({ members: [classicMember(1), classicMember(2)] }));
    assert.ok(!aws.sent.some(({ operation }) => operation === 'DeregisterInstancesFromLoadBalancer'));
    assert.deepEqual(ingressOf('sg-persons'), []);
  });

  it('is a member where the operator looks after the groups of the nodes', async () => {
    const config = { ...plainConfig, disableSecurityGroupIngress: true };
    const { ensure: ensureClassic } = machine({ config, instance: () => database });
    const { sent } = await ensureClassic(classicWish());
    assert.ok(sent.includes('RegisterInstancesWithLoadBalancer'));
  });

  for (const [title, context] of [
    ['with security groups', managed],
    ['without security groups', plain],
  ] as const) {
    it(`is refused as a target of a network load balancer ${title}, and its group stays closed`, async () => {
      const rogue = member(9);
      const isRogue = (id: string) => rogue.providerID.endsWith(id);
      const calls = createRecordingCalls(
        (id) => (isRogue(id) ? ['sg-database'] : [nodeGroup]),
        (id) => (isRogue(id) ? {} : { 'kubernetes.io/cluster/cluster-a': 'owned' }),
      );
      await assert.rejects(
        ensure(calls, desired({ members: [member(1), rogue] }), undefined, context),
        refusalOf(rogue.providerID),
      );
      const targets = calls.sent.filter(({ operation }) => operation === 'RegisterTargets');
      assert.deepEqual(targets, []);
      const opened = calls.sent.flatMap(({ operation, input }) =>
        operation === 'AuthorizeSecurityGroupIngress' ? [input['GroupId']] : [],
      );
      assert.ok(!opened.includes('sg-database'), String(opened));
      const { steps } = await ensure(calls, desired(), undefined, context);
      assert.ok(steps.some(({ call }) => call.does === 'register targets'));
    });
  }

  it('stays a target for other ports where an earlier version has taken it in', async () => {
    const legacy = member(9);
    let tags: Readonly<Record<string, string>> = { 'kubernetes.io/cluster/cluster-a': 'owned' };
    const calls = createRecordingCalls(undefined, () => tags);
    const before = await ensure(calls, desired({ members: [legacy] }), undefined, managed);
    tags = {};
    const wish = desired({ members: [legacy] });
    const ports = [...wish.ports, { ...wish.ports[0]!, name: 'more', port: 81, nodePort: 30081 }];
    await ensure(calls, { ...wish, ports }, before.observed, managed);
    assert.ok(!calls.sent.some(({ operation }) => operation === 'DeregisterTargets'));
  });
});
