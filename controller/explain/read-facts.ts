import { isPauseValue, names } from '../../common/well-known.ts';
import { isNotFound, type KubeApi, type KubeObject } from '../kube/api.ts';
import { viewNode } from '../nodes/node-view.ts';
import { nodePath } from '../nodes/write-node.ts';
import type { NodeFacts } from './explain-node.ts';

interface Lease extends KubeObject {
  readonly spec?: { readonly holderIdentity?: string; readonly renewTime?: string };
}

interface EventObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

export interface FactsOptions {
  readonly nowMs: number;
  readonly namespace: string;
  readonly leaseNamespace: string;
  readonly leaseName: string;
}

/** Reads what bears on a node. Throws a KubeError when the Node cannot be read; what else may not be read is left out. */
export async function readNodeFacts(api: KubeApi, name: string, options: FactsOptions): Promise<NodeFacts> {
  const node = viewNode(await api.call({ verb: 'get', path: nodePath(name) }));
  const optional = async <T>(path: string, query: Record<string, string> = {}): Promise<T | undefined> => {
    try {
      return await api.call<T>({ verb: 'get', path, query });
    } catch (error) {
      if (isNotFound(error) || (error instanceof Error && 'status' in error && error.status === 403)) return undefined;
      throw error;
    }
  };
  const leases = '/apis/coordination.k8s.io/v1/namespaces';
  const [nodeLease, leader, config, events] = await Promise.all([
    optional<Lease>(`${leases}/${names.nodeLeaseNamespace}/leases/${encodeURIComponent(name)}`),
    optional<Lease>(`${leases}/${options.leaseNamespace}/leases/${options.leaseName}`),
    optional<{ readonly data?: Readonly<Record<string, string>> }>(
      `/api/v1/namespaces/${options.namespace}/configmaps/${names.certificates}`,
    ),
    optional<{ readonly items: readonly EventObject[] }>('/api/v1/namespaces/default/events', {
      fieldSelector: `involvedObject.kind=Node,involvedObject.name=${name}`,
    }),
  ]);
  return {
    node,
    nodeRenewTime: nodeLease?.spec?.renewTime ?? '',
    leader: leader && {
      identity: leader.spec?.holderIdentity ?? '',
      renewTime: leader.spec?.renewTime ?? '',
      annotations: leader.metadata.annotations ?? {},
    },
    pausedForAll: isPauseValue(config?.data?.[names.pausedKey]),
    events: (events?.items ?? [])
      .map(({ type = '', reason = '', message = '', lastTimestamp, eventTime }) => ({
        time: lastTimestamp ?? eventTime ?? '',
        type,
        reason,
        message,
      }))
      .sort((a, b) => (a.time < b.time ? -1 : 1))
      .slice(-5),
    nowMs: options.nowMs,
  };
}
