import { names } from '../../common/well-known.ts';
import { isNotFound, type KubeApi } from '../kube/api.ts';
import type { NodeView } from './node-view.ts';
import { readNode } from './write-node.ts';

/** A Node and its lease, as the API server holds them at this moment: never from a cache. */
export interface LiveNode {
  /** Undefined when the Node is gone. */
  readonly node: NodeView | undefined;
  /** The lease's renewTime as text; empty when there is no lease. */
  readonly renewTime: string;
}

interface Lease {
  readonly spec?: { readonly renewTime?: string };
}

/** Throws a KubeError when either cannot be read: then nothing is known, which is no proof of death. */
export async function readLife(api: KubeApi, nodeName: string): Promise<LiveNode> {
  const absentAsUndefined = (error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  };
  const [node, lease] = await Promise.all([
    readNode(api, nodeName).catch(absentAsUndefined),
    api
      .call<Lease>({
        verb: 'get',
        path: `/apis/coordination.k8s.io/v1/namespaces/${names.nodeLeaseNamespace}/leases/${encodeURIComponent(nodeName)}`,
      })
      .catch(absentAsUndefined),
  ]);
  return { node, renewTime: lease?.spec?.renewTime ?? '' };
}
