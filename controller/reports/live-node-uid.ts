import { isNotFound, type KubeApi, type KubeObject } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';

export interface LiveNodeUidParts {
  readonly api: KubeApi;
  /** The cache of Nodes. */
  readonly nodes: { readonly synced: boolean; get(name: string): { readonly uid: string } | undefined };
}

/**
 * UID of a Node from the cache, or live from the API server if the cache does not have it; undefined when there is
 * none. Throws a KubeError. Safe to repeat.
 */
export function createLiveNodeUid({ api, nodes }: LiveNodeUidParts): (nodeName: string) => Promise<string | undefined> {
  return async function liveNodeUid(nodeName) {
    const cached = nodes.get(nodeName)?.uid;
    if (cached !== undefined && nodes.synced) return cached;
    try {
      return (await api.call<KubeObject>({ verb: 'get', path: nodePath(nodeName) })).metadata.uid;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
}
