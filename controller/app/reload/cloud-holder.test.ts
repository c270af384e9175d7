import assert from 'node:assert/strict';
import { it } from 'node:test';
import { desiredWith, newWorld, reach, refOf } from '../../../test/clouds/simulated/world.ts';
import { createCloudHolder } from './cloud-holder.ts';

it("tells a cloud with a new credential what the operator lends, so that no record makes it a Service's", async () => {
  const world = newWorld();
  const desired = desiredWith();
  const { observed } = await reach(world, world.connect(), desired);
  const id = observed!.id!;
  world.network.loadBalancers.stripTags(id);
  const holder = createCloudHolder(world.open(), () => {});
  const { loadBalancers } = holder.cloud;
  assert.ok(loadBalancers);
  loadBalancers.declare([], true, new Set([id]));
  holder.replace(world.open());
  await loadBalancers.observe({ ...refOf(desired, id), notes: observed!.notes });
  const { steps } = loadBalancers.planRemoval(desired.owner, { retain: false });
  assert.ok(!steps.some(({ resource }) => resource === 'load balancer'));
  holder.cloud.close();
});
