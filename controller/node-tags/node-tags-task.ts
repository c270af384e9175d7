import type { Instance } from '../../common/instance.ts';
import { untilAborted } from '../../common/process/until.ts';
import type { InformerEvent } from '../kube/informer.ts';
import { instanceOf } from '../model/instance-claims.ts';
import { isPaused, type NodeView } from '../model/node-view.ts';
import type { LeaderTask } from '../runtime/leader-task.ts';
import { createWorkQueue, type WorkQueue } from '../runtime/work-queue.ts';
import { type NodeTagsContext, taggedBy } from './node-tags-context.ts';
import type { NodeTagsOptions } from './node-tags-options.ts';
import { createScopeTags, type ScopeTags } from './scope-tags.ts';

export interface NodeTagsTask extends LeaderTask {
  /** A lookup in this scope has found the instance, with all its tags. */
  seen(scope: string, instance: Instance): void;
}

/** Changes are collected this long, so that many Nodes share a call. */
const debounceMs = 1000;

/**
 * Gives the instances of Nodes the tags of `--tags`, and takes them away when the Node is deleted. It reads what the
 * loop for Nodes reads anyway; only a new Node and a deleted one need a lookup more.
 */
export function createNodeTagsTask(context: NodeTagsContext, options: NodeTagsOptions): NodeTagsTask {
  const { clock, random, log, nodes, resolver } = context;
  const served = resolver.configured.filter(({ api }) => api?.nodeTags);
  /** By instance: the names of the Nodes whose providerID names it. */
  const holders = new Map<string, Set<string>>();
  let queue: WorkQueue | undefined;

  const scopes = new Map<string, ScopeTags>();
  for (const { name, scope, api } of served) {
    const keyOf = (providerID: string) => instanceOf(name, providerID);
    const isHere = (node: NodeView | undefined): node is NodeView =>
      node !== undefined && taggedBy(node, resolver.configured)?.scope === scope;
    scopes.set(
      scope,
      createScopeTags(context, {
        scope,
        nodeTags: api!.nodeTags!,
        options,
        keyOf,
        nodesOf: (key) => [...(holders.get(key) ?? [])].map((node) => nodes.get(node)).filter(isHere),
        size: () => [...nodes.values()].filter(isHere).length,
        wake: () => queue?.enqueue(scope, { afterMs: debounceMs }),
      }),
    );
  }

  // On standbys too, so that a new leader knows which Nodes were deleted lately.
  nodes.subscribe(observe);

  function keysOf({ providerID }: NodeView): Set<string> {
    const accepting = served.filter((cloud) => cloud.accepts(providerID));
    return new Set(providerID === '' ? [] : accepting.map(({ name }) => instanceOf(name, providerID)));
  }

  function hold(node: NodeView): void {
    for (const key of keysOf(node)) holders.set(key, (holders.get(key) ?? new Set()).add(node.name));
  }

  function release(node: NodeView): void {
    for (const key of keysOf(node)) {
      const names = holders.get(key);
      names?.delete(node.name);
      if (names?.size === 0) holders.delete(key);
    }
  }

  function observe(event: InformerEvent<NodeView>): void {
    if (event.type === 'deleted') {
      release(event.old);
      const cloud = taggedBy({ ...event.old, deleting: false }, resolver.configured);
      if (cloud) scopes.get(cloud.scope)?.gone(event.old);
      return;
    }
    const { object: node } = event;
    const old = event.type === 'updated' ? event.old : undefined;
    if (old?.providerID !== node.providerID) {
      if (old) release(old);
      hold(node);
    }
    const cloud = queue && taggedBy(node, resolver.configured);
    if (cloud === undefined) return;
    if (old === undefined || taggedBy(old, resolver.configured) === undefined)
      void resolver.lookupsOf(cloud.scope)?.lookup({ by: 'providerID', providerID: node.providerID });
    else if (isPaused(old) !== isPaused(node)) queue?.enqueue(cloud.scope);
  }

  async function lead(signal: AbortSignal): Promise<void> {
    if (served.length === 0) return untilAborted(signal);
    await Promise.race([nodes.whenSynced(), untilAborted(signal)]);
    if (signal.aborted) return;
    queue = createWorkQueue({
      name: 'Tagging',
      clock,
      random,
      log,
      concurrency: served.length,
      reconcile: async (scope, ending) => scopes.get(scope)?.round(ending),
      ...(options.queueMetrics && { metrics: options.queueMetrics }),
    });
    for (const scope of scopes.keys()) queue.enqueue(scope);
    queue.start();
    await untilAborted(signal);
    const ended = queue;
    queue = undefined;
    await ended.stop();
    for (const scope of scopes.values()) scope.endTerm();
  }

  return {
    lead,
    progress: () => new Map(queue ? [['tagging', queue.lastProgressAt]] : []),
    seen: (scope, instance) => scopes.get(scope)?.seen(instance),
  };
}
