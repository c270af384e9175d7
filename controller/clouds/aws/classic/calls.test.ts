import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countedMachine, members, serviceOf } from '../../../../test/clouds/aws/fake/counted-machine.ts';
import { member } from '../../../../test/clouds/aws/fake/machine.ts';

describe('calls for classic load balancers, of two ports and twenty nodes', () => {
  it('makes at most 10 calls for the first load balancer of a cluster, and 5 for a further one', async () => {
    const { counted, ensure } = await countedMachine();
    const first = await counted(() => ensure(serviceOf('one')));
    const further = await counted(() => ensure(serviceOf('two')));
    assert.ok(first <= 10, `first ${first}`);
    assert.ok(further <= 5, `further ${further}`);
  });

  it('makes at most one call for a further node that a lookup has shown', async () => {
    const { counted, ensure, noteNode } = await countedMachine();
    await ensure(serviceOf('one'));
    noteNode(21);
    const cost = await counted(() => ensure(serviceOf('one', { members: [...members, member(21)] })));
    assert.ok(cost <= 1, `one node more ${cost}`);
  });

  it('makes at most 5 calls for a deletion and its proof', async () => {
    const { counted, ensure, remove } = await countedMachine();
    for (const service of ['one', 'two']) await ensure(serviceOf(service));
    const cost = await counted(() => remove(serviceOf('one')));
    assert.ok(cost <= 5, `deletion ${cost}`);
  });

  it('audits with at most 5 calls, and then plans nothing', async () => {
    const { counted, ensure, audit, balancers, aws } = await countedMachine();
    const services = ['one', 'two', 'three', 'four', 'five'];
    for (const service of services) await ensure(serviceOf(service));
    const cost = await counted(audit);
    assert.ok(cost <= 5, `audit ${cost}`);
    for (const service of services) assert.deepEqual(balancers.plan(serviceOf(service)).steps, []);
    assert.deepEqual(aws.sent, []);
  });
});
