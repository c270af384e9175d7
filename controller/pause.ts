import type { Clock } from '../common/process/clock.ts';
import type { Log } from '../common/process/log.ts';
import type { Random } from '../common/process/random.ts';
import { isPauseValue, names } from '../common/well-known.ts';
import type { KubeApi } from './kube/api.ts';
import { createListWatch } from './kube/list-watch.ts';
import { type ShippedObjects, shippedObjects } from './shipped-objects.ts';

/** Follows the key `paused` of our ConfigMap. */
export interface Pause {
  start(): void;
  stop(): Promise<void>;
  synced(): boolean;
  whenSynced(): Promise<void>;
  /** True while a person has everything paused. A missing ConfigMap, which is told, or a missing key is not paused. */
  paused(): boolean;
}

interface ConfigMap {
  readonly data?: Readonly<Record<string, string>>;
}

export function watchPause(parts: {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly shipped: ShippedObjects;
}): Pause {
  const { log, shipped } = parts;
  const informer = createListWatch<boolean>({
    ...parts,
    path: `/api/v1/namespaces/${names.namespace}/configmaps`,
    query: { fieldSelector: `metadata.name=${names.certificates}` },
    trim: (raw) => isPauseValue((raw as ConfigMap).data?.[names.pausedKey]),
  });
  const key = `${names.namespace}/${names.certificates}`;
  const paused = () => informer.get(key) === true;
  informer.subscribe((event) => {
    const before = event.type === 'updated' ? event.old : event.type === 'deleted' && event.old;
    const now = event.type !== 'deleted' && event.object;
    if (before !== now) log.warn(now ? 'paused: nothing is changed any more' : 'no longer paused');
    shipped.observe(shippedObjects.published, event.type !== 'deleted');
  });
  const told = informer
    .whenSynced()
    .then(() => shipped.observe(shippedObjects.published, informer.get(key) !== undefined));
  // Stopped before there was a first answer.
  told.catch(() => {});
  return {
    start: () => informer.start(),
    stop: () => informer.stop(),
    synced: () => informer.synced,
    whenSynced: () => informer.whenSynced(),
    paused,
  };
}
