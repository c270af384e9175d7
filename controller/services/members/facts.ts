import { codecOf } from '../../../common/provider-id/registry.ts';
import { conditions, labels, taints as taintKeys } from '../../../common/well-known.ts';
import { isAttested } from '../../model/attested.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import { instanceKey } from '../../model/instance-claims.ts';
import { conditionOf, isUninitialized, type NodeView } from '../../model/node-view.ts';
import { answeringCloud, type Claimant, ownershipOf } from '../../model/ownership.ts';

/** The facts about a Node that load balancers need. */
export interface MemberFacts {
  /** Name of the Node. */
  readonly node: string;
  readonly providerID: string;
  /** One text for one instance, however its providerID is spelled; see `instanceOf`. */
  readonly instance: string;
  /** Internal addresses, or external ones where the Node has no others, in the Node's order. */
  readonly addresses: readonly string[];
  /** Empty when unknown. */
  readonly zone: string;
  /** The labels of the Node by which Services choose members. */
  readonly labels: Readonly<Record<string, string>>;
  /** What decides where several Nodes claim one instance; see `hasStrongerClaim`. */
  readonly claim: Claim;
}

/** The evidence of a Node for its claim to its instance. */
export interface Claim {
  /** This Node object once proved its VM by attestation. */
  readonly isProved: boolean;
  /** It is not initialised, because its identity was refused. */
  readonly isRefused: boolean;
  /** When the Node was created, milliseconds since 1970. */
  readonly createdAtMs: number;
}

/** Why a Node stops being a member after a drain. */
export type LeavingReason = 'Deleting' | 'Excluded' | 'MarkedByAutoscaler' | 'MarkedByKarpenter';

/**
 * Whether a Node may be a member of the load balancers of a scope.
 *
 * - `member`: takes connections
 * - `leaving`: marked on the Node itself; drains where it is a member, joins nowhere
 * - `off`: its VM is powered off; removed at once, because there is nothing left to drain
 * - `waiting`: not initialised, or without the attestation that `--require-attestation` asks for; joins nowhere, but
 *   stays where it is a member (as a Node that was re-created on a running VM)
 * - `none`: not of a scope whose load balancers we manage
 */
export type Eligibility =
  | { readonly kind: 'member'; readonly scope: string; readonly facts: MemberFacts }
  | { readonly kind: 'leaving'; readonly scope: string; readonly facts: MemberFacts; readonly reason: LeavingReason }
  | { readonly kind: 'off'; readonly scope: string; readonly facts: MemberFacts }
  | { readonly kind: 'waiting'; readonly scope: string; readonly facts: MemberFacts }
  | { readonly kind: 'none'; readonly reason: 'Foreign' | 'Uninitialized' | 'SeveralScopes'; readonly why: string };

/**
 * Decides by durable facts on the Node alone. Readiness, `unschedulable`, conditions, reports and lookups are no
 * inputs: the health checks of the load balancer tell whether a member can serve, and none of these may empty a set. (A
 * refused identity counts only where several Nodes claim one instance.) Pure.
 *
 * @param chosenBy labels by which Services choose members
 */
export function eligibilityOf(
  node: NodeView,
  configured: readonly (Claimant & Pick<ConfiguredCloud, 'requireAttestation'>)[],
  chosenBy: ReadonlySet<string> = new Set(),
): Eligibility {
  const ownership = ownershipOf(node, configured);
  if (ownership.kind === 'foreign') return { kind: 'none', reason: 'Foreign', why: ownership.why };
  if (ownership.kind === 'claimable') {
    return { kind: 'none', reason: 'Uninitialized', why: 'it waits for its initialisation and has no providerID yet' };
  }
  const cloud = answeringCloud(node, configured);
  if (cloud === undefined) {
    const scopes = ownership.clouds.filter(({ api }) => api !== undefined).map(({ scope }) => scope);
    return scopes.length === 0
      ? { kind: 'none', reason: 'Foreign', why: 'its cloud is report-only: there is no API to manage load balancers' }
      : { kind: 'none', reason: 'SeveralScopes', why: `its instance may be in ${scopes.join(' or ')}` };
  }
  const { scope } = cloud;
  const facts = factsOf(node, cloud.name, chosenBy);
  // Power comes first, because a VM that is off has no connections left to drain.
  if (hasTaint(node, taintKeys.shutdown)) return { kind: 'off', scope, facts };
  const reason = leavingReason(node);
  if (reason !== undefined) return { kind: 'leaving', scope, facts, reason };
  const isProved = cloud.requireAttestation !== true || isAttested(node);
  return { kind: isUninitialized(node) || !isProved ? 'waiting' : 'member', scope, facts };
}

/** The mark on a Node by which it stops being a member; undefined: it has none. Pure. */
export function leavingReason(node: NodeView): LeavingReason | undefined {
  if (node.deleting) return 'Deleting';
  if (hasTaint(node, taintKeys.toBeDeletedByAutoscaler)) return 'MarkedByAutoscaler';
  if (hasTaint(node, taintKeys.disruptedByKarpenter)) return 'MarkedByKarpenter';
  return isExcluded(node.labels[labels.excludeFromLoadBalancers]) ? 'Excluded' : undefined;
}

/**
 * Which of two Nodes that claim one instance wins: the proved one, the one whose identity was not refused, then the
 * older one. A kubelet chooses the name, the taints and the providerID that it
 * registers with, so none of these may let a new Node displace one that serves. Pure.
 */
export function hasStrongerClaim(one: MemberFacts, other: MemberFacts): boolean {
  const [a, b] = [one.claim, other.claim];
  if (a.isProved !== b.isProved) return a.isProved;
  if (a.isRefused !== b.isRefused) return b.isRefused;
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs < b.createdAtMs;
  return one.node < other.node;
}

/**
 * Only of a Node that waits: on an initialised one the condition does not tell which of two came first, since after a
 * restart the controller lists both in the order of their names.
 */
function isRefused(node: NodeView): boolean {
  const shown = conditionOf(node, conditions.cloudInitialized);
  return isUninitialized(node) && shown?.status === 'False' && shown.reason === 'IdentityConflict';
}

/** What Go's strconv.ParseBool takes for false. */
const goFalse: ReadonlySet<string> = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

/** As upstream reads the label: every value except a Go `false` excludes, also an empty or invalid one. */
export function isExcluded(label: string | undefined): boolean {
  return label !== undefined && !goFalse.has(label);
}

function hasTaint(node: NodeView, key: string): boolean {
  return node.taints.some((taint) => taint.key === key);
}

/**
 * Members are compared by this, because Nodes and clouds may spell one id in several ways (with or without zone, region
 * or scheme).
 */
export function instanceOf(cloud: string, providerID: string): string {
  const id = codecOf(cloud).parse(providerID)?.instanceId;
  return id === undefined ? providerID : instanceKey({ cloud, id });
}

const noLabels: Readonly<Record<string, string>> = {};

function labelsOf(node: NodeView, chosenBy: ReadonlySet<string>): Readonly<Record<string, string>> {
  if (chosenBy.size === 0) return noLabels;
  return Object.fromEntries(Object.entries(node.labels).filter(([key]) => chosenBy.has(key)));
}

/**
 * Of a Node on a flat public network, which has no internal address, the external ones, as the classic OpenStack
 * controller has it.
 */
function addressesOf(node: NodeView): readonly string[] {
  const ofType = (desired: string) =>
    node.addresses.flatMap(({ type, address }) => (type === desired ? [address] : []));
  const internal = ofType('InternalIP');
  return internal.length > 0 ? internal : ofType('ExternalIP');
}

function factsOf(node: NodeView, cloud: string, chosenBy: ReadonlySet<string>): MemberFacts {
  return {
    node: node.name,
    providerID: node.providerID,
    instance: instanceOf(cloud, node.providerID),
    addresses: addressesOf(node),
    zone: node.labels[labels.zone] ?? node.labels[labels.zoneBeta] ?? '',
    labels: labelsOf(node, chosenBy),
    claim: { isProved: isAttested(node), isRefused: isRefused(node), createdAtMs: node.createdAtMs },
  };
}

export function sameFacts(one: MemberFacts, other: MemberFacts): boolean {
  return (
    one.node === other.node &&
    one.providerID === other.providerID &&
    one.zone === other.zone &&
    sameClaim(one.claim, other.claim) &&
    sameLabels(one.labels, other.labels) &&
    one.addresses.length === other.addresses.length &&
    one.addresses.every((address, index) => address === other.addresses[index])
  );
}

function sameClaim(one: Claim, other: Claim): boolean {
  return one.isProved === other.isProved && one.isRefused === other.isRefused && one.createdAtMs === other.createdAtMs;
}

function sameLabels(one: MemberFacts['labels'], other: MemberFacts['labels']): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** Whether two eligibilities of a Node are equal for every load balancer and in every message. */
export function sameEligibility(one: Eligibility | undefined, other: Eligibility): boolean {
  if (one === undefined || one.kind !== other.kind) return false;
  if (one.kind === 'none' || other.kind === 'none') {
    return one.kind === 'none' && other.kind === 'none' && one.reason === other.reason && one.why === other.why;
  }
  if (one.scope !== other.scope || !sameFacts(one.facts, other.facts)) return false;
  return one.kind !== 'leaving' || other.kind !== 'leaving' || one.reason === other.reason;
}
