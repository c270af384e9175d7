import { afterEach } from 'node:test';
import { createWorld, type Replica, type World, type WorldOptions } from './world.ts';

/** Called where the suite is described; the answer makes a world with a replica that has yet to start, and the world is closed after the test. */
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
