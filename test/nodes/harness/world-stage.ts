import { afterEach } from 'node:test';
import { createWorld, type Replica, type World, type WorldOptions } from './world.ts';

/**
 * For use in a `describe`; returns a function that creates a world with a replica not started yet. The world closes
 * after the test.
 */
export function worldStage(): (options?: WorldOptions) => { readonly world: World; readonly replica: Replica } {
  const worlds: World[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });
  return (options = {}) => {
    const world = createWorld(options);
    worlds.push(world);
    return { world, replica: world.replica() };
  };
}
