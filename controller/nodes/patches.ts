import { visibleLine } from '../../common/visible-text.ts';
import { annotations, conditions, taints as taintKeys } from '../../common/well-known.ts';
import { type AddressView, conditionOf, isUninitialized, type NodeView, type Taint } from '../model/node-view.ts';
import { sameAddresses } from './addresses.ts';
import type { DesiredNode } from './desired-node.ts';

export interface ConditionChange {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

/** Longer messages are cut: they are for people, and every Node stores them. */
const maxMessage = 512;

/** A message as it is stored in a condition: one visible line, cut to the maximal length. */
export function conditionMessage(text: string): string {
  return visibleLine(text, maxMessage);
}

/**
 * A strategic merge patch of `nodes/<n>/status`, guarded by the resourceVersion. Addresses merge by type alone in this
 * patch format, which would fold two of one type into the last (observed on a real server), so the list replaces the
 * old one whole.
 */
export function statusPatch(
  resourceVersion: string,
  nowMs: number,
  change: {
    readonly addresses?: readonly AddressView[];
    readonly conditions?: readonly (ConditionChange & { readonly changed: boolean })[];
  },
): object {
  const now = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return {
    metadata: { resourceVersion },
    status: {
      ...(change.addresses === undefined ? {} : { addresses: [{ $patch: 'replace' }, ...change.addresses] }),
      ...(change.conditions === undefined
        ? {}
        : {
            conditions: change.conditions.map(({ changed, message, ...condition }) => ({
              ...condition,
              message: conditionMessage(message),
              lastHeartbeatTime: now,
              ...(changed ? { lastTransitionTime: now } : {}),
            })),
          }),
    },
  };
}

/** The condition to write, and whether its status flips; undefined when the Node has it already. */
export function conditionChange(
  node: NodeView,
  desired: ConditionChange,
): (ConditionChange & { readonly changed: boolean }) | undefined {
  const held = conditionOf(node, desired.type);
  const same =
    held?.status === desired.status &&
    held.reason === desired.reason &&
    held.message === conditionMessage(desired.message);
  return same ? undefined : { ...desired, changed: held?.status !== desired.status };
}

/**
 * The condition of a Node until its pod routes exist, so that no pod is scheduled there before. The reason is
 * upstream's.
 */
export const waitsForRoutes: ConditionChange = {
  type: conditions.networkUnavailable,
  status: 'True',
  reason: 'NoRouteCreated',
  message: 'waiting for the routes to the pods of this Node',
};

/**
 * The first patch of an initialisation: addresses and conditions; undefined when all are up to date.
 *
 * @param routed this Node gets pod routes: NetworkUnavailable=True is set before its taint is removed, unless the
 *   condition exists
 */
export function planStatus(node: NodeView, desired: DesiredNode, nowMs: number, routed = false): object | undefined {
  const addresses =
    desired.addresses !== undefined && !sameAddresses(desired.addresses, node.addresses)
      ? desired.addresses
      : undefined;
  const condition = conditionChange(node, {
    type: conditions.cloudInitialized,
    status: 'True',
    reason: desired.reason,
    message: desired.message,
  });
  const waits = routed && isUninitialized(node) && conditionOf(node, conditions.networkUnavailable) === undefined;
  const changes = [
    ...(condition === undefined ? [] : [condition]),
    ...(waits ? [{ ...waitsForRoutes, changed: true }] : []),
  ];
  if (addresses === undefined && changes.length === 0) return undefined;
  return statusPatch(node.resourceVersion, nowMs, {
    ...(addresses === undefined ? {} : { addresses }),
    ...(changes.length === 0 ? {} : { conditions: changes }),
  });
}

/** Taints without those of the key. */
export function withoutTaint(taints: readonly Taint[], key: string): Taint[] {
  return taints.filter((taint) => taint.key !== key);
}

/**
 * The second patch: providerID, labels, record and the removal of the uninitialized taint, all at once, so that the
 * taint is removed when everything else is in place. A strategic merge patch, which replaces the taints as a whole and
 * costs the API server less than a merge patch, guarded by the first patch's resourceVersion, so that no taint added in
 * between is lost. Undefined when there is nothing to do.
 */
export function planMain(node: NodeView, desired: DesiredNode, resourceVersion: string): object | undefined {
  const untaint = isUninitialized(node);
  const labels = Object.keys(desired.labels).length > 0 ? { labels: desired.labels } : {};
  const records = {
    ...(node.annotations[annotations.instance] === desired.record ? {} : { [annotations.instance]: desired.record }),
    ...(desired.tagRecord === undefined ? {} : { [annotations.labelsFromTags]: desired.tagRecord }),
  };
  const spec = {
    ...(desired.providerID === undefined ? {} : { providerID: desired.providerID }),
    ...(untaint ? { taints: withoutTaint(node.taints, taintKeys.uninitialized) } : {}),
  };
  const metadata = { ...labels, ...(Object.keys(records).length > 0 ? { annotations: records } : {}) };
  if (Object.keys(spec).length === 0 && Object.keys(metadata).length === 0) return undefined;
  return { metadata: { resourceVersion, ...metadata }, ...(Object.keys(spec).length > 0 ? { spec } : {}) };
}
