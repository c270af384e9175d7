import type { Informer } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';

/** Which Node showed its pod ranges first. */
export interface ClaimOrder {
  /** Grows with time; 0 for Nodes that had them when the cache was filled. */
  of(node: Pick<NodeView, 'uid'>): number;
}

/**
 * The age of a Node alone would let an old one without a range take that which a new one was given a moment ago. Kept
 * in memory: a new leader finds routes where it matters.
 */
export function createClaimOrder(nodes: Pick<Informer<NodeView>, 'subscribe' | 'synced'>): ClaimOrder {
  const claimed = new Map<string, number>();
  let last = 0;
  let listening = false;
  nodes.subscribe((event) => {
    if (event.type === 'deleted') {
      claimed.delete(event.old.uid);
      return;
    }
    const { uid, podCIDRs } = event.object;
    if (!listening || !nodes.synced || podCIDRs.length === 0) return;
    if (event.type === 'updated' && event.old.podCIDRs.join() === podCIDRs.join()) return;
    last += 1;
    claimed.set(uid, last);
  });
  listening = true;
  return { of: ({ uid }) => claimed.get(uid) ?? 0 };
}
