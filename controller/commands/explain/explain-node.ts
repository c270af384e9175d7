import { cloudOf } from '../../../common/provider-id/registry.ts';
import { annotations, conditions, labels, names } from '../../../common/well-known.ts';
import {
  type ConditionView,
  conditionOf,
  instanceMissing,
  isPaused,
  isUninitialized,
  type NodeView,
  readiness,
} from '../../model/node-view.ts';
import { cloudOfReportScope, parseRecord, type ScopeRecord } from '../../model/scope-record.ts';
import { powerTaintsOf } from '../../nodes/power-taints.ts';
import {
  type InitializedReason,
  initializedReasons,
  type MissingReason,
  missingReasons,
  type ReasonInfo,
} from '../../nodes/reasons.ts';
import { type RouteReason, routeReasons } from '../../routes/reasons.ts';
import { endPause } from './end-pause.ts';
import type { Explanation } from './explanation.ts';
import type { NodeFacts } from './facts.ts';
import { hiddenFacts, leaderFacts, leaderFault } from './leader.ts';
import { type Facts, fact, type ShownFact, since, unreadableFact } from './shown-fact.ts';

/** Explains the state of a Node from the data of the API server alone. Pure. */
export function explainNode(facts: NodeFacts): Explanation {
  return { node: facts.node.name, ...verdict(facts), facts: listFacts(facts), events: facts.events };
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
  if (pausedForAll) {
    return {
      state: 'paused',
      reason: 'Paused',
      why: `everything is paused (ConfigMap ${names.certificates}, key ${names.pausedKey})`,
      remedy: endPause(facts),
    };
  }
  if (isPaused(node)) {
    return {
      state: 'paused',
      reason: 'Paused',
      why:
        `the Node carries ${annotations.paused}=${node.annotations[annotations.paused]}: nothing but its ` +
        'deletion goes on',
      remedy: `To go on: kubectl annotate node ${node.name} ${annotations.paused}-`,
    };
  }
  const missing = conditionOf(node, instanceMissing);
  if (missing?.status === 'True') {
    const known: ReasonInfo | undefined = missingReasons[missing.reason as MissingReason];
    return { state: 'missing', ...verdictOf(missing, known) };
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
  if (shown?.status === 'True') return { state: 'initialized', ...(networkFault(node) ?? verdictOf(shown, known)) };
  if (shown) return { state: 'waiting', ...verdictOf(shown, known) };
  return initialisedElsewhere(facts);
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

/** The cloud is asked only about Nodes that are not Ready: a kubelet that reports runs. */
function power(node: NodeView): ShownFact {
  const label = 'VM';
  if (powerTaintsOf(node).shutdown) return { label, value: 'off', text: 'powered off, says the cloud' };
  if (readiness(node) === 'True') return fact(label, undefined, 'not asked whether it runs, since the Node is Ready');
  return fact(label, undefined, 'the cloud has not said that it is powered off');
}

function networkOf(node: NodeView): ShownFact {
  const label = 'network';
  const shown = conditionOf(node, conditions.networkUnavailable);
  if (shown === undefined) return fact(label, undefined, 'not said');
  const text = `${shown.status === 'False' ? 'available' : 'unavailable'} (${shown.reason})`;
  return { label, value: asBoolean[shown.status] ?? null, text };
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

/**
 * Whether the Node is deleted with its VM, which is only possible where an API of its cloud once found the instance.
 */
function deletion(node: NodeView, record: ScopeRecord | undefined, pausedNodes: ReadonlySet<string>): ShownFact {
  const label = 'deleted with its VM';
  const no = (text: string) => ({ label, value: false, text });
  if (pausedNodes.has(node.name))
    return no(`not while ConfigMap ${names.certificates} has its name in ${names.pausedNodesKey}`);
  if (record === undefined && isUninitialized(node))
    return no('not yet initialised: only if the cloud shows the VM as ended');
  if (record === undefined) return no('never, unless an API finds its instance first');
  const cloud = cloudOfReportScope(record.scope);
  if (cloud !== undefined) return no(`never: ${cloud} is report-only here, and an agent's word deletes nothing`);
  if (conditionOf(node, instanceMissing)?.reason === 'NeverFound')
    return no('never: its instance was not found in the scope that answers now');
  return { label, value: true, text: 'yes, once the cloud has proved that the VM is gone' };
}

/** As recorded under --require-attestation. */
function proof(node: NodeView): ShownFact {
  const label = 'VM proved by';
  const noted = node.labels[labels.attested] || undefined;
  if (noted === undefined) return fact(label, noted, 'not recorded (recorded under --require-attestation alone)');
  return { label, value: noted, text: `a signed document${noted === 'fresh' ? ' that answered a challenge' : ''}` };
}

/** As recorded: `--node-labels-from-tags` belongs to the controller. */
function labelsOfTags({ annotations: noted, labels: held }: NodeView): ShownFact {
  const recorded = (noted[annotations.labelsFromTags] ?? '').split(',');
  const value = recorded.filter((name) => held[name] !== undefined).map((name) => `${name}=${held[name]}`);
  return { label: 'labels from tags', value, text: value.join(', ') || 'none' };
}

const asBoolean: Readonly<Record<string, boolean>> = { True: true, False: false };

function listFacts(facts: NodeFacts): Facts {
  const { node, nodeRenewTime, hidden, nowMs } = facts;
  const record = parseRecord(node.annotations[annotations.instance]);
  const ready = readiness(node);
  const waits = isUninitialized(node);
  const lease = 'lease renewed';
  return {
    providerID: fact('providerID', node.providerID, 'unset'),
    scope: fact('scope', record?.scope, 'not recorded'),
    incarnation: fact('incarnation', record?.incarnation, 'not recorded'),
    attested: proof(node),
    ready: { label: 'ready', value: asBoolean[ready] ?? null, text: ready },
    power: power(node),
    uninitialized: { label: 'uninitialized taint', value: waits, text: waits ? 'on' : 'off' },
    zone: fact('zone', node.labels[labels.zone], 'unset'),
    region: fact('region', node.labels[labels.region], 'unset'),
    instanceType: fact('instance type', node.labels[labels.instanceType], 'unset'),
    labelsFromTags: labelsOfTags(node),
    podCIDRs: { label: 'pod ranges', value: node.podCIDRs, text: node.podCIDRs.join(', ') || 'none' },
    networkUnavailable: networkOf(node),
    addresses: {
      label: 'addresses',
      value: node.addresses.map(({ type, address }) => ({ type, address })),
      text: node.addresses.map(({ type, address }) => `${type} ${address}`).join(', ') || 'none',
    },
    registeredAt: since('registered', new Date(node.createdAtMs).toISOString(), nowMs),
    leaseRenewedAt: hidden.includes('node lease') ? unreadableFact(lease) : since(lease, nodeRenewTime, nowMs),
    deletedWithVm: deletion(node, record, facts.pausedNodes),
    ...leaderFacts(facts),
    ...hiddenFacts(facts),
  };
}
