import { isConflict, isKubeError, isNotFound, type KubeObject } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';
import type { Cidr } from '../model/cidr.ts';
import { isPaused, type NodeView } from '../model/node-view.ts';
import { eventTarget } from '../nodes/node-context.ts';
import { readNode } from '../nodes/write-node.ts';
import type { IpamContext } from './ipam-context.ts';
import type { IpamEventReason } from './reasons.ts';

/** `taken`: another writer gave the Node ranges. `dropped`: it is deleted, terminating, paused or re-created. */
export type WrittenRanges =
  | { readonly kind: 'written' | 'dropped' }
  | { readonly kind: 'taken'; readonly node: NodeView };

/** Writes pod ranges to Nodes that have none. */
export interface RangeWriter {
  /**
   * Guarded by resourceVersion: ranges that the Node has are never replaced. Throws a KubeError, and reports it once
   * per Node. Safe to repeat with the same ranges.
   */
  write(node: NodeView, cidrs: readonly Cidr[]): Promise<WrittenRanges>;
  forget(uid: string): void;
}

const maxTries = 5;

export function createRangeWriter({ api, log, events }: Pick<IpamContext, 'api' | 'log' | 'events'>): RangeWriter {
  /** By uid: Nodes whose failure was reported. */
  const reported = new Set<string>();

  async function attempt(first: NodeView, texts: readonly string[]): Promise<WrittenRanges> {
    let node = first;
    for (let tries = 1; ; tries += 1) {
      const body = {
        metadata: { resourceVersion: node.resourceVersion },
        spec: { podCIDR: texts[0], podCIDRs: texts },
      };
      const path = nodePath(node.name);
      try {
        await api.call<KubeObject>({ verb: 'patch', path, patch: 'merge', answer: 'metadata', body });
        log.info('pod range allocated', { node: node.name, cidrs: texts });
        return { kind: 'written' };
      } catch (error) {
        if (!isConflict(error) || tries >= maxTries) throw error;
        const live = await readNode(api, first.name);
        if (live.uid !== first.uid) return { kind: 'dropped' };
        if (live.podCIDRs.length > 0) return { kind: 'taken', node: live };
        if (live.deleting || isPaused(live)) return { kind: 'dropped' };
        node = live;
      }
    }
  }

  function report(node: NodeView, error: unknown): void {
    if (isWithheld(error) || reported.has(node.uid)) return;
    reported.add(node.uid);
    const why = error instanceof Error ? error.message : String(error);
    const message = `Node ${node.name} did not get its pod range: ${why}`;
    const reason: IpamEventReason = 'CIDRAssignmentFailed';
    events.emit(eventTarget(node), { type: 'Warning', reason, message });
  }

  return {
    async write(node, cidrs) {
      try {
        const written = await attempt(
          node,
          cidrs.map(({ text }) => text),
        );
        reported.delete(node.uid);
        return written;
      } catch (error) {
        if (isNotFound(error)) return { kind: 'dropped' };
        report(node, error);
        throw error;
      }
    },
    forget: (uid) => void reported.delete(uid),
  };
}

/** Whether there was no answer, or one that does not say whether the write was done. */
export function mayHaveHappened(error: unknown): boolean {
  if (!isKubeError(error)) return true;
  return !isWithheld(error) && (error.status === 0 || error.status >= 500);
}

/** Whether the write was never sent: paused, or the lease is running out. */
function isWithheld(error: unknown): boolean {
  return isKubeError(error) && error.status === 0 && (error.reason === 'Fenced' || error.reason === 'Withheld');
}
