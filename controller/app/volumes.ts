import type { HealthCheck } from '../../common/process/health.ts';
import type { Informer } from '../kube/informer.ts';
import { createListWatch } from '../kube/list-watch.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { volumeMetrics } from '../volumes/metrics.ts';
import { createVolumeLookups } from '../volumes/volume-lookups.ts';
import { createVolumeTask } from '../volumes/volume-task.ts';
import { type VolumeView, viewVolume } from '../volumes/volume-view.ts';
import { volumesPath } from '../volumes/write-topology.ts';
import type { NetworkContext } from './network-context.ts';
import { loopNames } from './options/loops.ts';

/** The leader task for PersistentVolumes, with its cache. */
export interface LabelledVolumes {
  readonly tasks: readonly LeaderTask[];
  /** Undefined where the loop does not run. */
  readonly cache: Pick<Informer<VolumeView>, 'stalenessMs'> | undefined;
  /** Starts the cache, on standbys too. */
  start(): void;
  stop(): Promise<void>;
  readonly ready: readonly HealthCheck[];
}

const none: LabelledVolumes = { tasks: [], cache: undefined, start() {}, stop: async () => {}, ready: [] };

/** Creates the cache and the task only where the loop is named and a configured cloud has volumes. */
export function createLabelledVolumes(context: NetworkContext): LabelledVolumes {
  const { readApi, api, clock, random, events, registry, queueMetrics, resolver, paused, loops } = context;
  if (!loops.volume) return none;
  const log = context.log.with({ controller: loopNames.volume });
  const lookups = createVolumeLookups(resolver.configured, clock);
  if (lookups.sources.length === 0) {
    log.warn(`${loopNames.volume} is named in --controllers, but no configured cloud has volumes: it does not run`);
    return none;
  }
  const volumes = createListWatch({
    api: readApi,
    path: volumesPath,
    clock,
    random,
    log,
    trim: (raw) => viewVolume(raw, lookups.sources),
    ...(context.pageSize === undefined ? {} : { pageSize: context.pageSize }),
  });
  const metrics = registry.define(volumeMetrics);
  return {
    tasks: [createVolumeTask({ api, clock, random, log, volumes, lookups, events, metrics, queueMetrics, paused })],
    cache: volumes,
    start: () => volumes.start(),
    stop: () => volumes.stop(),
    ready: [
      {
        name: 'volumes-synced',
        check: () => (volumes.synced ? undefined : 'the cache of PersistentVolumes is not filled yet'),
      },
    ],
  };
}
