import { isPaused, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { eventTarget } from '../nodes/node-context.ts';
import type { IpamContext } from './ipam-context.ts';
import { createMissedDeletions } from './missed-deletions.ts';
import type { Owner, RangeAllocator } from './range-allocator.ts';
import { createRangeWriter, mayHaveHappened } from './range-writer.ts';
import type { IpamEventReason } from './reasons.ts';

/** Tracks the pod ranges of Nodes, and allocates ranges to Nodes without one. */
export interface NodeRanges {
  /** Records a Node as observed: its ranges count as allocated. */
  observe(node: NodeView): void;
  /** The Node was deleted. Returns whether a range was released. */
  removed(node: NodeView): boolean;
  /** Writes ranges to one Node, if it has none. Throws a KubeError, to be repeated. Safe to repeat at any time. */
  reconcile(name: string): Promise<{ readonly requeueAfterMs: number } | undefined>;
  /** Nodes that no free range was left for. */
  waiting(): readonly string[];
  /**
   * Releases the ranges of Nodes whose deletion was not observed. Returns whether a range was released. Never throws.
   */
  audit(): Promise<boolean>;
}

const pausedMs = 1500;
const waitMs = 60_000;

export function createNodeRanges(context: IpamContext, allocator: RangeAllocator): NodeRanges {
  const { log, nodes, events, metrics, resolver } = context;
  const writer = createRangeWriter(context);
  const waitingNodes = new Set<string>();
  const invalid = { outside: new Set<string>(), overlaps: new Set<string>(), mask: new Set<string>() };

  function observe(node: NodeView): void {
    if (node.podCIDRs.length === 0) return;
    const { outside, overlaps, mask } = allocator.mark(node, node.podCIDRs);
    report(node, 'outside', 'CIDRNotInClusterCIDR', outside, 'is not inside a range of --cluster-cidr');
    report(node, 'mask', 'CIDRMaskDiffers', mask, 'has another mask than the configured one');
    report(node, 'overlaps', 'CIDROverlaps', overlaps, 'overlaps the range of another Node or of Services');
  }

  /**
   * Reports a fault once per Node. It does not stop the allocation: the range of such a Node takes little or nothing
   * from the others.
   */
  function report(
    node: NodeView,
    fault: keyof typeof invalid,
    reason: IpamEventReason,
    cidrs: readonly string[],
    what: string,
  ): void {
    const known = invalid[fault].has(node.uid);
    if (cidrs.length === 0) {
      if (!known) return;
      invalid[fault].delete(node.uid);
    } else {
      if (known) return;
      invalid[fault].add(node.uid);
      const message = `pod range ${cidrs.join(', ')} of Node ${node.name} ${what}`;
      log.warn('invalid pod range', { node: node.name, reason, cidrs });
      events.emit(eventTarget(node), { type: 'Warning', reason, message });
    }
    measure(fault);
  }

  function measure(fault: keyof typeof invalid): void {
    for (const gauge of [metrics.invalidCidr, metrics.strange]) gauge.set({ fault }, invalid[fault].size);
  }

  function forget({ name, uid }: Owner): boolean {
    for (const fault of ['outside', 'overlaps', 'mask'] as const) if (invalid[fault].delete(uid)) measure(fault);
    satisfied(name);
    writer.forget(uid);
    return allocator.release({ name, uid });
  }

  function satisfied(name: string): void {
    if (waitingNodes.delete(name)) metrics.waiting.set(waitingNodes.size);
  }

  /** Foreign Nodes get their ranges from their own controller. Nodes that may turn out to be foreign have to wait. */
  function isOurs(node: NodeView): boolean {
    const ownership = ownershipOf(node, resolver.configured);
    return ownership.kind === 'owned' || (ownership.kind === 'claimable' && ownership.ours);
  }

  async function reconcile(name: string): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const node = nodes.get(name);
    if (node === undefined || node.deleting || node.podCIDRs.length > 0 || isPaused(node) || !isOurs(node)) {
      satisfied(name);
      return undefined;
    }
    if (context.paused()) return { requeueAfterMs: pausedMs };
    const given = allocator.allocate(node);
    if ('full' in given) return full(node, given.full);
    satisfied(name);
    try {
      const written = await writer.write(node, given.cidrs);
      // This releases the ranges that the Node did not get.
      if (written.kind === 'taken') observe(written.node);
      else if (written.kind === 'dropped') allocator.release(node);
    } catch (error) {
      // Nothing was written, so another Node may get the range. After an ambiguous answer it stays allocated, and the
      // next try with the same range decides.
      if (!mayHaveHappened(error)) allocator.release(node);
      throw error;
    }
    return undefined;
  }

  function full(node: NodeView, range: string): { readonly requeueAfterMs: number } {
    if (!waitingNodes.has(node.name)) {
      waitingNodes.add(node.name);
      metrics.waiting.set(waitingNodes.size);
      log.warn('no pod range is left', { node: node.name, range });
      const message = `Node ${node.name} gets no pod range: none is left in ${range}`;
      events.emit(eventTarget(node), {
        type: 'Warning',
        reason: 'CIDRNotAvailable' satisfies IpamEventReason,
        message,
      });
    }
    return { requeueAfterMs: waitMs };
  }

  const audit = createMissedDeletions(context, () => allocator.owners(), forget);
  return { observe, removed: forget, reconcile, waiting: () => [...waitingNodes], audit };
}
