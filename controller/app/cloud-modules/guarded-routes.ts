import type { ObservedRoute, Routes, RouteTable } from '../../clouds/routes.ts';
import { parseCidr } from '../../model/cidr.ts';
import type { CallGuard } from './call-guard.ts';

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;

/** Routes of a module behind the guard: a table of another shape is no table, so that nothing follows from it. */
export function guardRoutes(routes: Routes, guard: CallGuard): Routes {
  for (const name of ['observe', 'create', 'remove'] as const)
    if (typeof routes[name] !== 'function')
      throw new Error(`routes.${name}: ${typeof routes[name]}, expected a function`);
  const tagged = routes.tagged === true;

  /** What was expected of a route; undefined when it is valid. */
  function expectedOf(one: ObservedRoute | undefined): string | undefined {
    const { id, destination, providerID, blackhole, ours } = one ?? ({} as Partial<ObservedRoute>);
    if (typeof id !== 'string' || id === '') return 'id to be a text';
    if (typeof destination !== 'string' || parseCidr(destination)?.text !== destination)
      return 'destination to be a CIDR in its usual spelling';
    if (providerID !== undefined && typeof providerID !== 'string') return 'providerID to be a text or undefined';
    if (typeof blackhole !== 'boolean') return 'blackhole to be true or false';
    if (typeof ours !== (tagged ? 'boolean' : 'undefined'))
      return tagged ? 'ours to be true or false' : 'ours to be undefined, because routes have no tags';
    return undefined;
  }
  function readTable(table: RouteTable | undefined): RouteTable {
    const wrong = (message: string) => guard.fault('observe routes', `it answered ${message}`);
    if (!Array.isArray(table?.routes)) throw wrong('no list of routes');
    for (const one of table.routes) {
      const expected = expectedOf(one);
      if (expected !== undefined) throw wrong(`the route ${JSON.stringify(one)}, expected ${expected}`);
    }
    if (new Set(table.routes.map(({ id }) => id)).size < table.routes.length) throw wrong('two routes with one id');
    const { quota } = table;
    if (quota !== undefined && !(isCount(quota?.limit) && isCount(quota?.used)))
      throw wrong(`the quota ${JSON.stringify(quota)}, expected limit and used, or undefined`);
    return table;
  }

  return {
    tagged,
    observe: (cluster, signal) =>
      guard.call('observe routes', signal, async (ending) => readTable(await routes.observe(cluster, ending))),
    create: (route, options) =>
      guard.call('create route', options.signal, async (signal) => {
        const permit = guard.passing(options.permit);
        const made = await routes.create({ ...route, addresses: [...route.addresses] }, { ...options, permit, signal });
        const isOther = made?.destination !== route.destination;
        const expected = expectedOf(made) ?? (isOther ? `the destination ${route.destination}` : undefined);
        if (expected === undefined) return made;
        throw guard.fault('create route', `it answered ${JSON.stringify(made)}, expected ${expected}`, 'Unavailable');
      }),
    remove: (route, options) =>
      guard.call('remove route', options.signal, async (signal) => {
        await routes.remove({ ...route }, { ...options, permit: guard.passing(options.permit), signal });
      }),
  };
}
