import type { ObservedRoute, Routes } from '../clouds/routes.ts';
import type { ChangeRecord } from './change-record.ts';

/** The routes of a cloud, of which no change is sent: it is recorded, and shown as done by the next reads. */
export function recordingRoutes(routes: Routes, scope: string, record: ChangeRecord): Routes {
  const created = new Map<string, ObservedRoute>();
  const removed = new Map<string, ObservedRoute>();
  const isThere = (all: readonly ObservedRoute[], one: ObservedRoute) =>
    all.some(({ destination, providerID }) => destination === one.destination && providerID === one.providerID);
  const key = ({ id }: ObservedRoute) => `${scope} route ${id}`;

  return {
    tagged: routes.tagged,
    async observe(cluster, signal) {
      const { routes: all, quota } = await routes.observe(cluster, signal);
      // Others may have made the changes meanwhile.
      for (const [id, one] of created) if (isThere(all, one)) created.delete(id);
      for (const id of removed.keys()) if (!all.some((one) => one.id === id)) removed.delete(id);
      return {
        routes: [...all.filter(({ id }) => !removed.has(id)), ...created.values()],
        quota: quota && { ...quota, used: quota.used + created.size - removed.size },
      };
    },
    async create({ destination, providerID, node }, { permit }) {
      permit(0);
      const made: ObservedRoute = {
        id: `planned ${destination} ${providerID}`,
        destination,
        providerID,
        blackhole: false,
        ours: routes.tagged ? true : undefined,
      };
      created.set(made.id, made);
      const object = `route ${destination}`;
      const what = `to ${providerID} (Node ${node})`;
      record.set(key(made), [{ of: scope, object, action: 'create', what, target: providerID }]);
      return made;
    },
    async remove(route, { permit }) {
      permit(0);
      if (created.delete(route.id)) return record.set(key(route), []);
      removed.set(route.id, route);
      const { destination, providerID } = route;
      const [object, what] = [`route ${destination}`, `to ${providerID ?? 'nothing'}`];
      const target = providerID === undefined ? {} : { target: providerID };
      record.set(key(route), [{ of: scope, object, action: 'delete', what, ...target }]);
    },
  };
}
