import type { Informer } from '../kube/informer.ts';
import type { NodeView } from '../model/node-view.ts';

/** The order in which Nodes claimed their pod ranges. */
export interface ClaimOrder {
  /** Grows with time; 0 for Nodes that had ranges when the cache was filled. */
  of(node: Pick<NodeView, 'uid'>): number;
}

/**
 * By age alone, an old Node without a range could take the range that a new Node got a moment ago. In memory only: a
 * new leader finds existing routes where the order matters.
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
