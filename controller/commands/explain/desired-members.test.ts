import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fakeClock } from '../../../common/testing/fake-clock.ts';
import { annotations, labels, taints } from '../../../common/well-known.ts';
import type { NodeView } from '../../model/node-view.ts';
import { exampleNode, uninitializedTaint } from '../../model/testing/example-node.ts';
import { held, scope as memberScope, memberSetsOf } from '../../services/members/testing/member-harness.ts';
import { memberNode, nodeList } from '../../services/members/testing/node-list.ts';
import { exampleService } from '../../services/testing/example-service.ts';
import { createMembersView } from './desired-members.ts';

const scope = 'http://cloud/demo/sim-1';
const inScope = (recorded: string) => ({ annotations: { [annotations.instance]: `${recorded} 1` } });
const nodeOf = (name: string, changes: Partial<NodeView> = {}) =>
  exampleNode({ name, providerID: `simulated://sim-1/i-${name}`, ...inScope(scope), ...changes });

function serviceIn(recorded: string | undefined, noted: object = {}, spec: object = {}) {
  const record = recorded === undefined ? {} : { [annotations.loadBalancer]: `${recorded} lb-1` };
  return exampleService({ metadata: { annotations: { ...record, ...noted } }, spec }, () => true);
}

async function viewOf(nodes: readonly NodeView[], moduleNames: readonly string[] = []) {
  const view = createMembersView(moduleNames);
  for (const node of nodes) view.put(node);
  await view.prepare();
  return view;
}

async function desired(nodes: readonly NodeView[], service = serviceIn(scope), moduleNames: readonly string[] = []) {
  const found = (await viewOf(nodes, moduleNames)).of(service);
  assert.ok(!('unknown' in found), JSON.stringify(found));
  return found;
}

async function unknown(nodes: readonly NodeView[], service: ReturnType<typeof serviceIn>) {
  const found = (await viewOf(nodes)).of(service);
  return 'unknown' in found ? found.unknown : '';
}

describe('the desired members of a Service', () => {
  it('counts the Nodes of the scope that the Service is recorded in', async () => {
    const others = [
      nodeOf('c', inScope('http://cloud/other/sim-1')),
      nodeOf('d', { providerID: 'hcloud://1', ...inScope('hetzner/1') }),
    ];
    const { serving, refused, elsewhere } = await desired([nodeOf('a'), nodeOf('b'), ...others]);
    assert.deepEqual([serving, refused, elsewhere], [2, [], 2]);
  });

  it('counts a Node without a record where its cloud has one scope, and refuses it where it has two', async () => {
    const bare = nodeOf('b', { annotations: {} });
    assert.equal((await desired([nodeOf('a'), bare])).serving, 2);
    const { serving, refused } = await desired([nodeOf('a'), bare, nodeOf('c', inScope('http://cloud/other/sim-1'))]);
    assert.equal(serving, 1);
    assert.deepEqual(
      refused.map(({ reason, nodes }) => [reason, nodes]),
      [['SeveralScopes', ['b']]],
    );
  });

  it('knows no members before the Service is recorded, or where no API found a Node of its scope', async () => {
    assert.match(await unknown([nodeOf('a')], serviceIn(undefined)), /not recorded yet/);
    assert.match(
      await unknown([nodeOf('a')], serviceIn('http://cloud/was/here')),
      /no Node of a known cloud is recorded in http/,
    );
    const reported = nodeOf('a', inScope('report:simulated'));
    assert.match(await unknown([reported], serviceIn('report:simulated')), /no Node of a known cloud is recorded/);
  });

  for (const [cloud, providerID, key, value] of [
    ['simulated', 'simulated://sim-1/i-', 'service.beta.kubernetes.io/simulated-load-balancer-node-selector', 'r=in'],
    ['aws', 'aws:///eu-1a/i-0', 'service.beta.kubernetes.io/aws-load-balancer-target-node-labels', 'r=in'],
    ['hetzner', 'hcloud://1', 'load-balancer.hetzner.cloud/node-selector', 'r in (in,out)'],
    ['openstack', 'openstack:///0b9c5a4e-0000-4000-8000-00000000000', 'loadbalancer.openstack.org/node-selector', 'r'],
    ['alibaba', 'eu-1.i-', 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-backend-label', 'r=in'],
  ] as const) {
    it(`counts the Nodes that the Service chooses by the annotation of ${cloud}`, async () => {
      const nodes = [1, 2, 3].map((at) =>
        nodeOf(`n${at}`, { providerID: `${providerID}${at}`, labels: at === 1 ? { r: 'in' } : {} }),
      );
      assert.equal((await desired(nodes)).serving, 3);
      const { serving, refused } = await desired(nodes, serviceIn(scope, { [key]: value }));
      assert.equal(serving, 1);
      assert.deepEqual(
        refused.map(({ reason, nodes: names }) => [reason, names]),
        [['NotChosen', ['n2', 'n3']]],
      );
    });
  }

  it('tells of pods where the annotation of the Service asks for them', async () => {
    const eni = { 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer-backend-type': 'eni' };
    const said = await unknown([nodeOf('a', { providerID: 'eu-1.i-1' })], serviceIn(scope, eni));
    assert.match(said, /its ready pods, not Nodes/);
  });

  it('agrees with what the controller sends for the same Nodes, whatever marks and labels they have', async () => {
    const marks: readonly Partial<NodeView>[] = [
      {},
      { deleting: true },
      { taints: [uninitializedTaint] },
      ...[taints.shutdown, taints.toBeDeletedByAutoscaler].map((key) => ({ taints: [{ key, effect: 'NoSchedule' }] })),
    ];
    const kept = inScope(memberScope);
    const nodes = marks.flatMap((mark, at) =>
      [{}, { role: 'in' }, { role: 'in', [labels.excludeFromLoadBalancers]: '' }, { role: 'out' }].map((own, which) =>
        memberNode(`n${at}${which}`, { ...kept, ...mark, labels: own }),
      ),
    );
    const sets = memberSetsOf(nodeList(nodes), fakeClock());
    sets.start();
    const answer = sets.membersFor({
      scope: memberScope,
      service: 'uid-1',
      trafficPolicy: 'Cluster',
      maxMembers: undefined,
      drains: true,
      observed: held(nodes.map(({ name }) => name)),
      nodeLabels: [{ key: 'role', value: 'in' }],
    });
    sets.stop();
    const key = 'service.beta.kubernetes.io/simulated-load-balancer-node-selector';
    const { serving, draining, refused } = await desired(nodes, serviceIn(memberScope, { [key]: 'role=in' }));
    const namesOf = (reason: string) => refused.find((one) => one.reason === reason)?.nodes ?? [];
    const sent = (isDraining: boolean) =>
      answer!.members.flatMap(({ node, draining: drains }) => (drains === isDraining ? [node] : [])).sort();
    const drain = [...draining.flatMap((one) => one.nodes), ...namesOf('NotChosen')].sort();
    assert.deepEqual(drain, sent(true));
    // One that waits stays where it is a member.
    const stay = namesOf('Uninitialized');
    assert.deepEqual([serving, stay.length], [sent(false).length - stay.length, 3]);
    assert.ok(stay.every((name) => sent(false).includes(name)));
    const gone = namesOf('PoweredOff');
    assert.equal(gone.length + answer!.members.length, nodes.length);
  });

  it("counts no more members than the cloud's quota", async () => {
    const nodes = Array.from({ length: 1003 }, (_, at) => nodeOf(`n${at}`, { providerID: `aws:///eu-1a/i-${at}` }));
    const { serving, omitted } = await desired(nodes);
    assert.deepEqual([serving, omitted], [1000, 3]);
  });

  it('lists what only the cloud, the controller or its configuration knows', async () => {
    const { notKnown } = await desired([nodeOf('a')]);
    assert.match(notKnown.join(), /health.*refuses.*vanished.*--require-attestation.*maxMembers/);
    const local = serviceIn(scope, {}, { externalTrafficPolicy: 'Local' });
    assert.match((await desired([nodeOf('a')], local)).notKnown.join(), /which Nodes have a ready pod/);
    const outside = nodeOf('a', { providerID: 'outside://1' });
    const { serving, notKnown: unread } = await desired([outside], serviceIn(scope), ['outside']);
    assert.equal(serving, 1);
    assert.match(unread.join(), /what --cloud-module outside reads/);
  });

  it('follows the Nodes, and says when an answer may be another one', async () => {
    const view = await viewOf([nodeOf('a'), nodeOf('b')]);
    const serving = () => {
      const found = view.of(serviceIn(scope));
      return 'unknown' in found ? found.unknown : found.serving;
    };
    assert.deepEqual([view.takeChange(), view.takeChange(), serving()], [true, false, 2]);
    view.put(nodeOf('b', { resourceVersion: '11', conditions: [] }));
    assert.equal(view.takeChange(), false);
    view.put(nodeOf('b', { labels: { [labels.excludeFromLoadBalancers]: '' } }));
    assert.deepEqual([view.takeChange(), serving()], [true, 1]);
    view.put(nodeOf('c', { taints: [uninitializedTaint], annotations: {} }));
    view.put(nodeOf('d', { taints: [{ key: taints.shutdown, effect: 'NoSchedule' }] }));
    assert.deepEqual([view.takeChange(), serving()], [true, 1]);
    view.put(nodeOf('c'));
    view.remove('d');
    assert.deepEqual([view.takeChange(), serving()], [true, 2]);
    for (const name of ['a', 'b', 'c']) view.remove(name);
    assert.match(String(serving()), /no Node of a known cloud is recorded/);
    view.remove('a');
    assert.deepEqual([view.takeChange(), view.takeChange()], [true, false]);
  });
});
