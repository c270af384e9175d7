import type { Clock } from '../../common/process/clock.ts';
import type { Informer } from '../kube/informer.ts';
import { isOlder } from '../kube/resource-version.ts';
import type { ServiceView } from '../model/service-view.ts';

/** Services as they are now: what we wrote ourselves counts before the cache shows it. */
export interface LatestServices {
  get(key: string): ServiceView | undefined;
  wrote(service: ServiceView): void;
  /** Whether a change in the cache is but our own write. */
  isEcho(service: ServiceView): boolean;
  forget(key: string): void;
}

/** An answer of the API server is ahead of the cache by this at the most; longer, and it is the version that does not compare (a restored backup). */
const cacheLagMs = 30_000;

export function createLatestServices(services: Informer<ServiceView>, clock: Clock): LatestServices {
  const ahead = new Map<string, { readonly service: ServiceView; readonly atMs: number }>();
  return {
    get(key) {
      const cached = services.get(key);
      const own = ahead.get(key);
      if (cached === undefined || own === undefined || own.service.uid !== cached.uid) return cached;
      const behind = isOlder(cached.resourceVersion, own.service.resourceVersion);
      if (behind && clock.monotonic() - own.atMs <= cacheLagMs) return own.service;
      ahead.delete(key);
      return cached;
    },
    wrote: (service) => ahead.set(service.key, { service, atMs: clock.monotonic() }),
    isEcho({ key, uid, resourceVersion }) {
      const own = ahead.get(key)?.service;
      if (own?.uid !== uid) return false;
      return own.resourceVersion === resourceVersion || isOlder(resourceVersion, own.resourceVersion);
    },
    forget: (key) => ahead.delete(key),
  };
}
