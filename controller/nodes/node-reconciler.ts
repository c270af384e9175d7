import { annotations, conditions } from '../../common/well-known.ts';
import { isKubeError, isNotFound } from '../kube/api.ts';
import type { InformerEvent } from '../kube/informer.ts';
import { isOlder } from '../kube/resource-version.ts';
import { requiresAttestation, withSignedPlace } from '../model/attested.ts';
import { conditionOf, isPaused, isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { cloudOfReportScope, mayBecome, parseRecord } from '../model/scope-record.ts';
import { createWaitingNodes, type WaitingNodes } from '../model/waiting-nodes.ts';
import type { StoredReport } from '../reports/store.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import { createAddressHolders } from './address-holders.ts';
import { type ConfirmedAddresses, createAddressRemovals, secondReadMs } from './address-removals.ts';
import { sameAddresses } from './addresses.ts';
import { type DesiredNode, desiredNode } from './desired-node.ts';
import { type CachedInstance, createInstanceCache, type InstanceCache } from './instance-cache.ts';
import { createInstanceHolders } from './instance-holders.ts';
import { missingProof } from './missing-proof.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { conditionMessage, planMain } from './patches.ts';
import type { InitializedReason } from './reasons.ts';
import { type Resolution, resolveInstance } from './resolve.ts';
import { createRetryBackoff, fingerprint } from './retry-backoff.ts';
import { createWait, heldRetryMs } from './wait.ts';
import { type WriteOutcome, writeNode } from './write-node.ts';

/** A write that the API server refused is not repeated before this, unless the Node or its report changes. */
const refusedRetryMs = 30_000;
/** How soon a Node is reconciled again while everything is paused. */
const pausedRetryMs = 5000;
/**
 * The longest time that the cache may lag behind a write of ours. After that the versions do not compare (a restored
 * backup).
 */
const cacheLagMs = 30_000;

/** Initialises Nodes from their instances and keeps them up to date. */
export interface NodeReconciler {
  /**
   * Reconciles one Node, by name. Reads and writes the cluster. Throws a KubeError, to be repeated. Safe to repeat at
   * any time.
   */
  reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined>;
  /** Records a change in the cache; synchronous. */
  observe(event: InformerEvent<NodeView>): void;
  /** Makes the next reconcile of this Node read its instance from the cloud again. */
  requestLookup(name: string): void;
  readonly instances: InstanceCache;
  readonly waiting: WaitingNodes<InitializedReason>;
}

/** @param writes bounds how many Nodes are written at once; a Node that waits for its lookup is not counted */
export function createNodeReconciler(context: NodeContext, writes: Semaphore): NodeReconciler {
  const { api, clock, log, nodes, resolver, events, metrics } = context;
  const instances = createInstanceCache();
  const waiting = createWaitingNodes<InitializedReason>(metrics.uninitialized);
  const holders = createInstanceHolders(context, instances);
  /** A cloud's API does not give one address to two instances, but an agent could report it. */
  const usesReports = resolver.configured.some((cloud) => cloud.api === undefined);
  const addressHolders = usesReports ? createAddressHolders() : undefined;
  const addressRemovals = createAddressRemovals();
  const lookupRequested = new Set<string>();
  const backoffs = createRetryBackoff(clock);
  const wait = createWait(context, { writes, waiting, backoffs, wrote });
  /** Why a Node that waits for initialisation is foreign, as it was told. */
  const foreign = new Map<string, string>();
  /** The uid of each tainted Node with a write that got no answer: it may have removed the taint. */
  const unanswered = new Map<string, string>();
  /** The version of our last write. An older Node in the cache is outdated. */
  const writtenVersion = new Map<string, { readonly version: string; readonly atMs: number }>();

  function observe(event: InformerEvent<NodeView>): void {
    addressHolders?.observe(event);
    if (event.type === 'deleted') forget(event.key);
    else holders.note(event.object);
  }

  function forget(name: string): void {
    instances.forget(name);
    waiting.done(name);
    holders.release(name);
    addressHolders?.release(name);
    addressRemovals.forget(name);
    lookupRequested.delete(name);
    backoffs.forget(name);
    writtenVersion.delete(name);
    unanswered.delete(name);
    foreign.delete(name);
  }

  /** A Node that waits for a cloud which is none of ours waits for ever, unless another controller serves it. */
  function tellForeign(name: string, why: string): void {
    if (foreign.get(name) === why) return;
    foreign.set(name, why);
    log.info('node is foreign and never changed', { node: name, why });
  }

  /** A Node with Ready=False has a living kubelet. Only with Ready=Unknown may another Node have taken its VM. */
  function alive(name: string): boolean {
    const node = nodes.get(name);
    return node !== undefined && !node.deleting && readiness(node) !== 'Unknown';
  }

  async function reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined> {
    try {
      return await attempt(name);
    } finally {
      // If the Node was deleted during the lookup, its entries would stay for ever.
      if (nodes.get(name) === undefined) forget(name);
    }
  }

  async function attempt(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined> {
    const node = nodes.get(name);
    if (node === undefined || node.deleting) {
      waiting.done(name);
      return undefined;
    }
    if (isPaused(node)) return undefined;
    if (context.paused()) return { requeueAfterMs: pausedRetryMs };
    const staleForMs = cacheLag(node);
    if (staleForMs > 0) return { requeueAfterMs: staleForMs };
    const closedForMs = lookupRequested.has(name)
      ? 0
      : backoffs.remainingMs(name, fingerprint(node, reportOf(context, node)));
    if (closedForMs > 0) return { requeueAfterMs: closedForMs };
    return isUninitialized(node) ? join(node) : keepCurrent(node);
  }

  /** How long the cache may still lag behind our own write; 0 when it does not. */
  function cacheLag(node: NodeView): number {
    const written = writtenVersion.get(node.name);
    if (written === undefined) return 0;
    if (isOlder(node.resourceVersion, written.version)) return written.atMs + cacheLagMs - clock.monotonic();
    writtenVersion.delete(node.name);
    return 0;
  }

  function wrote(node: NodeView, version: string): void {
    writtenVersion.set(node.name, { version, atMs: clock.monotonic() });
  }

  /** Handles a Node that waits for initialisation. */
  async function join(node: NodeView) {
    // Reset before the lookup: a hint during it requests another one.
    lookupRequested.delete(node.name);
    const resolution = await resolve(node);
    if (resolution.kind === 'foreign') {
      waiting.done(node.name);
      tellForeign(node.name, resolution.why);
      return undefined;
    }
    if (resolution.kind === 'waiting') {
      const { reason, message, retryAfterMs, claimed } = resolution;
      return wait(node, reason, message, { retryAfterMs, claimed });
    }
    if (resolution.kind === 'missing') {
      return wait(node, 'InstanceNotFound', resolution.message, { claimed: resolution.claimed });
    }
    const { instance, scope } = resolution;
    if (requiresAttestation(instance.cloud, resolver.configured)) {
      const missing = missingProof(instance, reportOf(context, node));
      if (missing !== undefined) return wait(node, 'AttestationRequired', missing);
    }
    return write(node, { instance, scope, readAtMs: clock.monotonic() });
  }

  /** Signed zone and region take precedence over those in the body of a report. */
  async function resolve(node: NodeView): Promise<Resolution> {
    const stored = reportOf(context, node);
    const resolution = await resolveInstance(node, stored?.report, resolver);
    if (resolution.kind !== 'found' || resolution.power !== undefined) return resolution;
    return { ...resolution, instance: withSignedPlace(resolution.instance, stored?.attestation?.instance) };
  }

  /** When the agent read the instance that it reports. */
  function readAtOf({ receivedMonotonicMs, report }: StoredReport): number {
    return receivedMonotonicMs - report.metadata.ageSeconds * 1000;
  }

  function isReportOnly(node: NodeView): boolean {
    const ownership = ownershipOf(node, resolver.configured);
    return ownership.kind === 'owned' && ownership.clouds.every((cloud) => cloud.api === undefined);
  }

  /** Handles an initialised Node: the cached instance is enough, unless a lookup was requested. */
  async function keepCurrent(node: NodeView) {
    waiting.done(node.name);
    let held = instances.get(node.name, node.uid);
    const asked = lookupRequested.delete(node.name);
    if (asked || isReportOnly(node)) {
      const stored = reportOf(context, node);
      const resolution = await resolve(node);
      if (resolution.kind === 'waiting' && asked) {
        // The request stays: an address removal that waits for its confirmation would otherwise wait for ever.
        lookupRequested.add(node.name);
        return { requeueAfterMs: Math.max(resolution.retryAfterMs ?? 0, heldRetryMs) };
      }
      if (resolution.kind !== 'found') return undefined;
      const { instance, scope, power } = resolution;
      const readAtMs = power === undefined && stored ? readAtOf(stored) : clock.monotonic();
      held = { uid: node.uid, instance, scope, readAtMs };
    }
    return held === undefined ? undefined : write(node, held);
  }

  async function write(node: NodeView, found: Omit<CachedInstance, 'uid'>) {
    const elsewhere = recordedElsewhere(node, found.scope);
    if (elsewhere !== undefined) return wait(node, 'IdentityConflict', elsewhere);
    const { cloud } = found.instance;
    const holder = holders.claim(node, found.instance);
    if (holder !== undefined) {
      return wait(node, 'IdentityConflict', `instance ${found.instance.id} is held by live Node ${holder}`);
    }
    const stored = reportOf(context, node);
    const recordsProof = requiresAttestation(cloud, resolver.configured);
    if (recordsProof && !isUninitialized(node) && !holders.mayHold(node, found.instance)) {
      const missing = missingProof(found.instance, stored);
      if (missing !== undefined) return leaveUnproved(node, found, missing);
    }
    if (cloudOfReportScope(found.scope) !== undefined) {
      const taken = addressHolders?.take(node, found.instance.addresses, alive);
      if (taken !== undefined) {
        unclaim(node);
        return wait(node, 'IdentityConflict', `address ${taken.address} is held by live Node ${taken.holder}`);
      }
    }
    instances.put(node.name, { uid: node.uid, ...found });
    const report = stored?.report;
    const attested = stored?.attestation?.instance;
    let outcome: WriteOutcome;
    try {
      outcome = await writes.run(async () =>
        context.paused()
          ? { kind: 'dropped' }
          : writeNode(
              { api, clock, routesEnabled: context.routesEnabled, tagLabels: context.tagLabels },
              node,
              { ...found, report, attested, recordsProof },
              (current, desired) => confirmRemovals(current, desired, found),
            ),
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isUninitialized(node) && mayHaveHappened(error)) unanswered.set(node.name, node.uid);
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      unclaim(node);
      return wait(node, refusal.reason, refusal.message, { retryAfterMs: refusedRetryMs });
    }
    if (outcome.kind === 'dropped') return context.paused() ? { requeueAfterMs: pausedRetryMs } : undefined;
    if (outcome.kind === 'refused') {
      unclaim(node);
      return wait(outcome.node, outcome.reason, outcome.message);
    }
    const { written } = outcome;
    backoffs.forget(node.name);
    if (written.writes > 0) {
      wrote(node, written.resourceVersion);
      metrics.nodeWrites.add(written.writes);
    }
    if (written.untainted || untaintedBefore(written.node)) initialised(written.node);
    else if (written.writes > 0)
      log.info('node updated', {
        node: node.name,
        instance: found.instance.id,
        reason: outcome.reason,
        changed: written.changes,
      });
    if (outcome.reason === 'TopologyDrift' && isNew(written.node, outcome)) {
      events.emit(eventTarget(node), { type: 'Warning', reason: 'TopologyDrift', message: outcome.message });
    }
    if (!outcome.pending) return undefined;
    lookupRequested.add(node.name);
    return { requeueAfterMs: secondReadMs };
  }

  /**
   * A kubelet may register its Node without the taint and with the providerID of another VM, so what the cloud says of
   * that VM is not written on it. A Node with a record was initialised before proof was required. It keeps what it has.
   * There may be thousands until their agents have given evidence, so only one that is outdated says so, once.
   */
  async function leaveUnproved(node: NodeView, found: Omit<CachedInstance, 'uid'>, missing: string) {
    instances.put(node.name, { uid: node.uid, ...found });
    const reason = 'AttestationRequired';
    if (parseRecord(node.annotations[annotations.instance]) === undefined) return wait(node, reason, missing);
    const shown = conditionOf(node, conditions.cloudInitialized);
    if (shown?.status === 'False' && shown.reason === reason) return undefined;
    const planned = desiredNode(node, found.instance, found.scope, { tagLabels: context.tagLabels });
    if (!planned.ok) return undefined;
    const { addresses } = confirmRemovals(node, planned.node.addresses, found);
    if (!isOutdated(node, { ...planned.node, addresses })) return undefined;
    return wait(node, reason, `not kept up to date with the cloud: ${missing}`, { quiet: true });
  }

  /** A Node that waits for initialisation has what its kubelet wrote, which is replaced at once. */
  function confirmRemovals(
    node: NodeView,
    desired: DesiredNode['addresses'],
    { scope, readAtMs }: Pick<CachedInstance, 'scope' | 'readAtMs'>,
  ): ConfirmedAddresses {
    if (desired === undefined || isUninitialized(node)) return { addresses: desired, pending: false };
    // An instance that comes from the report is not confirmed by it.
    const report = cloudOfReportScope(scope) === undefined ? reportOf(context, node)?.report : undefined;
    return addressRemovals.confirm(node.name, node.addresses, desired, readAtMs, report);
  }

  /** Whether an earlier write of ours, which got no answer, has removed the taint; the record came with that write. */
  function untaintedBefore(node: NodeView): boolean {
    const recorded = node.annotations[annotations.instance] !== undefined;
    return unanswered.get(node.name) === node.uid && recorded && !isUninitialized(node);
  }

  /** Why the instance found in this scope contradicts the scope recorded on the Node; undefined when it does not. */
  function recordedElsewhere(node: NodeView, scope: string): string | undefined {
    const recorded = parseRecord(node.annotations[annotations.instance])?.scope;
    const cloud = resolver.configured.find((each) => each.scope === scope);
    if (recorded === undefined || cloud?.api === undefined || mayBecome(recorded, cloud)) return undefined;
    return (
      `its instance is recorded in ${recorded}, but this credential is of ${scope}: another account is never ` +
      `adopted; if this credential is right, remove the annotation ${annotations.instance}`
    );
  }

  /**
   * Releases the claims of a Node that was not initialised: a contradicted claim must not lock out the instance's own
   * Node.
   */
  function unclaim(node: NodeView): void {
    if (!isUninitialized(node)) return;
    holders.release(node.name);
    addressHolders?.release(node.name);
  }

  function isNew(node: NodeView, { reason, message }: { readonly reason: string; readonly message: string }): boolean {
    const shown = conditionOf(node, conditions.cloudInitialized);
    return shown?.reason !== reason || shown.message !== conditionMessage(message);
  }

  function initialised(node: NodeView): void {
    waiting.done(node.name);
    unanswered.delete(node.name);
    const seconds = Math.max(0, clock.now() - node.createdAtMs) / 1000;
    metrics.taintRemovalDelay.observe(seconds);
    metrics.initialSyncDelay.observe(seconds);
    log.info('node initialised', {
      node: node.name,
      instance: instances.get(node.name, node.uid)?.instance.id,
      seconds,
    });
    events.emit(eventTarget(node), { type: 'Normal', reason: 'Synced', message: 'Node synced successfully' });
  }

  return { reconcile, observe, instances, waiting, requestLookup: (name) => lookupRequested.add(name) };
}

/** Whether it would change the Node, apart from the record, which tells nothing to people. */
function isOutdated(node: NodeView, desired: DesiredNode): boolean {
  const record = node.annotations[annotations.instance] ?? '';
  if (planMain(node, { ...desired, record }, node.resourceVersion) !== undefined) return true;
  return desired.addresses !== undefined && !sameAddresses(desired.addresses, node.addresses);
}

/** Whether the API server may have executed a call that failed so. */
function mayHaveHappened(error: unknown): boolean {
  return isKubeError(error) && error.status === 0 && error.reason !== 'Fenced' && error.reason !== 'Withheld';
}

/** The reason for a write that the API server refuses and would refuse again; undefined for any other failure. */
function refusalOf(error: unknown): { readonly reason: InitializedReason; readonly message: string } | undefined {
  if (!isKubeError(error)) return undefined;
  const { status, message } = error;
  // 422: the write contradicts an immutable field of the Node (providerID).
  if (status === 422) return { reason: 'IdentityConflict', message };
  // 403 and 400: RBAC, or an admission webhook.
  return status === 400 || status === 403 ? { reason: 'WriteRefused', message } : undefined;
}
