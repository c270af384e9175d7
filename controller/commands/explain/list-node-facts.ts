import { annotations, conditions, labels, names, taints as taintKeys } from '../../../common/well-known.ts';
import { conditionOf, instanceMissing, isUninitialized, type NodeView, readiness } from '../../model/node-view.ts';
import { cloudOfReportScope, parseRecord, type ScopeRecord } from '../../model/scope-record.ts';
import { powerTaintsOf } from '../../nodes/power-taints.ts';
import type { NodeFacts } from './facts.ts';
import { hiddenFacts, leaderFacts } from './leader.ts';
import { type Facts, fact, type ShownFact, since, unreadableFact } from './shown-fact.ts';

const knownTaints: ReadonlySet<string> = new Set(Object.values(taintKeys));
const asBoolean: Readonly<Record<string, boolean>> = { True: true, False: false };

/** What is known of a Node, in the order of the output. Pure. */
export function listNodeFacts(facts: NodeFacts): Facts {
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
    taints: taintsOf(node),
    interruption: interruptionOf(node),
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

/** The cloud is asked only about Nodes that are not Ready: a kubelet that reports runs. */
function power(node: NodeView): ShownFact {
  const label = 'VM';
  if (powerTaintsOf(node).shutdown) return { label, value: 'off', text: 'powered off, says the cloud' };
  if (readiness(node) === 'True') return fact(label, undefined, 'not asked whether it runs, since the Node is Ready');
  if (conditionOf(node, instanceMissing)?.status === 'True')
    return fact(label, undefined, 'gone or not found, see WHY');
  return fact(label, undefined, 'the cloud has not said that it is powered off');
}

function networkOf(node: NodeView): ShownFact {
  const label = 'network';
  const shown = conditionOf(node, conditions.networkUnavailable);
  if (shown === undefined) return fact(label, undefined, 'not said');
  const text = `${shown.status === 'False' ? 'available' : 'unavailable'} (${shown.reason})`;
  return { label, value: asBoolean[shown.status] ?? null, text };
}

/**
 * Whether the Node is deleted with its VM, which is only possible where an API of its cloud once found the instance.
 */
function deletion(node: NodeView, record: ScopeRecord | undefined, pausedNodes: ReadonlySet<string>): ShownFact {
  const label = 'deleted with its VM';
  const no = (text: string) => ({ label, value: false, text });
  if (node.deleting) return no('it is being deleted already');
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

/** Those that we write, or that mark a Node for us. The API server notes the time of NoExecute alone. */
function taintsOf({ taints }: NodeView): ShownFact {
  const shown = taints.filter(({ key }) => knownTaints.has(key));
  const text = shown.map(({ key, effect, timeAdded }) => `${key}:${effect}${timeAdded ? ` since ${timeAdded}` : ''}`);
  const value = shown.map(({ key, effect, timeAdded }) => ({ key, effect, since: timeAdded ?? null }));
  return { label: 'taints', value, text: text.join(', ') || 'none of ours' };
}

function interruptionOf(node: NodeView): ShownFact {
  const shown = conditionOf(node, conditions.interruption);
  return fact('interruption', shown?.status === 'True' ? shown.reason : undefined, 'none announced');
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
