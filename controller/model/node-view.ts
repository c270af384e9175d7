import {
  annotations as annotationKeys,
  conditions as conditionTypes,
  isPauseValue,
  taints as taintKeys,
} from '../../common/well-known.ts';
import type { KubeObject } from '../kube/api.ts';

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
  readonly timeAdded?: string;
}

export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime?: string;
}

export interface AddressView {
  readonly type: string;
  readonly address: string;
}

/** The fields of a Node that decisions need: a trimmed copy that shares nothing with the raw object. */
export interface NodeView {
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  readonly deleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Only those that the product reads. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Empty when unset. */
  readonly providerID: string;
  /** As set on the Node; immutable once set. */
  readonly podCIDRs: readonly string[];
  readonly taints: readonly Taint[];
  readonly addresses: readonly AddressView[];
  /** Only Ready and those the product writes. */
  readonly conditions: readonly ConditionView[];
  /** Lower case; empty when unset. */
  readonly systemUuid: string;
}

interface RawNode extends KubeObject {
  readonly spec?: {
    readonly providerID?: string;
    readonly podCIDR?: string;
    readonly podCIDRs?: readonly string[];
    readonly taints?: readonly Taint[];
  };
  readonly status?: {
    readonly addresses?: readonly AddressView[];
    readonly conditions?: readonly Partial<ConditionView>[];
    readonly nodeInfo?: { readonly systemUUID?: string };
  };
}

export const instanceMissing = conditionTypes.instanceMissing;

const readAnnotations = new Set<string>(Object.values(annotationKeys));
const readConditions = new Set<string>([
  'Ready',
  conditionTypes.cloudInitialized,
  instanceMissing,
  conditionTypes.interruption,
  conditionTypes.networkUnavailable,
]);

const none: readonly string[] = [];

function pick(from: Readonly<Record<string, string>> | undefined, keys: ReadonlySet<string>): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const key in from) if (keys.has(key)) picked[key] = from[key] as string;
  return picked;
}

/** A copy with other values; all values are strings. */
function mapValues<T extends object>(from: T | undefined, change: (value: string) => string): T {
  const copy: Record<string, string> = {};
  for (const [key, value] of Object.entries<string>({ ...from })) copy[key] = change(value);
  return copy as T;
}

/** Arrays of a Node that `viewNode` does not read, and most of its bytes. */
export const unreadOfNode = ['images', 'managedFields'];

/** Copies the needed fields out of a Node as the API server sends it.
 *
 * @param intern returns one shared string for all equal ones, where many Nodes are kept
 */
export function viewNode(raw: unknown, intern: (text: string) => string = (text) => text): NodeView {
  const { metadata, spec, status } = raw as RawNode;
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    createdAtMs: Date.parse(metadata.creationTimestamp ?? '') || 0,
    deleting: metadata.deletionTimestamp !== undefined,
    labels: mapValues(metadata.labels, intern),
    annotations: pick(metadata.annotations, readAnnotations),
    providerID: spec?.providerID ?? '',
    podCIDRs: podCIDRs(spec),
    taints: (spec?.taints ?? []).map((taint) => mapValues(taint, intern)),
    addresses: (status?.addresses ?? []).map(({ type, address }) => ({ type: intern(type), address })),
    conditions: (status?.conditions ?? [])
      .filter((condition) => readConditions.has(condition.type ?? ''))
      .map(({ type = '', status: value = '', reason = '', message = '', lastTransitionTime }) => ({
        type: intern(type),
        status: intern(value),
        reason: intern(reason),
        message: intern(message),
        ...(lastTransitionTime === undefined ? {} : { lastTransitionTime: intern(lastTransitionTime) }),
      })),
    systemUuid: (status?.nodeInfo?.systemUUID ?? '').toLowerCase(),
  };
}

function podCIDRs(spec: RawNode['spec']): readonly string[] {
  if (spec?.podCIDRs && spec.podCIDRs.length > 0) return [...spec.podCIDRs];
  return spec?.podCIDR ? [spec.podCIDR] : none;
}

export function conditionOf(node: NodeView, type: string): ConditionView | undefined {
  return node.conditions.find((condition) => condition.type === type);
}

/** True, False, Unknown, or `missing`. */
export function readiness(node: NodeView): string {
  return conditionOf(node, 'Ready')?.status ?? 'missing';
}

/** Whether the Node still has the uninitialized taint; matched by key alone, as upstream does. */
export function isUninitialized(node: NodeView): boolean {
  return node.taints.some((taint) => taint.key === taintKeys.uninitialized);
}

export function isPaused(node: NodeView): boolean {
  return isPauseValue(node.annotations[annotationKeys.paused]);
}
