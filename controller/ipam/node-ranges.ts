import { errorFields } from '../../common/process/log.ts';
import { isConflict, isKubeError, isNotFound, type KubeObject } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';
import type { Cidr } from '../model/cidr.ts';
import { isPaused, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { eventTarget } from '../nodes/node-context.ts';
import { readNode } from '../nodes/write-node.ts';
import type { IpamContext } from './ipam-context.ts';
import type { Owner, RangeAllocator } from './range-allocator.ts';
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
const maxTries = 5;

export function createNodeRanges(context: IpamContext, allocator: RangeAllocator): NodeRanges {
  const { api, log, nodes, events, metrics, configured } = context;
  const waitingNodes = new Set<string>();
  /** By uid: Nodes whose failure was reported. */
  const reported = new Set<string>();
  const invalid = { outside: new Set<string>(), overlaps: new Set<string>(), mask: new Set<string>() };
  let missingBefore: ReadonlySet<string> = new Set();

  function observe(node: NodeView): void {
    if (node.podCIDRs.length === 0) return;
    const { outside, overlaps, mask } = allocator.mark(node, node.podCIDRs);
    report(node, 'outside', 'CIDRNotInClusterCIDR', outside, 'is not inside a range of --cluster-cidr');
    report(node, 'mask', 'CIDRMaskDiffers', mask, 'has another mask than the configured one');
    report(node, 'overlaps', 'CIDROverlaps', overlaps, 'overlaps the range of another Node or of Services');
  }

  /**
   * Reports a fault once per Node. It does not stop the allocation: the range of such a Node takes nothing from the
   * others.
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
    reported.delete(uid);
    return allocator.release({ name, uid });
  }

  function satisfied(name: string): void {
    if (waitingNodes.delete(name)) metrics.waiting.set(waitingNodes.size);
  }

  /** Foreign Nodes get their ranges from their own controller. Nodes that may turn out to be foreign have to wait. */
  function isOurs(node: NodeView): boolean {
    const ownership = ownershipOf(node, configured);
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
      await give(node, given.cidrs);
    } catch (error) {
      if (isNotFound(error)) {
        allocator.release(node);
        return undefined;
      }
      if (!isWithheld(error)) failed(node, error);
      // Nothing was written, so another Node may get the range.
      if (!mayHaveHappened(error)) allocator.release(node);
      throw error;
    }
    reported.delete(node.uid);
    return undefined;
  }

  /**
   * Guarded by resourceVersion. A Node that got ranges meanwhile keeps those. After an ambiguous answer the ranges stay
   * allocated, and the next try with the same ranges decides.
   */
  async function give(first: NodeView, cidrs: readonly Cidr[]): Promise<void> {
    const texts = cidrs.map(({ text }) => text);
    let node = first;
    for (let attempt = 1; ; attempt += 1) {
      const body = {
        metadata: { resourceVersion: node.resourceVersion },
        spec: { podCIDR: texts[0], podCIDRs: texts },
      };
      try {
        await api.call<KubeObject>({
          verb: 'patch',
          path: nodePath(node.name),
          patch: 'merge',
          answer: 'metadata',
          body,
        });
        log.info('pod range allocated', { node: node.name, cidrs: texts });
        return;
      } catch (error) {
        if (!isConflict(error) || attempt >= maxTries) throw error;
        const live = await readNode(api, first.name);
        if (live.uid !== first.uid) {
          allocator.release(first);
          return;
        }
        if (live.podCIDRs.length > 0) {
          // This releases the ranges that the Node did not get.
          observe(live);
          return;
        }
        if (live.deleting || isPaused(live)) {
          allocator.release(first);
          return;
        }
        node = live;
      }
    }
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

  function failed(node: NodeView, error: unknown): void {
    if (reported.has(node.uid)) return;
    reported.add(node.uid);
    const why = error instanceof Error ? error.message : String(error);
    const message = `Node ${node.name} did not get its pod range: ${why}`;
    events.emit(eventTarget(node), {
      type: 'Warning',
      reason: 'CIDRAssignmentFailed' satisfies IpamEventReason,
      message,
    });
  }

  async function audit(): Promise<boolean> {
    const unseen = [...allocator.owners()].filter(({ name, uid }) => nodes.get(name)?.uid !== uid);
    let freed = false;
    for (const owner of unseen.filter(({ uid }) => missingBefore.has(uid))) {
      try {
        if ((await readNode(api, owner.name)).uid !== owner.uid) freed = forget(owner) || freed;
      } catch (error) {
        if (isNotFound(error)) freed = forget(owner) || freed;
        else log.debug('Node not read', { node: owner.name, ...errorFields(error) });
      }
    }
    missingBefore = new Set(unseen.map(({ uid }) => uid));
    return freed;
  }

  return { observe, removed: forget, reconcile, waiting: () => [...waitingNodes], audit };
}

/** Whether there was no answer, or one that does not say whether the write was done. */
function mayHaveHappened(error: unknown): boolean {
  if (!isKubeError(error)) return true;
  return !isWithheld(error) && (error.status === 0 || error.status >= 500);
}

/** Whether the write was never sent: paused, or the lease is running out. */
function isWithheld(error: unknown): boolean {
  return isKubeError(error) && error.status === 0 && (error.reason === 'Fenced' || error.reason === 'Withheld');
}
