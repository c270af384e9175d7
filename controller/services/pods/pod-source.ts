import type { Clock } from '../../../common/process/clock.ts';
import type { Log } from '../../../common/process/log.ts';
import type { Random } from '../../../common/process/random.ts';
import type { KubeApi } from '../../kube/api.ts';
import { createListWatch, type ListWatch } from '../../kube/list-watch.ts';
import {
  type EndpointSliceView,
  endpointSlicesPath,
  unreadOfEndpointSlice,
  viewEndpointSlice,
} from './endpoint-slice.ts';

export interface PodSourceParts {
  /** For reads. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Objects per page of a list; default as in createListWatch. */
  readonly pageSize?: number | undefined;
}

/** The EndpointSlices of all Services. Nothing is read, and nothing is kept, before the first question. */
export interface PodSource {
  /**
   * Those of one Service. With `waitedMs`, how long since the first question, until all have been read once; from then
   * on they are the latest that were read, also while the watch fails.
   *
   * @param service `namespace/name`
   */
  slicesOf(service: string): { readonly slices: readonly EndpointSliceView[] } | { readonly waitedMs: number };
  /** `run` is called for each Service whose slices have changed since all were read, and once for each then. */
  onChange(run: (service: string) => void): void;
  /** Milliseconds since the last sign of the API server; undefined before the first question. */
  stalenessMs(): number | undefined;
  stop(): Promise<void>;
}

export function createPodSource({ pageSize, ...parts }: PodSourceParts): PodSource {
  const { clock } = parts;
  const byService = new Map<string, Map<string, EndpointSliceView>>();
  const asked = new Set<string>();
  const handlers: ((service: string) => void)[] = [];
  let watch: { readonly list: ListWatch<EndpointSliceView>; readonly sinceMs: number } | undefined;

  function tell(service: string): void {
    for (const handler of handlers) handler(service);
  }

  function put({ service, key }: EndpointSliceView, slice: EndpointSliceView | undefined): void {
    if (service === undefined) return;
    const slices = byService.get(service) ?? new Map<string, EndpointSliceView>();
    if (slice === undefined) slices.delete(key);
    else slices.set(key, slice);
    if (slices.size === 0) byService.delete(service);
    else byService.set(service, slices);
    if (watch?.list.synced) tell(service);
  }

  function start() {
    const list = createListWatch({
      ...parts,
      path: endpointSlicesPath,
      trim: viewEndpointSlice,
      unread: unreadOfEndpointSlice,
      ...(pageSize !== undefined && { pageSize }),
    });
    watch = { list, sinceMs: clock.monotonic() };
    list.subscribe((event) => {
      // Its label may name another Service than before.
      if (event.type === 'updated' && event.old.service !== event.object.service) put(event.old, undefined);
      if (event.type === 'deleted') put(event.old, undefined);
      else put(event.object, event.object);
    });
    list.start();
    const told = list.whenSynced().then(() => {
      for (const service of asked) tell(service);
      asked.clear();
    });
    // It may be stopped before.
    told.catch(() => {});
    return watch;
  }

  return {
    slicesOf(service) {
      const { list, sinceMs } = watch ?? start();
      if (list.synced) return { slices: [...(byService.get(service)?.values() ?? [])] };
      asked.add(service);
      return { waitedMs: clock.monotonic() - sinceMs };
    },
    onChange: (run) => void handlers.push(run),
    stalenessMs: () => watch?.list.stalenessMs(),
    stop: async () => watch?.list.stop(),
  };
}
