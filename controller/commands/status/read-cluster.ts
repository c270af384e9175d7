import { isKubeError, type KubeApi } from '../../kube/api.ts';
import { createInterner } from '../../kube/intern.ts';
import { readPages } from '../../kube/paged-list.ts';
import { type NodeView, unreadOfNode, viewNode } from '../../model/node-view.ts';
import { type ServiceView, unreadOfService, viewService } from '../../model/service-view.ts';
import { mayHaveBalancer } from '../../services/may-have-balancer.ts';
import type { Surroundings } from '../explain/facts.ts';
import { type FactsOptions, readSurroundings } from '../explain/surroundings.ts';

/** What the API server says about the cluster. */
export interface Cluster extends Surroundings {
  /** Undefined: they may not be read. */
  readonly nodes: readonly NodeView[] | undefined;
  /** Those that have, or may have, a load balancer. Undefined: they may not be read. */
  readonly services: readonly ServiceView[] | undefined;
}

const pageSize = 500;

/** Reads the leader, the pause, all Nodes, and the Services of load balancers. Throws a KubeError. */
export async function readCluster(api: KubeApi, options: FactsOptions, signal: AbortSignal): Promise<Cluster> {
  const lease = { kind: 'Lease', name: options.leaseName, eventNamespace: options.leaseNamespace };
  const [surroundings, nodes, services] = await Promise.all([
    readSurroundings(api, lease, options),
    readNodes(api, signal),
    readAll(api, signal, '/api/v1/services', unreadOfService, (raw) => viewService(raw, () => false)),
  ]);
  return { ...surroundings, nodes, services: services?.filter(mayHaveBalancer) };
}

/** Undefined: they may not be read. Throws a KubeError. */
export async function readNodes(api: KubeApi, signal: AbortSignal): Promise<readonly NodeView[] | undefined> {
  const intern = createInterner();
  return readAll(api, signal, '/api/v1/nodes', unreadOfNode, (raw) => viewNode(raw, intern));
}

async function readAll<T>(
  api: KubeApi,
  signal: AbortSignal,
  path: string,
  unread: readonly string[],
  view: (raw: unknown) => T,
): Promise<readonly T[] | undefined> {
  const all: T[] = [];
  const onPage = (items: readonly unknown[]) => void all.push(...items.map(view));
  try {
    await readPages({ api, path, query: {}, pageSize, unread, signal, onPage });
    return all;
  } catch (error) {
    if (isKubeError(error) && error.status === 403) return undefined;
    throw error;
  }
}
