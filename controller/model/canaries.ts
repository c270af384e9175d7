import { annotations } from '../../common/well-known.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';
import { type NodeView, readiness } from './node-view.ts';
import { isScopeIn, parseRecord } from './scope-record.ts';

const maxCanaries = 3;

/** The last lookup answer for a suspect; undefined for a Node that is no suspect. */
export type LastAnswers = (nodeName: string) => { readonly answer: Lookup['state'] | undefined } | undefined;

/** Whether the Node's instance was once found in this scope, possibly recorded under a former name of the scope. */
export function isRecordedIn(node: NodeView, scope: string, configured: readonly ConfiguredCloud[]): boolean {
  const recorded = parseRecord(node.annotations[annotations.instance])?.scope;
  return node.providerID !== '' && recorded !== undefined && isScopeIn(configured, recorded, scope);
}

/**
 * Up to three Nodes whose instances were found in this scope before: if a lookup finds none of them, its "absent"
 * proves nothing. Ready Nodes that are not suspects come first. With a wrong credential every instance is absent and
 * every Node is a suspect, and the Ready ones among them show that the credential is wrong. Nodes with silent kubelets
 * come last, since their VMs may run nevertheless.
 */
export function pickCanaries(
  nodes: Iterable<NodeView>,
  scope: string,
  configured: readonly ConfiguredCloud[],
  suspected: LastAnswers = () => undefined,
): InstanceRef[] {
  const ranks: NodeView[][] = [[], [], [], [], []];
  for (const node of nodes) {
    const rank = suspicionRank(node, suspected);
    const held = ranks[rank]!;
    if (held.length === maxCanaries || node.deleting || !isRecordedIn(node, scope, configured)) continue;
    held.push(node);
    if (rank === 0 && held.length === maxCanaries) break;
  }
  return ranks
    .flat()
    .slice(0, maxCanaries)
    .map(({ providerID }) => ({ by: 'providerID', providerID }));
}

function suspicionRank(node: NodeView, suspected: LastAnswers): number {
  const suspect = suspected(node.name);
  if (readiness(node) === 'True') return suspect === undefined ? 0 : 1;
  if (readiness(node) === 'False') return 2;
  return suspect?.answer === 'absent' || suspect?.answer === 'gone' ? 4 : 3;
}

/**
 * What the other recorded instances of the same pass say about one absence. Pure.
 *
 * @param others all that were looked up, possibly including `self`
 */
export function canaryOf(
  self: InstanceRef,
  others: Iterable<InstanceRef>,
  answers: ReadonlyMap<string, Lookup>,
): Canary {
  const own = refKey(self);
  let canary: Canary | undefined;
  for (const other of others) {
    const key = refKey(other);
    if (key === own) continue;
    const lookup = answers.get(key);
    if (lookup?.state === 'found' && lookup.request === 'id') return 'found';
    // It does not prove that requests by id find existing instances, but it proves that the credential sees the scope.
    if (lookup?.state === 'gone') canary = 'none';
    else canary ??= 'not-found';
  }
  return canary ?? 'none';
}

/**
 * Whether other recorded instances of the scope were found in the same pass by the same kind of request. `none` = there
 * is no other one, or the cloud shows another one in a terminal state.
 */
export type Canary = 'found' | 'not-found' | 'none';
