import type { KubeApi } from '../kube/api.ts';
import { readPages } from '../kube/paged-list.ts';
import { type NodeView, unreadOfNode, viewNode } from './node-view.ts';

const pageSize = 100;

/**
 * Shows every Node as the API server has it at this moment, page by page; never from a cache. Throws a KubeError: then what was shown is not all there is.
 *
 * @param see called once for each
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

/** All of them. Throws a KubeError: then nothing is known. */
export async function liveNodes(api: KubeApi, signal: AbortSignal): Promise<readonly NodeView[]> {
  const found: NodeView[] = [];
  await eachLiveNode(api, signal, (node) => found.push(node));
  return found;
}
