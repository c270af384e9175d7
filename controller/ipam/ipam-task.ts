import { backoffMs } from '../../common/process/backoff.ts';
import { sleep } from '../../common/process/clock.ts';
import { errorFields } from '../../common/process/log.ts';
import { untilAborted } from '../../common/process/until.ts';
import type { InformerEvent } from '../kube/informer.ts';
import { isAttested } from '../model/attested.ts';
import { eachLiveNode } from '../model/live-nodes.ts';
import { isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createWorkQueue, type QueueMetrics, type WorkQueue } from '../runtime/work-queue.ts';
import { createCloudRanges } from './cloud-ranges.ts';
import type { IpamContext } from './ipam-context.ts';
import type { IpamOptions } from './ipam-options.ts';
import { createNodeRanges, type NodeRanges } from './node-ranges.ts';
import { createRangeAllocator } from './range-allocator.ts';

export type IpamTaskOptions = IpamOptions & {
  /** Nodes written at once. Default 30, as upstream. */
  readonly concurrentNodes?: number;
  readonly queueMetrics?: QueueMetrics | undefined;
};

interface Term {
  readonly ranges: NodeRanges;
  readonly queue: WorkQueue;
}

/** How often the allocated ranges are compared with the existing Nodes. */
const auditMs = 300_000;
/** A Node that waits for a batched lookup occupies a slot in the queue. */
const lookupsInProgress = 4096;

/**
 * Gives every owned Node its pod ranges: a part of the cluster's, which is released when the Node is deleted, or those
 * of its instance.
 */
export function createIpamTask(context: IpamContext, options: IpamTaskOptions): LeaderTask {
  const { api, clock, random, log, nodes } = context;
  const { concurrentNodes = 30 } = options;
  let term: Term | undefined;

  nodes.subscribe((event) => {
    if (term) observe(term, event);
  });

  function observe({ ranges, queue }: Term, event: InformerEvent<NodeView>): void {
    if (event.type === 'deleted') {
      if (ranges.removed(event.old)) for (const name of ranges.waiting()) queue.enqueue(name);
    } else if (event.type === 'added' || concernsRanges(event.old, event.object)) {
      ranges.observe(event.object);
      queue.enqueue(event.key);
    }
  }

  /**
   * Reads the ranges of all Nodes live: our cache may lack allocations of the previous leader, so the list has to be
   * newer than the end of its term.
   */
  async function readHeld(ranges: NodeRanges, signal: AbortSignal): Promise<void> {
    for (let failures = 0; ; ) {
      try {
        await eachLiveNode(api, signal, (node) => ranges.observe(node));
        return;
      } catch (error) {
        signal.throwIfAborted();
        failures += 1;
        const restMs = backoffMs(failures, { firstMs: 500, maxMs: 30_000, random });
        log.warn('Nodes not listed; no pod range is allocated before', { failures, ...errorFields(error) });
        await sleep(clock, restMs, signal);
      }
    }
  }

  async function lead(signal: AbortSignal): Promise<void> {
    await Promise.race([nodes.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    const allocates = 'ranges' in options;
    const ranges = allocates
      ? createNodeRanges(context, createRangeAllocator(options, context.metrics))
      : createCloudRanges(context, { ...options, writesAtOnce: concurrentNodes });
    const queue = createWorkQueue({
      name: 'cidrallocator_node',
      clock,
      random,
      log,
      concurrency: allocates ? concurrentNodes : lookupsInProgress,
      reconcile: (name) => ranges.reconcile(name),
      ...(options.queueMetrics && { metrics: options.queueMetrics }),
    });
    // Events of the watch are recorded from here on. Nothing is allocated before the list is complete.
    const current = { ranges, queue };
    term = current;
    try {
      await readHeld(ranges, signal);
      for (const node of nodes.values()) observe(current, { type: 'added', key: node.name, object: node });
      queue.start();
      while (!signal.aborted) {
        await sleep(clock, auditMs, signal);
        if (await ranges.audit()) for (const name of ranges.waiting()) queue.enqueue(name);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      term = undefined;
      await queue.stop();
      const { waiting, invalidCidr, strange } = context.metrics;
      for (const gauge of [waiting, invalidCidr, strange]) gauge.reset();
    }
  }

  return {
    lead,
    progress: () => new Map(term ? [['nodeipam', term.queue.lastProgressAt]] : []),
  };
}

function concernsRanges(old: NodeView, node: NodeView): boolean {
  return (
    old.uid !== node.uid ||
    old.podCIDRs.join() !== node.podCIDRs.join() ||
    old.providerID !== node.providerID ||
    isUninitialized(old) !== isUninitialized(node) ||
    isPaused(old) !== isPaused(node) ||
    isAttested(old) !== isAttested(node)
  );
}
