import { annotations } from '../../common/well-known.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { ConfiguredCloud } from './configured-cloud.ts';
import { type NodeView, readiness } from './node-view.ts';
import { isScopeIn, parseRecord } from './scope-record.ts';

const maxCanaries = 3;

/** What the last look at a Node under suspicion came to; undefined where there was none. */
export type LastAnswers = (nodeName: string) => { readonly answer: Lookup['state'] | undefined } | undefined;

/** Whether the Node's instance was once found in this scope, perhaps by a version that called it otherwise. */
export function isRecordedIn(node: NodeView, scope: string, configured: readonly ConfiguredCloud[]): boolean {
  const recorded = parseRecord(node.annotations[annotations.instance])?.scope;
  return node.providerID !== '' && recorded !== undefined && isScopeIn(configured, recorded, scope);
}

/**
 * Up to three Nodes whose instances were found in this scope before: if the cloud cannot show one of them, its "absent" means nothing.
 * Those whose kubelets speak and that are not under suspicion come first. Where the cloud denies every instance, as a wrong credential
 * does, all are suspects, and their living Nodes are the very proof that it errs. Silent ones come last: their VMs may run all the same.
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
 * What the other recorded instances that were asked for in the same pass say of one absence. Pure.
 *
 * @param others all that were asked for, the one in question too
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
    // It is no proof that requests by id find what is there, but the credential sees the place.
    if (lookup?.state === 'gone') canary = 'none';
    else canary ??= 'not-found';
  }
  return canary ?? 'none';
}

/**
 * Whether other recorded instances of the scope were found in the same pass by the same kind of request. `none` = there is no other
 * one, or the cloud shows another one in a terminal state.
 */
export type Canary = 'found' | 'not-found' | 'none';
