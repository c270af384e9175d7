import type { CloudError } from '../../common/cloud-error.ts';
import type { Lookup } from '../clouds/cloud.ts';
import { type InstanceRef, refKey } from '../clouds/cloud.ts';
import { isUninitialized, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { append } from '../runtime/append.ts';
import type { NodeContext } from './node-context.ts';

export interface RefreshOptions {
  /** Called for every answer except `unknown`. */
  answered(node: NodeView, lookup: Lookup, scope: string): void;
  /** Called for a Node that may be in several scopes: its scopes are looked up one by one. */
  undecided(node: NodeView): void;
  /** Called for every node whose cloud did not answer. */
  unknown?(node: NodeView, error: CloudError): void;
}

/**
 * Reads the instances of all initialised, owned Nodes again in one batched lookup per scope, so that the number of
 * calls depends on the cloud's page size and not on the number of Nodes. Reads only. Resolves when every scope has
 * answered or failed.
 */
export async function refreshInstances(
  context: Pick<NodeContext, 'nodes' | 'resolver' | 'log'>,
  options: RefreshOptions,
): Promise<void> {
  const byScope = new Map<string, NodeView[]>();
  for (const node of context.nodes.values()) {
    if (node.providerID === '' || isUninitialized(node) || node.deleting) continue;
    const ownership = ownershipOf(node, context.resolver.configured);
    if (ownership.kind !== 'owned') continue;
    const [cloud, ...others] = ownership.clouds.filter(({ api }) => api !== undefined);
    if (cloud === undefined) continue;
    if (others.length > 0) options.undecided(node);
    else append(byScope, cloud.scope, node);
  }
  await Promise.all([...byScope].map(([scope, nodes]) => refreshScope(context, scope, nodes, options)));
}

async function refreshScope(
  { resolver, log }: Pick<NodeContext, 'resolver' | 'log'>,
  scope: string,
  nodes: readonly NodeView[],
  options: RefreshOptions,
): Promise<void> {
  const ref = (node: NodeView): InstanceRef => ({ by: 'providerID', providerID: node.providerID });
  const answers = await resolver.lookupsOf(scope)?.lookupAll(nodes.map(ref));
  const unknown = new Map<string, number>();
  for (const node of nodes) {
    const lookup = answers?.get(refKey(ref(node)));
    if (lookup === undefined) continue;
    if (lookup.state === 'unknown') {
      unknown.set(lookup.error.kind, (unknown.get(lookup.error.kind) ?? 0) + 1);
      options.unknown?.(node, lookup.error);
    } else options.answered(node, lookup, scope);
  }
  if (unknown.size > 0)
    log.warn('instances not refreshed', { scope, unknown: Object.fromEntries(unknown), nodes: nodes.length });
}
