import type { Clock } from '../../common/process/clock.ts';
import type { NodeView } from '../model/node-view.ts';
import type { StoredReport } from '../reports/store.ts';

/**
 * Keeps the back-off of a waiting Node although events put it into the queue again and again: its kubelet's heartbeats,
 * and the conditions that we write ourselves. Only a change of the inputs of the last try ends the back-off early.
 */
export interface RetryBackoff {
  /** Milliseconds until the next try; 0 when it may start now. */
  remainingMs(nodeName: string, fingerprint: string): number;
  /** @param untilMs monotonic */
  close(nodeName: string, fingerprint: string, untilMs: number): void;
  forget(nodeName: string): void;
}

/** The inputs of a try, apart from the cloud. */
export function fingerprint(node: NodeView, stored: StoredReport | undefined): string {
  const { uid, providerID, labels, annotations, systemUuid } = node;
  const tainted = node.taints.map(({ key }) => key);
  return JSON.stringify([
    uid,
    providerID,
    labels,
    annotations,
    systemUuid,
    tainted,
    stored?.report.instance,
    stored?.report.smbiosUuid,
    stored?.attestation?.instance,
  ]);
}

export function createRetryBackoff(clock: Clock): RetryBackoff {
  const waitingNodes = new Map<string, { readonly fingerprint: string; readonly untilMs: number }>();
  return {
    remainingMs(nodeName, now) {
      const held = waitingNodes.get(nodeName);
      return held?.fingerprint === now ? Math.max(0, held.untilMs - clock.monotonic()) : 0;
    },
    close: (nodeName, now, untilMs) => waitingNodes.set(nodeName, { fingerprint: now, untilMs }),
    forget: (nodeName) => waitingNodes.delete(nodeName),
  };
}
