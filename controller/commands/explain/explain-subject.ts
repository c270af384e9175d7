import type { KubeApi } from '../../kube/api.ts';
import type { RowOptions } from '../status/cluster-status.ts';
import { explainNode } from './explain-node.ts';
import { explainService, hasMembers, type ServiceExplanation } from './explain-service.ts';
import type { Explanation } from './explanation.ts';
import type { ReadMembers } from './read-members.ts';
import { readNodeFacts } from './read-node-facts.ts';
import { readServiceFacts } from './read-service-facts.ts';
import type { FactsOptions } from './surroundings.ts';
import { withLeaderFault } from './with-leader-fault.ts';

/** A Node, or a Service with its namespace. */
export type NamedSubject =
  | { readonly kind: 'node'; readonly name: string }
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string };

/** Reads the facts about a Node or Service and explains them. Throws a KubeError, 404 where there is none. */
export async function explainSubject(
  api: KubeApi,
  subject: NamedSubject,
  options: FactsOptions & RowOptions & { readonly readMembers: ReadMembers },
): Promise<Explanation | ServiceExplanation> {
  if (subject.kind === 'service') {
    const facts = await readServiceFacts(api, subject, options);
    const members = hasMembers(facts) ? await options.readMembers(facts.service) : undefined;
    return withLeaderFault(explainService({ ...facts, members }), facts);
  }
  const { moduleNames } = options;
  const facts = await readNodeFacts(api, subject.name, options);
  return withLeaderFault(explainNode({ ...facts, moduleNames }), facts);
}
