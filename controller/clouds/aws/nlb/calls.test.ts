import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countedMachine, members, serviceOf } from '../../../../test/clouds/aws/fake/counted-machine.ts';
import { managedConfig, member } from '../../../../test/clouds/aws/fake/machine.ts';
import { keys } from '../load-balancer-annotations.ts';

const annotations = { [keys.type]: 'nlb' };
const wanted = (service: string, more = {}) => serviceOf(service, { annotations, ...more });
const running = () => countedMachine({ config: managedConfig });

describe('calls for network load balancers with security groups, of two ports and twenty nodes', () => {
  it('makes at most 15 calls for the first load balancer of a cluster, and 10 for a further one', async () => {
    const { counted, ensure } = await running();
    const first = await counted(() => ensure(wanted('one')));
    const further = await counted(() => ensure(wanted('two')));
    assert.ok(first <= 15, `first ${first}`);
    assert.ok(further <= 10, `further ${further}`);
  });

  it('makes at most one call for each port for a further node that a lookup has shown', async () => {
    const { counted, ensure, noteNode } = await running();
    await ensure(wanted('one'));
    noteNode(21);
    const cost = await counted(() => ensure(wanted('one', { members: [...members, member(21)] })));
    assert.ok(cost <= 2, `one node more ${cost}`);
  });

  it('makes at most 9 calls for a deletion and its proof', async () => {
    const { counted, ensure, remove } = await running();
    for (const service of ['one', 'two']) await ensure(wanted(service));
    const cost = await counted(() => remove(wanted('one')));
    assert.ok(cost <= 9, `deletion ${cost}`);
  });

  it('makes at most 9 calls for a deletion long after the last read, beside the three of its proof', async () => {
    const { counted, ensure, remove, clock } = await running();
    for (const service of ['one', 'two']) await ensure(wanted(service));
    await clock.advance(61_000);
    const cost = await counted(() => remove(wanted('one')));
    assert.ok(cost <= 9 + 3, `deletion ${cost}`);
  });

  it('makes no more calls for a Service where the region holds hundreds of target groups of others', async () => {
    const { counted, ensure, audit, aws, balancers, during, refOf } = await running();
    await ensure(wanted('one'));
    await audit();
    const look = () => counted(() => during(balancers.observe(refOf(wanted('one')))));
    const before = await look();
    const [its] = aws.region.targetGroups.values();
    for (let at = 0; at < 200; at += 1) {
      const name = `k8s-other-service-${String(at).padStart(10, '0')}`;
      const arn = its!.arn.replace(its!.name, name);
      aws.region.targetGroups.set(arn, { ...its!, arn, name, tags: new Map([['elbv2.k8s.aws/cluster', 'x']]) });
    }
    await audit();
    assert.equal(await look(), before);
  });

  const services = ['one', 'two', 'three', 'four', 'five'];

  it('audits with at most 5 calls and one for each target group, and then plans nothing', async () => {
    const { counted, ensure, audit, balancers, aws, clock } = await running();
    for (const service of services) await ensure(wanted(service));
    for (const times of [1, 2]) {
      await clock.advance(250_000);
      const cost = await counted(audit);
      assert.ok(cost <= 5 + 10, `audit ${times}: ${cost}`);
      for (const service of services) assert.deepEqual(balancers.plan(wanted(service)).steps, []);
    }
    assert.deepEqual(aws.sent, []);
  });

  it('reads no listener again after the first audit of a process', async () => {
    const { ensure, audit, restart, aws } = await running();
    for (const service of services) await ensure(wanted(service));
    restart();
    const listenersRead = async () => {
      aws.reads.splice(0);
      await audit();
      return aws.reads.filter(({ operation }) => operation === 'v2 DescribeListeners').length;
    };
    assert.deepEqual([await listenersRead(), await listenersRead()], [5, 0]);
    const [listener] = aws.region.listeners.values();
    const [own, other] = [...aws.region.targetGroups.values()].map(({ arn }) => arn);
    listener!.group = listener!.group === own ? other! : own!;
    assert.equal(await listenersRead(), 1, 'a person has turned one to another target group');
    await listenersRead();
    const group = { ...aws.region.targetGroups.get(own!)!, arn: `${own}0`, name: 'persons', tags: new Map() };
    aws.region.targetGroups.set(group.arn, group);
    const added = { ...listener!, arn: `${listener!.arn}0`, port: '8443', group: group.arn, tags: new Map() };
    aws.region.listeners.set(added.arn, added);
    assert.equal(await listenersRead(), 1, 'a person has added one');
  });
});
