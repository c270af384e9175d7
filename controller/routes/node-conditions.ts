import { errorFields } from '../../common/process/log.ts';
import { isConflict, isNotFound } from '../kube/api.ts';
import { isOlder } from '../kube/resource-version.ts';
import { isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import { readNode, writeCondition } from '../nodes/write-node.ts';
import { networkChange, type RouteStatus } from './network-condition.ts';
import type { Requeue } from './requeue.ts';
import type { RouteContext } from './route-context.ts';

/** Updates the condition NetworkUnavailable of Nodes from their routes. */
export interface NodeConditions {
  /** Reconciles one Node, by name. Throws a KubeError, to be repeated. Safe to repeat. */
  reconcile(name: string): Promise<Requeue | undefined>;
  forget(name: string): void;
}

const lagMs = 500;
/** The longest time that the cache may lag behind our own write. After that the versions do not compare. */
const longestLagMs = 30_000;
const pausedMs = 1500;

export function createNodeConditions(
  context: RouteContext,
  routeStatusesOf: (node: NodeView) => readonly RouteStatus[],
): NodeConditions {
  const { api, clock, log, nodes } = context;
  const written = new Map<string, { readonly version: string; readonly atMs: number }>();

  /** Whether the cache shows the Node as it was before our last write. */
  function lags(node: NodeView): boolean {
    const last = written.get(node.name);
    if (last === undefined) return false;
    if (isOlder(node.resourceVersion, last.version) && clock.monotonic() - last.atMs < longestLagMs) return true;
    written.delete(node.name);
    return false;
  }

  async function reconcile(name: string): Promise<Requeue | undefined> {
    const node = nodes.get(name);
    if (node === undefined || isPaused(node) || isUninitialized(node)) return undefined;
    if (context.paused()) return { requeueAfterMs: pausedMs };
    if (networkChange(node, routeStatusesOf(node)) === undefined) return undefined;
    if (lags(node)) return { requeueAfterMs: lagMs };
    try {
      await write(node);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error)) throw error;
      // The cached Node is often one heartbeat behind.
      const live = await readNode(api, name);
      if (live.uid === node.uid && !isPaused(live) && !isUninitialized(live)) await write(live);
    }
    return undefined;
  }

  async function write(node: NodeView): Promise<void> {
    const desired = networkChange(node, routeStatusesOf(node));
    if (desired === undefined) return;
    const version = await writeCondition({ api, clock }, node, desired);
    if (version !== undefined) written.set(node.name, { version, atMs: clock.monotonic() });
    const { status, reason } = desired;
    log.info('network condition of a Node written', { node: node.name, unavailable: status, reason });
  }

  return {
    async reconcile(name) {
      try {
        return await reconcile(name);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        log.debug('condition not written', { node: name, ...errorFields(error) });
        throw error;
      }
    },
    forget: (name) => written.delete(name),
  };
}
