import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { desiredOf, machine, member, port } from '../../../../test/clouds/aws/fake/machine.ts';
import { clusterTag } from '../../../../test/clouds/aws/fake/network-facts.ts';

const ports = [port(80), port(443)];
const members = Array.from({ length: 20 }, (_, at) => member(at + 1));
const wanted = (service: string, more = {}) => desiredOf(service, { ports, members, ...more });

/** As the controller works: from its last read of everything, and with what the lookups of Nodes have shown. */
async function running() {
  const m = machine();
  await m.audit();
  m.aws.reads.length = 0;
  const cost = () => m.aws.reads.splice(0).length + m.aws.sent.splice(0).length;
  async function counted<T>(work: () => Promise<T>): Promise<number> {
    cost();
    await work();
    return cost();
  }
  async function ensure(asked: ReturnType<typeof wanted>): Promise<void> {
    for (let plan = m.balancers.plan(asked); plan.steps.length > 0; plan = m.balancers.plan(asked))
      await m.during(m.balancers.apply(plan, { permit: () => {} }));
  }
  return { ...m, counted, ensure };
}

describe('calls for classic load balancers, of two ports and twenty nodes', () => {
  it('are at most 10 for the first of a cluster, and 5 for each further one', async () => {
    const { counted, ensure } = await running();
    const first = await counted(() => ensure(wanted('one')));
    const further = await counted(() => ensure(wanted('two')));
    assert.ok(first <= 10, `first ${first}`);
    assert.ok(further <= 5, `further ${further}`);
  });

  it('are one for a node more that a lookup has shown', async () => {
    const { counted, ensure, reads } = await running();
    await ensure(wanted('one'));
    const InstanceId = 'i-21';
    const Tags = Object.entries(clusterTag).map(([Key, Value]) => ({ Key, Value }));
    const Placement = { AvailabilityZone: 'eu-west-1a' };
    reads.noteInstance({ InstanceId, Placement, Tags, SecurityGroups: [{ GroupId: 'sg-nodes' }] });
    const cost = await counted(() => ensure(wanted('one', { members: [...members, member(21)] })));
    assert.ok(cost <= 1, `one node more ${cost}`);
  });

  it('are at most 5 for a deletion, its proof included', async () => {
    const { counted, ensure, balancers, during } = await running();
    for (const service of ['one', 'two']) await ensure(wanted(service));
    const { owner } = wanted('one');
    const cost = await counted(async () => {
      const next = () => balancers.planRemoval(owner, { retain: false });
      for (let plan = next(); plan.steps.length > 0; plan = next())
        await during(balancers.apply(plan, { permit: () => {} }));
    });
    assert.ok(cost <= 5, `deletion ${cost}`);
  });

  it('are at most 5 for an audit, and nothing is to be done then', async () => {
    const { counted, ensure, audit, balancers, aws } = await running();
    const services = ['one', 'two', 'three', 'four', 'five'];
    for (const service of services) await ensure(wanted(service));
    const cost = await counted(audit);
    assert.ok(cost <= 5, `audit ${cost}`);
    for (const service of services) assert.deepEqual(balancers.plan(wanted(service)).steps, []);
    assert.deepEqual(aws.sent, []);
  });
});
