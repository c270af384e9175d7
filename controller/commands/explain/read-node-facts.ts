import { names } from '../../../common/well-known.ts';
import type { KubeApi, KubeObject } from '../../kube/api.ts';
import { nodePath } from '../../kube/node-path.ts';
import { viewNode } from '../../model/node-view.ts';
import type { Hidden, NodeFacts } from './facts.ts';
import { type FactsOptions, readOptional, readSurroundings } from './surroundings.ts';

interface NodeLease extends KubeObject {
  readonly spec?: { readonly renewTime?: string };
}

/**
 * Reads the facts about a Node. Throws a KubeError when the Node cannot be read; other objects that may not be read are
 * listed as hidden.
 */
export async function readNodeFacts(api: KubeApi, name: string, options: FactsOptions): Promise<NodeFacts> {
  const raw = await api.call<{ readonly metadata: { readonly finalizers?: readonly string[] } }>({
    verb: 'get',
    path: nodePath(name),
  });
  const { finalizers = [] } = raw.metadata;
  const node = viewNode(raw);
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${names.nodeLeaseNamespace}/leases`;
  const lease = `${leases}/${encodeURIComponent(name)}`;
  const denied: Hidden[] = [];
  const [nodeLease, surroundings] = await Promise.all([
    readOptional<NodeLease>(api, lease, () => void denied.push('node lease')),
    readSurroundings(api, { kind: 'Node', name, uid: node.uid, eventNamespace: 'default' }, options),
  ]);
  const hidden = [...surroundings.hidden, ...denied];
  return { ...surroundings, hidden, node, finalizers, nodeRenewTime: nodeLease?.spec?.renewTime ?? '' };
}
