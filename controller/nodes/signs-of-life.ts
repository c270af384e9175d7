import { names } from '../../common/well-known.ts';
import { isNotFound, type KubeApi } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';
import { type NodeView, viewNode } from '../model/node-view.ts';
import { type Silence, silenceOf } from './silence.ts';

/** A Node and its lease as the API server has them now, never from a cache. */
export interface LiveNode {
  /** Undefined when the Node is gone. */
  readonly node: NodeView | undefined;
  /** The lease's renewTime as text; empty when there is no lease. */
  readonly renewTime: string;
  /** From the lease's duration. */
  readonly silence: Silence;
  /** The time on the API server, which stamps the Node's creation; undefined when its answers had no date. */
  readonly serverNowMs: number | undefined;
}

interface Lease {
  readonly spec?: { readonly renewTime?: string; readonly leaseDurationSeconds?: unknown };
}

/** Reads both live. Throws a KubeError when either cannot be read: that proves nothing about the Node. */
export async function readSignsOfLife(api: KubeApi, nodeName: string): Promise<LiveNode> {
  let serverNowMs: number | undefined;
  const onDate = (ms: number) => {
    serverNowMs = Math.min(ms, serverNowMs ?? ms);
  };
  const read = <T>(path: string) =>
    api.call<T>({ verb: 'get', path, onDate }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.nodeLeaseNamespace}/leases`;
  const [node, lease] = await Promise.all([
    read(nodePath(nodeName)),
    read<Lease>(`${leases}/${encodeURIComponent(nodeName)}`),
  ]);
  return {
    node: node === undefined ? undefined : viewNode(node),
    renewTime: lease?.spec?.renewTime ?? '',
    silence: silenceOf(lease?.spec?.leaseDurationSeconds),
    serverNowMs,
  };
}
