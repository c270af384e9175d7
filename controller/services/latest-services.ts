import type { Clock } from '../../common/process/clock.ts';
import type { Informer } from '../kube/informer.ts';
import { isOlder } from '../kube/resource-version.ts';
import type { ServiceView } from '../model/service-view.ts';
import type { ServiceStates } from './service-state.ts';

/** The newest version of each Service, including our own writes that the cache does not show yet. */
export interface LatestServices {
  get(key: string): ServiceView | undefined;
  wrote(service: ServiceView): void;
  /** Whether a change in the cache is our own write. */
  isEcho(service: ServiceView): boolean;
}

/**
 * How long the cache may lag behind an answer of the API server. After that, the two versions do not compare (a
 * restored backup), and the cache is right.
 */
const cacheLagMs = 30_000;

export function createLatestServices(
  services: Informer<ServiceView>,
  clock: Clock,
  states: ServiceStates,
): LatestServices {
  return {
    get(key) {
      const cached = services.get(key);
      const state = cached && states.get(cached.uid);
      if (state?.written === undefined) return cached;
      const { service, atMs } = state.written;
      const isBehind = isOlder(cached!.resourceVersion, service.resourceVersion);
      if (isBehind && clock.monotonic() - atMs <= cacheLagMs) return service;
      state.written = undefined;
      return cached;
    },
    wrote(service) {
      states.of(service.uid).written = { service, atMs: clock.monotonic() };
    },
    isEcho({ uid, resourceVersion }) {
      const own = states.get(uid)?.written?.service.resourceVersion;
      return own !== undefined && (own === resourceVersion || isOlder(resourceVersion, own));
    },
  };
}
