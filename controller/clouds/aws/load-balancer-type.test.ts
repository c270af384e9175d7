import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  desired as classic,
  desiredOf,
  machine,
  managedConfig,
  network,
} from '../../../test/clouds/aws/fake/machine.ts';
import { keys } from './load-balancer-annotations.ts';

const managed = () => machine({ config: managedConfig });
const reasons = (refusals: readonly { readonly reason: string }[]) => refusals.map(({ reason }) => reason);

describe('a Service that asks for another type of load balancer', () => {
  const typed = { classic: classic(), network: network() } as const;

  for (const [from, to] of [
    ['network', 'classic'],
    ['classic', 'network'],
  ] as const) {
    it(`keeps its ${from} one without consent, and has a ${to} one in its place with it`, async () => {
      const m = managed();
      const first = await m.ensure(typed[from]);
      const refused = await m.ensure(typed[to]);
      assert.deepEqual([reasons(refused.refusals), refused.sent], [['AddressWouldChange'], []]);
      const second = await m.ensure({ ...typed[to], mayChangeAddress: true });
      assert.deepEqual(second.refusals, []);
      assert.notEqual(second.observed?.id, first.observed?.id);
      const there = [m.balancer() !== undefined, m.networkBalancer() !== undefined];
      assert.deepEqual(there, [to === 'classic', to === 'network']);
      assert.equal(m.groups().length, 4);
      m.restart();
      assert.deepEqual((await m.ensure({ ...typed[to], mayChangeAddress: true })).sent, []);
      await m.remove(typed[to]);
      assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
      assert.equal(m.aws.region.targetGroups.size, 0);
    });

    it(`comes from a ${from} to a ${to} one after a crash at any call`, async () => {
      const asked = { ...typed[to], mayChangeAddress: true };
      const clean = managed();
      await clean.ensure(typed[from]);
      const { sent } = await clean.ensure(asked);
      for (let call = 1; call <= sent.length; call += 1) {
        const m = managed();
        await m.ensure(typed[from]);
        let left = call;
        const crash = () => {
          left -= 1;
          if (left < 0) throw new Error('crash');
        };
        await m.ensure(asked, crash).catch(() => undefined);
        m.restart();
        await m.ensure(asked);
        assert.deepEqual(m.groups().length, 4, `at call ${call}`);
        assert.equal(m.balancer() !== undefined, to === 'classic');
        assert.equal(m.networkBalancer() !== undefined, to === 'network');
        await m.remove(asked);
        assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []], `at call ${call}`);
      }
    });
  }

  it('keeps all that stands where the type is of another controller', async () => {
    const m = managed();
    for (const asked of [typed.network, desiredOf('u2')]) {
      await m.ensure(asked);
      const { sent, refusals } = await m.ensure({ ...asked, annotations: { [keys.type]: 'external' } });
      assert.deepEqual([sent, reasons(refusals)], [[], ['Unsupported']]);
    }
  });

  it('shares the rule on the nodes with Services of the other type, and the last one takes it away', async () => {
    const m = managed();
    await m.ensure(typed.network);
    const { sent } = await m.ensure(desiredOf('u2'));
    assert.equal(sent.filter((operation) => operation.startsWith('Authorize')).length, 1);
    assert.equal(m.rulesOfNodes().length, 1);
    await m.remove(typed.network);
    assert.equal(m.rulesOfNodes().length, 1);
    await m.remove(desiredOf('u2'));
    assert.deepEqual([m.groups(), m.rulesOfNodes()], [['sg-nodes', 'sg-persons'], []]);
  });
});
