import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import {
  desired as classicDesired,
  member as classicMember,
  machine,
  managedConfig,
  network,
  plainConfig,
  port,
} from '../../../test/clouds/aws/fake/machine.ts';
import { clusterTag } from '../../../test/clouds/aws/fake/network-facts.ts';

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

  it('refuses an instance that is no node of the cluster as a member of a classic load balancer', async () => {
    const { ensure: ensureClassic, aws } = rogue();
    const members = [classicMember(1), classicMember(9)];
    await assert.rejects(ensureClassic(classicDesired({ members })), refusalOf(classicMember(9).providerID));
    assert.ok(!aws.sent.some(({ operation }) => operation === 'RegisterInstancesWithLoadBalancer'));
  });

  it('leaves the members that are there where they are, and its group closed', async () => {
    const { ensure: ensureClassic, aws, ingressOf } = rogue();
    await ensureClassic(classicDesired({ members: [classicMember(1)] }));
    await assert.rejects(ensureClassic(classicDesired({ members: [classicMember(1), classicMember(9)] })));
    // What the controller does then: it leaves out the one that is named.
    await ensureClassic(classicDesired({ members: [classicMember(1), classicMember(2)] }));
    assert.ok(!aws.sent.some(({ operation }) => operation === 'DeregisterInstancesFromLoadBalancer'));
    assert.deepEqual(ingressOf('sg-persons'), []);
  });

  it('takes any instance as a member where the operator looks after the groups of the nodes', async () => {
    const config = { ...plainConfig, disableSecurityGroupIngress: true };
    const { ensure: ensureClassic } = machine({ config, instance: () => database });
    const { sent } = await ensureClassic(classicDesired());
    assert.ok(sent.includes('RegisterInstancesWithLoadBalancer'));
  });

  for (const [title, config] of [
    ['with security groups', managedConfig],
    ['without security groups', plainConfig],
  ] as const) {
    it(`refuses an instance that is no node of the cluster as a target ${title}, and opens no group`, async () => {
      const m = machine({ config, instance: (id) => (id === 'i-9' ? database : node) });
      const rogueId = classicMember(9).providerID;
      await assert.rejects(m.ensure(network({ members: [classicMember(1), classicMember(9)] })), refusalOf(rogueId));
      assert.ok(!m.aws.sent.some(({ operation }) => operation === 'v2 RegisterTargets'));
      assert.deepEqual(m.ingressOf('sg-persons'), []);
      await m.ensure(network());
      assert.deepEqual(m.targets(), [['i-1', 'i-2']]);
    });
  }

  it('keeps a target that is no node of the cluster where an earlier version has taken it in', async () => {
    let known = node;
    const m = machine({ config: managedConfig, instance: () => known });
    await m.ensure(network({ members: [classicMember(9)] }));
    known = { ...node, groups: ['sg-persons'], tags: {} as typeof node.tags };
    m.restart();
    await m.ensure(network({ members: [classicMember(9)], ports: [port(80), port(81)] }));
    assert.deepEqual(m.targets(), [['i-9'], ['i-9']]);
  });
});
