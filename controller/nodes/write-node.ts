import type { Instance } from '../../common/instance.ts';
import type { Clock } from '../../common/process/clock.ts';
import type { Report } from '../../common/report.ts';
import { isConflict, type KubeApi } from '../kube/api.ts';
import { nodePath } from '../kube/node-path.ts';
import { patchNode } from '../kube/patch-node.ts';
import { documentNames } from '../model/attested.ts';
import { isPaused, isUninitialized, type NodeView, viewNode } from '../model/node-view.ts';
import { cloudOfReportScope } from '../model/scope-record.ts';
import type { TagLabelRule } from '../model/tag-labels.ts';
import type { VerifiedInstance } from '../model/verified-instance.ts';
import type { ConfirmedAddresses } from './address-removals.ts';
import { type DesiredNode, desiredNode } from './desired-node.ts';
import { contradiction } from './instance-identity.ts';
import { nodeChanges } from './node-changes.ts';
import { type ConditionChange, conditionChange, planMain, planStatus, statusPatch } from './patches.ts';
import type { InitializedReason } from './reasons.ts';

/** How often a write is planned again after a conflict. */
const maxTries = 5;

export interface Written {
  /** The Node as last read; older than what was written. */
  readonly node: NodeView;
  readonly resourceVersion: string;
  readonly untainted: boolean;
  readonly writes: number;
  /** See `nodeChanges`. */
  readonly changes: readonly string[];
}

export type WriteOutcome =
  | {
      readonly kind: 'written';
      readonly written: Written;
      /** The removal of an address is not confirmed yet. */
      readonly pending: boolean;
      readonly reason: InitializedReason;
      readonly message: string;
    }
  | { readonly kind: 'refused'; readonly reason: InitializedReason; readonly message: string; readonly node: NodeView }
  /** The Node was deleted, re-created or paused during the write. */
  | { readonly kind: 'dropped' };

export interface NodeWriter {
  readonly api: KubeApi;
  readonly clock: Clock;
  /** See NodeContext. */
  readonly routesEnabled?: ((scope: string, node: NodeView) => boolean) | undefined;
  /** See NodeContext. */
  readonly tagLabels?: readonly TagLabelRule[] | undefined;
}

export async function readNode(api: KubeApi, name: string): Promise<NodeView> {
  return viewNode(await api.call({ verb: 'get', path: nodePath(name) }));
}

/**
 * Updates one Node from its instance: a status patch (addresses, condition), then a main patch (providerID, labels,
 * record, taint removal). Each is sent only where something differs and is guarded by resourceVersion. On a conflict
 * the Node is read again and both patches are planned again. A Node that was re-created or paused since is dropped.
 * Throws a KubeError. Safe to repeat.
 *
 * @param confirmRemovals which addresses to write now (see `address-removals.ts`); called before every try
 */
export async function writeNode(
  { api, clock, routesEnabled, tagLabels }: NodeWriter,
  first: NodeView,
  resolved: {
    readonly instance: Instance;
    readonly scope: string;
    readonly report: Report | undefined;
    /** The instance that the evidence of the Node's agent proved. */
    readonly attested?: VerifiedInstance | undefined;
    /** Record that proof in a label of the Node. */
    readonly recordsProof?: boolean;
  },
  confirmRemovals: (node: NodeView, desired: DesiredNode['addresses']) => ConfirmedAddresses,
): Promise<WriteOutcome> {
  let node = first;
  const { attested, recordsProof } = resolved;
  // A report alone neither confirms itself nor replaces the evidence that is required.
  const acceptsRebuild =
    cloudOfReportScope(resolved.scope) === undefined &&
    (!recordsProof || (attested !== undefined && documentNames(attested, resolved.instance)));
  for (let attempt = 1; ; attempt += 1) {
    const contradicted = contradiction(node, resolved.instance, resolved.report, attested, acceptsRebuild);
    if (contradicted !== undefined) return { kind: 'refused', reason: 'IdentityConflict', message: contradicted, node };
    const planned = desiredNode(node, resolved.instance, resolved.scope, {
      proof: recordsProof ? attested?.assurance : undefined,
      tagLabels,
    });
    if (!planned.ok) return { kind: 'refused', reason: planned.reason, message: planned.message, node };
    const { addresses, pending } = confirmRemovals(node, planned.node.addresses);
    const desired = { ...planned.node, addresses };
    try {
      const written = await apply(api, clock, node, desired, routesEnabled?.(resolved.scope, node) ?? false);
      return { kind: 'written', written, pending, reason: desired.reason, message: desired.message };
    } catch (error) {
      if (!isConflict(error) || attempt >= maxTries) throw error;
      node = await readNode(api, node.name);
      if (node.uid !== first.uid || node.deleting || isPaused(node)) return { kind: 'dropped' };
    }
  }
}

async function apply(
  api: KubeApi,
  clock: Clock,
  node: NodeView,
  desired: DesiredNode,
  routed: boolean,
): Promise<Written> {
  let resourceVersion = node.resourceVersion;
  let writes = 0;
  const status = planStatus(node, desired, clock.now(), routed);
  if (status !== undefined) {
    resourceVersion = await patchNode(api, node.name, status, { status: true });
    writes += 1;
  }
  const main = planMain(node, desired, resourceVersion);
  if (main !== undefined) {
    resourceVersion = await patchNode(api, node.name, main);
    writes += 1;
  }
  const untainted = main !== undefined && isUninitialized(node);
  return { node, resourceVersion, untainted, writes, changes: writes === 0 ? [] : nodeChanges(node, desired) };
}

/**
 * Sets one condition of ours on the Node, if it differs. Resolves with the new resourceVersion, or undefined when
 * nothing was written. Throws a KubeError.
 */
export async function writeCondition(
  { api, clock }: Pick<NodeWriter, 'api' | 'clock'>,
  node: NodeView,
  planned: ConditionChange,
): Promise<string | undefined> {
  const change = conditionChange(node, planned);
  if (change === undefined) return undefined;
  const body = statusPatch(node.resourceVersion, clock.now(), { conditions: [change] });
  return patchNode(api, node.name, body, { status: true });
}
