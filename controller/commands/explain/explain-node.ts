import { cloudOf } from '../../../common/provider-id/registry.ts';
import { annotations, conditions, names } from '../../../common/well-known.ts';
import {
  type ConditionView,
  conditionOf,
  instanceMissing,
  isPaused,
  isUninitialized,
  type NodeView,
} from '../../model/node-view.ts';
import { parseRecord } from '../../model/scope-record.ts';
import { powerTaintsOf } from '../../nodes/power-taints.ts';
import {
  type InitializedReason,
  type InterruptionReason,
  initializedReasons,
  interruptionReasons,
  type MissingReason,
  missingReasons,
  type ReasonInfo,
} from '../../nodes/reasons.ts';
import { type RouteReason, routeReasons } from '../../routes/reasons.ts';
import { endPause } from './end-pause.ts';
import type { Explanation } from './explanation.ts';
import type { NodeFacts } from './facts.ts';
import { leaderFault } from './leader.ts';
import { listNodeFacts } from './list-node-facts.ts';

/** Explains the state of a Node from the data of the API server alone. Pure. */
export function explainNode(facts: NodeFacts): Explanation {
  return { node: facts.node.name, ...verdict(facts), facts: listNodeFacts(facts), events: facts.events };
}

type Verdict = Pick<Explanation, 'state' | 'reason' | 'why' | 'remedy'>;

function verdict(facts: NodeFacts): Verdict {
  const { node, pausedForAll } = facts;
  const { providerID } = node;
  const isForeign = providerID !== '' && cloudOf(providerID, facts.moduleNames) === undefined;
  // Without our condition, whatever else it shows was written by others.
  if (isForeign && conditionOf(node, conditions.cloudInitialized) === undefined)
    return {
      state: 'foreign',
      reason: '',
      why:
        `no cloud of Mooring, and none of --cloud-module here, accepts its providerID ${providerID}: it is never ` +
        'changed',
      remedy: '',
    };
  if (node.deleting) return deletedElsewhere(facts);
  if (pausedForAll) {
    return {
      state: 'paused',
      reason: 'Paused',
      why: `everything is paused (ConfigMap ${names.certificates}, key ${names.pausedKey})`,
      remedy: endPause(facts),
    };
  }
  const missing = conditionOf(node, instanceMissing);
  if (missing?.status === 'True') {
    const known: ReasonInfo | undefined = missingReasons[missing.reason as MissingReason];
    const { why, ...told } = verdictOf(missing, known);
    return { state: 'missing', ...told, why: isPaused(node) ? `${why}; ${pausedBy(node)}` : why };
  }
  if (isPaused(node)) {
    return {
      state: 'paused',
      reason: 'Paused',
      why: pausedBy(node),
      remedy: `To go on: kubectl annotate node ${node.name} ${annotations.paused}-`,
    };
  }
  const shown = conditionOf(node, conditions.cloudInitialized);
  const known: ReasonInfo | undefined = shown && initializedReasons[shown.reason as InitializedReason];
  if (isUninitialized(node)) {
    if (shown && shown.status !== 'True') return { state: 'waiting', ...verdictOf(shown, known) };
    return { state: 'waiting', reason: '', ...whyUnseen(facts) };
  }
  if (powerTaintsOf(node).shutdown) {
    return {
      state: 'powered off',
      reason: 'ShutdownTaintAdded',
      why: 'the cloud shows its VM as powered off',
      remedy: 'Start the VM. The taint is then removed.',
    };
  }
  if (shown && shown.status !== 'True') return { state: 'waiting', ...verdictOf(shown, known) };
  const told = shown ? { state: 'initialized' as const, ...verdictOf(shown, known) } : initialisedElsewhere(facts);
  return told.state === 'foreign' ? told : { ...told, ...(networkFault(node) ?? interruption(node)) };
}

function pausedBy({ annotations: held }: NodeView): string {
  return `the Node carries ${annotations.paused}=${held[annotations.paused]}: nothing but its deletion goes on`;
}

/** A Node with neither the uninitialized taint nor our condition. Which clouds are served, the leader alone knows. */
function initialisedElsewhere({ node, moduleNames }: NodeFacts): Verdict {
  const scope = parseRecord(node.annotations[annotations.instance])?.scope;
  if (scope !== undefined) {
    const why = `another controller initialised it, and its instance was found in ${scope}`;
    return { state: 'initialized', reason: '', why, remedy: '' };
  }
  const cloud = cloudOf(node.providerID, moduleNames);
  if (cloud !== undefined) {
    const why =
      'it registered without the uninitialized taint, or another controller initialised it. Where ' +
      `${cloud} is served, it is kept up to date and deleted with its VM once its instance was found; that has not ` +
      'been recorded yet';
    return { state: 'initialized', reason: '', why, remedy: '' };
  }
  const why =
    'it has neither a providerID of a cloud nor the uninitialized taint nor our condition: it belongs to another ' +
    'controller or to no cloud at all; it is never changed';
  return { state: 'foreign', reason: '', why, remedy: '' };
}

/** The controller does nothing with a Node that is being deleted. */
function deletedElsewhere({ finalizers = [] }: NodeFacts): Verdict {
  const waits =
    finalizers.length === 0 ? '' : `, and stays until these finalizers are removed: ${finalizers.join(', ')}`;
  const remedy = finalizers.length === 0 ? '' : 'Check the controllers that set the finalizers.';
  return { state: 'deleting', reason: '', why: `it is being deleted${waits}`, remedy };
}

/** That the cloud ends or interrupts the VM of an initialised Node. */
function interruption(node: NodeView): Omit<Verdict, 'state'> | undefined {
  const shown = conditionOf(node, conditions.interruption);
  return shown?.status === 'True'
    ? verdictOf(shown, interruptionReasons[shown.reason as InterruptionReason])
    : undefined;
}

/** Why pods of an initialised Node are not reachable, if its routes are the reason. */
function networkFault(node: NodeView): Omit<Verdict, 'state'> | undefined {
  const shown = conditionOf(node, conditions.networkUnavailable);
  if (shown === undefined || shown.reason === 'RouteCreated') return undefined;
  const known = Object.hasOwn(routeReasons, shown.reason) ? routeReasons[shown.reason as RouteReason] : undefined;
  return known && verdictOf(shown, known);
}

function verdictOf({ reason, message }: ConditionView, known: ReasonInfo | undefined): Omit<Verdict, 'state'> {
  return { reason, why: message || (known?.meaning ?? ''), remedy: known?.remedy ?? '' };
}

function whyUnseen(facts: NodeFacts): Pick<Verdict, 'why' | 'remedy'> {
  const { node, leader } = facts;
  return (
    leaderFault(facts) ?? {
      why:
        `controller ${leader?.identity} leads and has not written to it: it is new, or foreign by ` +
        `--node-selector (providerID ${node.providerID || 'unset'})`,
      remedy: 'Check the log of the leader for this Node.',
    }
  );
}
