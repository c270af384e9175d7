import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countedMachine, members, serviceOf } from '../../../../test/clouds/aws/fake/counted-machine.ts';
import { member } from '../../../../test/clouds/aws/fake/machine.ts';

describe('calls for classic load balancers, of two ports and twenty nodes', () => {
  it('are at most 10 for the first of a cluster, and 5 for each further one', async () => {
    const { counted, ensure } = await countedMachine();
    const first = await counted(() => ensure(serviceOf('one')));
    const further = await counted(() => ensure(serviceOf('two')));
    assert.ok(first <= 10, `first ${first}`);
    assert.ok(further <= 5, `further ${further}`);
  });

  it('are one for a node more that a lookup has shown', async () => {
    const { counted, ensure, noteNode } = await countedMachine();
    await ensure(serviceOf('one'));
    noteNode(21);
    const cost = await counted(() => ensure(serviceOf('one', { members: [...members, member(21)] })));
    assert.ok(cost <= 1, `one node more ${cost}`);
  });

  it('are at most 5 for a deletion, its proof included', async () => {
    const { counted, ensure, remove } = await countedMachine();
    for (const service of ['one', 'two']) await ensure(serviceOf(service));
    const cost = await counted(() => remove(serviceOf('one')));
    assert.ok(cost <= 5, `deletion ${cost}`);
  });

  it('are at most 5 for an audit, and nothing is to be done then', async () => {
    const { counted, ensure, audit, balancers, aws } = await countedMachine();
    const services = ['one', 'two', 'three', 'four', 'five'];
    for (const service of services) await ensure(serviceOf(service));
    const cost = await counted(audit);
    assert.ok(cost <= 5, `audit ${cost}`);
    for (const service of services) assert.deepEqual(balancers.plan(serviceOf(service)).steps, []);
    assert.deepEqual(aws.sent, []);
  });
});
