import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  machine,
  managedConfig,
  member,
  network,
  plainConfig,
  port,
} from '../../../../test/clouds/aws/fake/machine.ts';
import { keys } from '../load-balancer-annotations.ts';

const managed = () => machine({ config: managedConfig });

describe('the targets of a network load balancer', () => {
  it('registers addresses where the annotation asks for them', async () => {
    const m = managed();
    const members = [member(1, { addresses: ['10.0.0.1'] }), member(2, { addresses: ['10.0.0.2'] })];
    await m.ensure(network({ members, annotations: { [keys.targetType]: 'ip' } }));
    assert.deepEqual(m.targets(), [['10.0.0.1', '10.0.0.2']]);
  });

  it('finds the groups of the nodes by the addresses of targets after a restart too', async () => {
    const m = machine({ config: plainConfig });
    const annotations = { [keys.targetType]: 'ip' };
    const members = [member(1, { addresses: ['10.0.0.1'] })];
    await m.ensure(network({ members, annotations }));
    assert.ok(m.rulesOfNodes().length > 0);
    m.restart();
    const { sent } = await m.ensure(network({ members, annotations, ports: [port(80, 30_081)] }));
    assert.ok(sent.includes('AuthorizeSecurityGroupIngress'));
    assert.ok(m.rulesOfNodes().includes('tcp 30081 0.0.0.0/0'));
    assert.ok(!m.rulesOfNodes().includes('tcp 30080 0.0.0.0/0'));
  });

  it('leaves out a member of another cloud, and names it', async () => {
    const stranger = member(3, { providerID: 'gce://project/zone/vm' });
    const { observed, refusals } = await managed().ensure(network({ members: [member(1), stranger] }));
    assert.equal(observed?.members.length, 1);
    assert.match(refusals[0]!.message, /gce/);
  });

  it('lose a draining member, and neither gain nor lose one that is known by its id alone', async () => {
    const m = managed();
    await m.ensure(network());
    const members = [member(1, { draining: true }), member(2, { addresses: [] }), member(3, { addresses: [] })];
    const { observed } = await m.ensure(network({ members }));
    assert.deepEqual(
      observed?.members.map(({ providerID }) => providerID),
      [member(2).providerID],
    );
  });

  it('registers and deregisters a hundred targets in each call, new ones first', async () => {
    const m = managed();
    const members = Array.from({ length: 250 }, (_, at) => member(at + 1));
    await m.ensure(network({ members }));
    const registered = m.aws.sent.filter(({ operation }) => operation === 'v2 RegisterTargets');
    assert.deepEqual(
      registered.map(({ input }) => (input['Targets'] as unknown[]).length),
      [100, 100, 50],
    );
    const { sent } = await m.ensure(network({ members: [...members.slice(120), member(999)] }));
    assert.deepEqual(sent, ['v2 RegisterTargets', 'v2 DeregisterTargets', 'v2 DeregisterTargets']);
  });
});
