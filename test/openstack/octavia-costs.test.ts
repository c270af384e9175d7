import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer } from '../../controller/clouds/load-balancers.ts';
import { desiredFor, memberOf, newOwner, port } from '../clouds/desired.ts';
import { ensure } from '../clouds/drive.ts';
import { type OctaviaHarness, octaviaHarness } from './octavia-harness.ts';

const ports = (count: number) => Array.from({ length: count }, (_, at) => port(8000 + at, 31_000 + at));
const isRead = (call: string) => call.startsWith('GET');
const counted = (calls: readonly string[]) => ({
  changes: calls.filter((call) => !isRead(call)).length,
  looks: calls.filter((call) => call === 'GET /lbaas/loadbalancers/ID').length,
  reads: calls.filter((call) => isRead(call) && call !== 'GET /lbaas/loadbalancers/ID').length,
});

async function withHarness(body: (harness: OctaviaHarness) => Promise<void>): Promise<void> {
  const harness = await octaviaHarness('[LoadBalancer]\ncreate-monitor = true\n');
  try {
    // Networks and versions are read once a process.
    harness.octavia.looks = 2;
    await body(harness);
  } finally {
    await harness.close();
  }
}

/** One process does it all, as in a cluster; each Service is planned for from what a list of everything says. */
async function services(harness: OctaviaHarness, count: number): Promise<readonly DesiredLoadBalancer[]> {
  const all = Array.from({ length: count }, () =>
    desiredFor(newOwner(harness.world.cluster), harness.vms, { ports: ports(2) }),
  );
  for (const desired of all) await ensure(await harness.driving({ desired, record: { id: undefined } }));
  return all;
}

describe('calls to OpenStack', () => {
  for (const count of [1, 5]) {
    it(`a first ensure of ${count} ports is two changes, one look a wait, and reads that do not grow but for members and monitors`, () =>
      withHarness(async (harness) => {
        const { balancers } = await harness.driving();
        await harness.world.during(balancers.observeAll(harness.world.cluster));
        harness.calls();
        harness.desired = { ...harness.desired, ports: ports(count) };
        // Nothing can be there before the first claim: the controller does not look.
        let observed = undefined as Awaited<ReturnType<typeof balancers.observe>>;
        for (let round = 0; round < 20; round += 1) {
          const plan = balancers.plan(harness.desired, observed);
          const [step] = plan.steps;
          if (step) observed = await harness.world.during(balancers.apply(step, observed, { permit: () => {} }));
          else if (plan.waitMs === undefined) break;
          else {
            await harness.world.pass(plan.waitMs);
            const { owner, name, service } = harness.desired;
            observed = await harness.world.during(
              balancers.observe({ owner, name, service, id: observed?.id, attachTo: undefined }),
            );
          }
        }
        const { changes, looks, reads } = counted(harness.calls());
        assert.equal(changes, 2);
        assert.ok(looks <= 4, `${looks} looks`);
        assert.ok(reads <= 12 + 2 * count, `${reads} reads`);
      }));
  }

  it('everything of the cluster is six lists, and once a process the networks, the versions and the members of each pool', () =>
    withHarness(async (harness) => {
      for (const count of [3, 7]) {
        const all = await services(harness, count);
        const { balancers } = await harness.driving();
        harness.calls();
        const first = await harness.world.during(balancers.observeAll(harness.world.cluster));
        const fresh = harness.calls();
        const pools = fresh.filter((call) => call === 'GET /lbaas/pools/ID/members').length;
        assert.equal(pools, first.length * 2);
        assert.equal(fresh.length - pools, 9, fresh.join('\n'));
        const again = await harness.world.during(balancers.observeAll(harness.world.cluster));
        assert.equal(harness.calls().length, 6);
        for (const desired of all) {
          const observed = again.find(({ owner }) => owner?.service === desired.owner.service);
          assert.deepEqual(balancers.plan(desired, observed).steps, []);
        }
        assert.equal(harness.calls().length, 0, 'planning calls nobody');
      }
    }));

  it('a change of Nodes is one batch a port', () =>
    withHarness(async (harness) => {
      await harness.ensure({ ports: ports(4) });
      const third = await harness.world.createVm();
      harness.calls();
      const { calls } = await harness.ensure({ members: [...harness.desired.members, memberOf(third)] });
      assert.equal(calls, 4);
      assert.deepEqual([...new Set(harness.calls().filter((call) => !isRead(call)))], ['PUT /lbaas/pools/ID/members']);
    }));

  it('a removal is two changes', () =>
    withHarness(async (harness) => {
      await harness.ensure({ ports: ports(4) });
      assert.equal((await harness.remove()).calls, 2);
    }));
});
