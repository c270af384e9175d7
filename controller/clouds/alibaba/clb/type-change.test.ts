import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zoneMaps } from '../../../../test/clouds/alibaba/alibaba-world.ts';
import {
  type Ask,
  type BalancerHarness,
  createBalancerHarness,
} from '../../../../test/clouds/alibaba/balancer-harness.ts';
import { memberOf, port } from '../../../../test/clouds/suite/desired.ts';
import { networkClass } from '../annotations.ts';

const ports = [port(80, 30_080), port(443, 30_443)];
const asks = {
  classic: { ports },
  network: { ports, loadBalancerClass: networkClass, annotations: { 'zone-maps': zoneMaps } },
} as const satisfies Record<string, Ask>;

/** Load balancers and listeners of each type, and what both types have beside them. */
function left({ world: { fake } }: BalancerHarness) {
  const [classic, network] = [[...fake.balancers.values()], [...fake.networks.values()]];
  const listenersOf = (all: readonly { readonly listeners: ReadonlyMap<string, unknown> }[]) =>
    all.reduce((sum, { listeners }) => sum + listeners.size, 0);
  return {
    classic: [classic.length, listenersOf(classic)],
    network: [network.length, listenersOf(network)],
    others: fake.networkGroups.size + fake.lists.size,
  };
}

describe('a Service of Alibaba Cloud that asks for the other type of load balancer', () => {
  for (const [from, to] of [
    ['classic', 'network'],
    ['network', 'classic'],
  ] as const)
    it(`keeps its ${from} one, which serves on with all members, until another address is allowed`, async () => {
      const harness = await createBalancerHarness();
      const { fake } = harness.world;
      await harness.settle(asks[from]);
      const before = left(harness);
      harness.changes();
      const { refusals } = await harness.settle(asks[to]);
      assert.equal(refusals[0]?.reason, 'AddressWouldChange');
      assert.deepEqual(harness.changes(), []);
      const third = await harness.world.createVm();
      const members = [...harness.vms, third].map((vm) => memberOf(vm));
      await harness.settle({ ...asks[to], members });
      const groups = [...[...fake.balancers.values()].flatMap(({ groups: all }) => [...all.values()])];
      for (const { servers } of [...groups, ...fake.networkGroups.values()]) assert.equal(servers.length, 3);
      assert.deepEqual(left(harness), before);

      await harness.settle({ ...asks[to], mayChangeAddress: true });
      const moved = left(harness);
      assert.deepEqual(
        [moved[from], moved[to]],
        [
          [0, 0],
          [1, 2],
        ],
      );
      assert.equal(moved.others, to === 'network' ? 2 : 0);
      await harness.remove(asks[to]);
      assert.deepEqual(left(harness), { classic: [0, 0], network: [0, 0], others: 0 });
      await harness.world.close();
    });

  it('loses the former one only when the other one serves, and keeps it where that cannot be made', async () => {
    const harness = await createBalancerHarness();
    const { fake } = harness.world;
    await harness.settle(asks.classic);
    const before = left(harness);
    const to = { ...asks.network, mayChangeAddress: true };
    const body = { Code: 'Forbidden.RAM', Message: 'not allowed' };
    for (const refused of ['nlb:CreateLoadBalancer', 'CreateListener']) {
      fake.fault = (action, whole) => ([action, whole].includes(refused) ? { status: 403, body } : undefined);
      await assert.rejects(harness.settle(to), /403 Forbidden.RAM/);
      assert.deepEqual(left(harness).classic, before.classic, refused);
    }
    fake.fault = undefined;
    await harness.settle(to);
    assert.deepEqual(left(harness), { classic: [0, 0], network: [1, 2], others: 2 });
    await harness.world.close();
  });

  it('keeps the one that stands where the other one would serve no port', async () => {
    const harness = await createBalancerHarness();
    const narrowed = { sourceRanges: ['192.0.2.0/24'], mayChangeAddress: true };
    await harness.settle({ ...asks.classic, ...narrowed });
    const before = left(harness);
    const { refusals } = await harness.settle({ ...asks.network, ...narrowed });
    assert.match(refusals[0]!.message, /^spec.loadBalancerSourceRanges/);
    assert.deepEqual(left(harness), before);
    await harness.world.close();
  });
});
