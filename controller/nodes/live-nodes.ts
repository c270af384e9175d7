import type { KubeApi } from '../kube/api.ts';
import { readPages } from '../kube/paged-list.ts';
import { type NodeView, unreadOfNode, viewNode } from './node-view.ts';

const pageSize = 100;

/** All Nodes as the API server has them at this moment; never from a cache. Throws a KubeError: then nothing is known. */
export async function liveNodes(api: KubeApi, signal: AbortSignal): Promise<readonly NodeView[]> {
  const found: NodeView[] = [];
  await readPages({
    api,
    path: '/api/v1/nodes',
    query: {},
    pageSize,
    unread: unreadOfNode,
    signal,
    onPage: (items) => {
      for (const item of items) found.push(viewNode(item));
    },
  });
  return found;
}
