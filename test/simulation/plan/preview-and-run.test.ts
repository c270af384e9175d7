import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DesiredLoadBalancer, LoadBalancerPlan } from '../../../controller/clouds/load-balancers.ts';
import { azureWorld } from '../../clouds/azure/azure-world.ts';
import { fakeGceWorld } from '../../clouds/gce/gce-world.ts';
import { desiredFor, newOwner, port } from '../../clouds/suite/desired.ts';
import { type Driving, ensure, printStep, remove } from '../../clouds/suite/drive.ts';
import { type Example, withExample } from '../../clouds/suite/suite-context.ts';

const clouds = {
  'GCE, target pools': () => fakeGceWorld('target pools'),
  'GCE, internal': () => fakeGceWorld('internal load balancers'),
  Azure: () => azureWorld(),
};
const internalOnAzure = { 'service.beta.kubernetes.io/azure-load-balancer-internal': 'true' };

/** What the first plan shows, and what is done after all: where these differ, the plan has to say so. */
async function compared(driving: Driving, run: typeof ensure) {
  let shown: LoadBalancerPlan | undefined;
  const { steps } = await run({
    ...driving,
    async onPlan(plan) {
      shown ??= await driving.world.during(driving.balancers.preview(plan));
    },
  });
  const planned = (shown?.steps ?? []).map(printStep);
  const unplanned = steps.filter((step) => !planned.includes(printStep(step)));
  const undone = planned.filter((step) => !steps.map(printStep).includes(step));
  return { undone, unplanned, later: shown?.later ?? [] };
}

async function afterChange(world: Example['world'], change: Partial<DesiredLoadBalancer>) {
  let found: Awaited<ReturnType<typeof compared>> | undefined;
  await withExample(world, async (example) => {
    await ensure(await example.driving());
    example.desired = { ...example.desired, ...change };
    found = await compared(await example.driving(), ensure);
  });
  await world.close();
  return found!;
}

describe('the preview of a load balancer', () => {
  for (const [change, fields, staged] of [
    ['another port', { ports: [port(81, 30_081)] }, ['GCE, target pools', 'GCE, internal']],
    ['session affinity', { sessionAffinity: { timeoutSeconds: 10_800 } }, ['GCE, target pools']],
    ['source ranges', { sourceRanges: ['192.0.2.0/24'] }, []],
    ['an internal address', { annotations: internalOnAzure, mayChangeAddress: true }, ['Azure']],
  ] as const satisfies (readonly [string, Partial<DesiredLoadBalancer>, readonly (keyof typeof clouds)[]])[]) {
    for (const [cloud, worldOf] of Object.entries(clouds))
      it(`lists all that follows ${change}, or says that more does (${cloud})`, async () => {
        const { undone, unplanned, later } = await afterChange(worldOf(), fields);
        assert.deepEqual(undone, []);
        const isStaged = (staged as readonly string[]).includes(cloud);
        assert.deepEqual(
          [unplanned.length > 0, later.length > 0],
          [isStaged, isStaged],
          unplanned.map(printStep).join(),
        );
        // An address is held only for the time between.
        const kinds = unplanned.map(({ resource }) => resource).filter((kind) => kind !== 'address');
        assert.deepEqual(
          kinds.filter((kind) => !later.includes(kind)),
          [],
        );
      });
  }

  for (const mode of ['target pools', 'internal load balancers'] as const)
    it(`says that shared resources go with the last Services, and only then (GCE, ${mode})`, async () => {
      const world = fakeGceWorld(mode);
      await withExample(world, async (example) => {
        const other = { desired: desiredFor(newOwner(world.cluster), example.vms), record: { id: undefined } };
        await ensure(await example.driving());
        await ensure(await example.driving(other));
        const shownBeside = async (live: readonly DesiredLoadBalancer[]) => {
          const driving = await example.driving();
          const { balancers, desired } = driving;
          await world.during(balancers.observeAll(world.cluster));
          balancers.declare(live, true, new Set());
          const plan = balancers.planRemoval(desired.owner, { retain: false });
          return (await world.during(balancers.preview(plan))).later;
        };
        assert.deepEqual(await shownBeside([other.desired]), []);
        const shared = mode === 'target pools' ? [] : ['instance group'];
        assert.deepEqual(await shownBeside([]), ['firewall rule', 'health check', ...shared]);
        await remove(await example.driving(other));
      });
      await world.close();
    });
});
