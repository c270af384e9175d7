import { afterEach } from 'node:test';
import { createRouteWorld, type RouteReplica, type RouteWorld, type RouteWorldOptions } from './route-world.ts';

/** Ranges of Nodes, within the cluster's. */
export const a4 = '10.244.0.0/24';
export const b4 = '10.244.1.0/24';
export const c4 = '10.244.2.0/24';
export const a6 = 'fd00:10:0:1::/64';

/** A world for one test, with a replica that has yet to start. */
export interface RouteStage {
  readonly world: RouteWorld;
  readonly replica: RouteReplica;
  /** Calls so far that ask the cloud for a route. */
  creations(): number;
  /** `reason node` of each event of the replica. */
  events(): readonly string[];
}

/** Called where the suite is described; the answer sets the stage, which is closed after the test. */
export function routeStage(): (options?: RouteWorldOptions) => RouteStage {
  const worlds: RouteWorld[] = [];
  afterEach(async () => {
    for (const world of worlds.splice(0)) await world.close();
  });
  return (options = {}) => {
    const world = createRouteWorld(options);
    worlds.push(world);
    const replica = world.routeReplica();
    return {
      world,
      replica,
      creations: () => world.cloud.calls.total('routes.create'),
      events: () => replica.base.events.map(({ reason, node }) => `${reason} ${node}`),
    };
  };
}
