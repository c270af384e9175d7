import type { KubeApi } from '../kube/api.ts';
import { readPages } from '../kube/paged-list.ts';
import { type NodeView, unreadOfNode, viewNode } from './node-view.ts';

const pageSize = 100;

/**
 * Reads every Node live from the API server, page by page, never from a cache. Throws a KubeError: then some Nodes were
 * not read.
 *
 * @param see called once for each Node
 */
export async function eachLiveNode(api: KubeApi, signal: AbortSignal, see: (node: NodeView) => void): Promise<void> {
  await readPages({
    api,
    path: '/api/v1/nodes',
    query: {},
    pageSize,
    unread: unreadOfNode,
    signal,
    onPage: (items) => {
      for (const item of items) see(viewNode(item));
    },
  });
}

/** All Nodes. Throws a KubeError. */
export async function liveNodes(api: KubeApi, signal: AbortSignal): Promise<readonly NodeView[]> {
  const found: NodeView[] = [];
  await eachLiveNode(api, signal, (node) => found.push(node));
  return found;
}
