import type { Log } from '../../common/process/log.ts';
import type { MetricsOf } from '../../common/process/metrics.ts';
import type { EventSink } from '../kube/event-sink.ts';
import type { volumeMetrics } from './metrics.ts';
import { type VolumeEventReason, volumeEventReasons } from './reasons.ts';
import type { VolumeView } from './volume-view.ts';

/** The PersistentVolumes that wait, and why: an event and a line of the log when the reason changes, and a metric. */
export interface WaitingVolumes {
  /** @returns how often in a row it waits for this reason, from 1 */
  begin(volume: VolumeView, reason: VolumeEventReason, why: string): number;
  end(uid: string): void;
}

export function createWaitingVolumes(parts: {
  readonly log: Log;
  readonly events: EventSink;
  readonly metrics: MetricsOf<typeof volumeMetrics>;
}): WaitingVolumes {
  const { log, events, metrics } = parts;
  const waiting = new Map<string, { readonly reason: VolumeEventReason; readonly why: string; tries: number }>();
  const counts = new Map<VolumeEventReason, number>();

  function count(reason: VolumeEventReason, by: number): void {
    const now = (counts.get(reason) ?? 0) + by;
    counts.set(reason, now);
    metrics.waiting.set({ reason }, now);
  }

  for (const reason of Object.keys(volumeEventReasons) as VolumeEventReason[]) count(reason, 0);

  function end(uid: string): void {
    const held = waiting.get(uid);
    if (held === undefined) return;
    waiting.delete(uid);
    count(held.reason, -1);
  }

  return {
    begin({ name, uid }, reason, why) {
      const held = waiting.get(uid);
      if (held?.reason === reason && (held.why === why || reason === 'VolumeLookupFailed')) {
        held.tries += 1;
        return held.tries;
      }
      end(uid);
      waiting.set(uid, { reason, why, tries: 1 });
      count(reason, 1);
      log.warn('volume waits for its labels', { volume: name, reason, why });
      const message = `PersistentVolume ${name} gets no zone and region: ${why}`;
      events.emit({ apiVersion: 'v1', kind: 'PersistentVolume', name, uid }, { type: 'Warning', reason, message });
      return 1;
    },
    end,
  };
}
