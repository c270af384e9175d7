import { dirname } from 'node:path/posix';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { Random } from '../../common/process/random.ts';
import { isPauseValue, names, pausedNodesOf } from '../../common/well-known.ts';
import type { KubeApi } from '../kube/api.ts';
import { createListWatch } from '../kube/list-watch.ts';
import { pathOf, type ShippedObjects } from '../kube/shipped-objects.ts';

/** Watches the pause keys of our ConfigMap, which no kubelet can write. */
export interface Pause {
  start(): void;
  stop(): Promise<void>;
  synced(): boolean;
  whenSynced(): Promise<void>;
  /**
   * True while a person has paused everything. A missing key, or a missing ConfigMap (which is logged), does not pause.
   */
  paused(): boolean;
  /** Milliseconds since the last sign of the API server. */
  stalenessMs(): number;
  /** True while a person protects this Node from deletion. */
  pausedNode(name: string): boolean;
}

interface Paused {
  readonly all: boolean;
  readonly nodes: ReadonlySet<string>;
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
  const { published } = shipped.objects;
  const informer = createListWatch<Paused>({
    ...parts,
    path: dirname(pathOf(published)),
    query: { fieldSelector: `metadata.name=${published.name}` },
    trim(raw) {
      const { data } = raw as ConfigMap;
      return { all: isPauseValue(data?.[names.pausedKey]), nodes: pausedNodesOf(data?.[names.pausedNodesKey]) };
    },
  });
  const key = `${published.namespace}/${published.name}`;
  const paused = () => informer.get(key)?.all === true;
  informer.subscribe((event) => {
    const before = event.type === 'added' ? undefined : event.old;
    const now = event.type === 'deleted' ? undefined : event.object;
    if ((before?.all ?? false) !== (now?.all ?? false))
      log.warn(now?.all ? 'paused: no changes are made any more' : 'no longer paused');
    const nodes = [...(now?.nodes ?? [])];
    if ([...(before?.nodes ?? [])].join() !== nodes.join()) log.warn('Nodes kept from deletion', { nodes });
    shipped.observe(published, event.type !== 'deleted');
  });
  const told = informer.whenSynced().then(() => shipped.observe(published, informer.get(key) !== undefined));
  // The informer may be stopped before its first answer.
  told.catch(() => {});
  return {
    start: () => informer.start(),
    stop: () => informer.stop(),
    synced: () => informer.synced,
    whenSynced: () => informer.whenSynced(),
    paused,
    stalenessMs: () => informer.stalenessMs(),
    pausedNode: (name) => informer.get(key)?.nodes.has(name) === true,
  };
}
