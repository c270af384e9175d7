import { backoffMs } from '../../common/process/backoff.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Log } from '../../common/process/log.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { Random } from '../../common/process/random.ts';
import { untilAborted } from '../../common/process/until.ts';
import type { VolumePlace } from '../clouds/volumes.ts';
import { isNotFound, type KubeApi } from '../kube/api.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { Informer } from '../kube/informer.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createWorkQueue, type QueueMetrics } from '../runtime/work-queue.ts';
import type { volumeMetrics } from './metrics.ts';
import type { VolumeEventReason } from './reasons.ts';
import { placeOfProvisioner, planTopology } from './topology.ts';
import type { VolumeLookups } from './volume-lookups.ts';
import type { VolumeView } from './volume-view.ts';
import { createWaitingVolumes } from './waiting-volumes.ts';
import { writeTopology } from './write-topology.ts';

export interface VolumeContext {
  /** Fenced, and withheld while everything is paused. */
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly volumes: Informer<VolumeView>;
  readonly lookups: VolumeLookups;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof volumeMetrics>;
  readonly queueMetrics?: QueueMetrics | undefined;
  paused(): boolean;
}

const pausedAgainMs = 5000;
/** Until a volume that was not found, or whose cloud did not answer, is looked up again. */
const again = { firstMs: 15_000, maxMs: 600_000 };
/** A PersistentVolume that waits for a batched lookup occupies a slot in the queue. */
const lookupsInProgress = 4096;

type Outcome = { readonly requeueAfterMs: number } | undefined;

/**
 * The leader task that gives PersistentVolumes of the configured clouds the labels and the node affinity of their zone
 * and region. What a PersistentVolume has already stays. A volume is looked up once a term.
 */
export function createVolumeTask(context: VolumeContext): LeaderTask {
  const { api, clock, random, log, volumes, lookups, events, metrics } = context;
  let term: ReturnType<typeof startTerm> | undefined;

  volumes.subscribe((event) => {
    if (term === undefined) return;
    if (event.type === 'deleted') term.forget(event.old);
    else if (event.type === 'added' || shapeOf(event.old) !== shapeOf(event.object)) term.queue.enqueue(event.key);
  });

  function startTerm() {
    const waiting = createWaitingVolumes({ log, events, metrics });
    /** By uid, as found in this term: volumes do not move. */
    const places = new Map<string, { readonly volume: string; readonly place: VolumePlace }>();

    function forget({ uid }: VolumeView): void {
      waiting.end(uid);
      places.delete(uid);
    }

    function wait(volume: VolumeView, reason: VolumeEventReason, why: string): Outcome {
      const tries = waiting.begin(volume, reason, why);
      if (reason !== 'VolumeNotFound' && reason !== 'VolumeLookupFailed') return undefined;
      return { requeueAfterMs: backoffMs(tries, { ...again, random }) };
    }

    async function settle(volume: VolumeView, place: VolumePlace): Promise<Outcome> {
      const plan = planTopology(volume, place, 'fixed');
      if (plan.kind === 'differs') return wait(volume, 'VolumeTopologyDiffers', plan.why);
      if (plan.kind === 'unusable') return wait(volume, 'VolumeTopologyUnusable', plan.why);
      waiting.end(volume.uid);
      if (plan.kind === 'complete') return undefined;
      try {
        await writeTopology(api, volume, plan);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        throw error;
      }
      metrics.labelled.add();
      log.info('volume labelled', { volume: volume.name, labels: plan.labels, nodeAffinity: plan.terms !== undefined });
      return undefined;
    }

    async function reconcile(key: string): Promise<Outcome> {
      const volume = volumes.get(key);
      if (volume?.ref === undefined || !lookups.accepts(volume.ref)) return undefined;
      if (volume.deleting || volume.paused) {
        waiting.end(volume.uid);
        return undefined;
      }
      if (context.paused()) return { requeueAfterMs: pausedAgainMs };
      const { source, handle } = volume.ref;
      const known = places.get(volume.uid);
      const told = placeOfProvisioner(volume) ?? (known?.volume === `${source} ${handle}` ? known.place : undefined);
      if (told !== undefined) return settle(volume, told);
      const answer = await lookups.lookup(volume.ref);
      // Events of the watch may have come in meanwhile.
      if (volumes.get(key) !== volume) return { requeueAfterMs: 0 };
      if (answer.state === 'found') {
        places.set(volume.uid, { volume: `${source} ${handle}`, place: answer.place });
        return settle(volume, answer.place);
      }
      return answer.state === 'absent'
        ? wait(volume, 'VolumeNotFound', `the cloud has no volume ${handle}`)
        : wait(volume, 'VolumeLookupFailed', `volume ${handle}: ${answer.error.kind}: ${answer.error.message}`);
    }

    const queue = createWorkQueue({
      name: 'persistent_volume_label',
      clock,
      random,
      log,
      concurrency: lookupsInProgress,
      reconcile,
      ...(context.queueMetrics && { metrics: context.queueMetrics }),
    });
    return { queue, forget };
  }

  async function lead(signal: AbortSignal): Promise<void> {
    await Promise.race([volumes.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    const current = startTerm();
    term = current;
    for (const { name } of volumes.values()) current.queue.enqueue(name);
    current.queue.start();
    await untilAborted(signal);
    term = undefined;
    await current.queue.stop();
    metrics.waiting.reset();
  }

  return {
    lead,
    progress: () => new Map(term ? [['persistent-volume-label', term.queue.lastProgressAt]] : []),
  };
}

/** All that the decision depends on. */
function shapeOf({ name: _, resourceVersion: __, ...rest }: VolumeView): string {
  return JSON.stringify(rest);
}
