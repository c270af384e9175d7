import assert from 'node:assert/strict';
import { annotations, finalizers } from '../../../common/well-known.ts';
import { classicName, classicTags } from '../../../controller/clouds/simulated/adoption.ts';
import type { World } from './world.ts';

export interface ClassicChanges {
  readonly name?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/**
 * Creates a Service as the classic controller leaves it: a load balancer with that controller's name and tags, an
 * address and the finalizer. Returns the load balancer's id.
 */
export async function createClassic(world: World, name = 'web', changes: ClassicChanges = {}): Promise<string> {
  const first = world.replica();
  await first.start();
  world.services.create(name);
  await world.clock.advance(5000);
  await first.stop();
  const { loadBalancers, addresses } = world.cloud.network;
  const made = world.loadBalancerOf(name);
  assert.ok(made);
  const tags = { [classicTags.cluster]: 'blue', [classicTags.service]: `default/${name}`, ...changes.tags };
  loadBalancers.stripTags(made.id);
  loadBalancers.update(made.id, { name: changes.name ?? classicName('blue', `default/${name}`), tags });
  for (const { id } of made.addresses) if (id !== undefined) addresses.setTags(id, tags);
  const { finalizers: held = [finalizers.loadBalancerCleanup] } = changes;
  world.services.patch(name, { metadata: { annotations: { [annotations.loadBalancer]: null }, finalizers: held } });
  world.services.patchStatus(name, { status: { conditions: null } });
  await world.clock.advance(10_000);
  return made.id;
}
