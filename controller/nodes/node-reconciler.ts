import type { Instance } from '../../common/instance.ts';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { annotations, conditions } from '../../common/well-known.ts';
import { isKubeError, isNotFound } from '../kube/api.ts';
import type { InformerEvent } from '../kube/informer.ts';
import { isOlder } from '../kube/resource-version.ts';
import { documentContradicts, requiresAttestation, withSignedPlace } from '../model/attested.ts';
import { createInstanceClaims, instanceKey } from '../model/instance-claims.ts';
import { conditionOf, isPaused, isUninitialized, type NodeView, readiness } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { cloudOfReportScope, mayBecome, parseRecord } from '../model/scope-record.ts';
import { createWaitingNodes, type WaitingNodes } from '../model/waiting-nodes.ts';
import type { Semaphore } from '../runtime/semaphore.ts';
import { createAddressHolders } from './address-holders.ts';
import { createAddressRemovals, secondReadMs } from './address-removals.ts';
import { sameAddresses } from './addresses.ts';
import type { DesiredNode } from './desired-node.ts';
import { createInstanceCache, type InstanceCache } from './instance-cache.ts';
import { isProved } from './instance-identity.ts';
import { missingProof } from './missing-proof.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { conditionMessage } from './patches.ts';
import type { InitializedReason } from './reasons.ts';
import { type Resolution, resolveInstance } from './resolve.ts';
import { createRetryBackoff, fingerprint } from './retry-backoff.ts';
import { createWait, heldRetryMs } from './wait.ts';
import { type WriteOutcome, writeNode } from './write-node.ts';

/** A write that the API server refused is not tried again before this, unless the Node or its report changes. */
const refusedRetryMs = 30_000;
/** How soon a node is looked at again while everything is paused. */
const pausedRetryMs = 5000;
/** An answer of the API server is ahead of the cache by this at the most; longer, and it is the version that does not compare (a restored backup). */
const cacheLagMs = 30_000;

/** Keeps Nodes what their instances say: the one place that initialises them and keeps them current. */
export interface NodeReconciler {
  /** One node, by name. Reads and writes the cluster; throws a KubeError to be tried again. Safe to repeat at any moment. */
  reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined>;
  /** Takes note of a change in the cache; at once. */
  observe(event: InformerEvent<NodeView>): void;
  /** The next reconcile of this node asks the cloud again, whatever is known. */
  requestLookup(name: string): void;
  readonly instances: InstanceCache;
  readonly waiting: WaitingNodes<InitializedReason>;
}

/** @param writes bounds how many Nodes are written at once; waiting for a lookup holds no place in it */
export function createNodeReconciler(context: NodeContext, writes: Semaphore): NodeReconciler {
  const { api, clock, log, nodes, resolver, events, metrics } = context;
  const instances = createInstanceCache();
  const waiting = createWaitingNodes<InitializedReason>(metrics.uninitialized);
  const claims = createInstanceClaims();
  /** An API of a cloud does not give one address to two instances; an agent could say so. */
  const believesReports = resolver.configured.some((cloud) => cloud.api === undefined);
  const addressHolders = believesReports ? createAddressHolders() : undefined;
  const addressRemovals = createAddressRemovals();
  const lookupRequested = new Set<string>();
  const backoffs = createRetryBackoff(clock);
  const wait = createWait(context, { writes, waiting, backoffs, wrote });
  /** What we wrote last: an older Node in the cache is not worth deciding on. */
  const writtenVersion = new Map<string, { readonly version: string; readonly atMs: number }>();

  function observe(event: InformerEvent<NodeView>): void {
    addressHolders?.observe(event);
    if (event.type === 'deleted') forget(event.key);
    else noteHolder(event.object);
  }

  function forget(name: string): void {
    instances.forget(name);
    waiting.done(name);
    claims.release(name);
    addressHolders?.release(name);
    addressRemovals.forget(name);
    lookupRequested.delete(name);
    backoffs.forget(name);
    writtenVersion.delete(name);
  }

  function noteHolder(node: NodeView): void {
    if (isUninitialized(node)) return;
    const instance = instanceOf(node);
    if (instance && mayHold(node, instance)) claims.note(instanceKey(instance), node.name);
  }

  /** What was found for the Node; before that, no more than its providerID says. */
  function instanceOf(node: NodeView): Instance | undefined {
    const found = instances.get(node.name, node.uid)?.instance;
    if (found !== undefined) return found;
    const ownership = ownershipOf(node, resolver.configured);
    const cloud = ownership.kind === 'owned' ? ownership.clouds[0]?.name : undefined;
    const id = cloud && providerIdCodecs.get(cloud)?.parse(node.providerID)?.instanceId;
    return cloud && id ? { cloud, id, providerID: node.providerID, addresses: [] } : undefined;
  }

  /** A kubelet that says it is not ready lives; only one that stopped saying anything may have lost its VM to another Node. */
  function alive(name: string): boolean {
    const node = nodes.get(name);
    return node !== undefined && !node.deleting && readiness(node) !== 'Unknown';
  }

  /**
   * A kubelet may register a Node with any providerID and without the taint. Such a Node holds no instance that its
   * signed document contradicts, and where proof is required, none that is not proved of it. A report that contradicts
   * is not enough: an agent that errs would give the instance of its Node away.
   */
  function mayHold(node: NodeView, instance: Instance): boolean {
    const attested = reportOf(context, node)?.attestation?.instance;
    if (requiresAttestation(instance.cloud, resolver.configured)) return isProved(node, instance, attested);
    return attested === undefined || documentContradicts(attested, instance) === undefined;
  }

  /** A holder is judged by what is known of itself, never by what the Node that asks says of the instance. */
  function holds(name: string): boolean {
    const node = nodes.get(name);
    if (node === undefined || !alive(name)) return false;
    const instance = instanceOf(node);
    return instance !== undefined && mayHold(node, instance);
  }

  /** Takes the instance for the Node, if it may hold it; answers the Node that holds it against this one. */
  function claim(node: NodeView, instance: Instance): string | undefined {
    if (mayHold(node, instance)) return claims.take(instanceKey(instance), node.name, holds);
    claims.release(node.name);
    return undefined;
  }

  async function reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined> {
    try {
      return await attempt(name);
    } finally {
      // It may have gone while its instance was looked up: what was learnt since would be kept for ever.
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
      : backoffs.remainingMs(name, fingerprint(node, reportOf(context, node)?.report));
    if (closedForMs > 0) return { requeueAfterMs: closedForMs };
    return isUninitialized(node) ? join(node) : keepCurrent(node);
  }

  /** How long the cache may still be behind our own write; 0 when it is not. */
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

  /** A node that waits for initialisation. */
  async function join(node: NodeView) {
    // Before the question: a hint that comes while it is under way asks for another.
    lookupRequested.delete(node.name);
    const resolution = await resolve(node);
    if (resolution.kind === 'foreign') {
      waiting.done(node.name);
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

  /** What was signed outranks what the body of a report says. */
  async function resolve(node: NodeView): Promise<Resolution> {
    const stored = reportOf(context, node);
    const resolution = await resolveInstance(node, stored?.report, resolver);
    if (resolution.kind !== 'found' || resolution.power !== undefined) return resolution;
    return { ...resolution, instance: withSignedPlace(resolution.instance, stored?.attestation?.instance) };
  }

  function isReportOnly(node: NodeView): boolean {
    const ownership = ownershipOf(node, resolver.configured);
    return ownership.kind === 'owned' && ownership.clouds.every((cloud) => cloud.api === undefined);
  }

  /** An initialised node: what is known is enough, unless something hints at a change. */
  async function keepCurrent(node: NodeView) {
    waiting.done(node.name);
    let held = instances.get(node.name, node.uid);
    const asked = lookupRequested.delete(node.name);
    if (asked || isReportOnly(node)) {
      const resolution = await resolve(node);
      if (resolution.kind === 'waiting' && asked) {
        // The question stays open: an address that waits for a second answer would otherwise wait for ever.
        lookupRequested.add(node.name);
        return { requeueAfterMs: Math.max(resolution.retryAfterMs ?? 0, heldRetryMs) };
      }
      if (resolution.kind !== 'found') return undefined;
      held = { uid: node.uid, instance: resolution.instance, scope: resolution.scope, readAtMs: clock.monotonic() };
    }
    return held === undefined ? undefined : write(node, held);
  }

  async function write(
    node: NodeView,
    found: {
      readonly instance: Parameters<typeof writeNode>[2]['instance'];
      readonly scope: string;
      readonly readAtMs: number;
    },
  ) {
    const elsewhere = recordedElsewhere(node, found.scope);
    if (elsewhere !== undefined) return wait(node, 'IdentityConflict', elsewhere);
    const { cloud } = found.instance;
    const holder = claim(node, found.instance);
    if (holder !== undefined) {
      return wait(node, 'IdentityConflict', `instance ${found.instance.id} is held by live Node ${holder}`);
    }
    if (cloudOfReportScope(found.scope) !== undefined) {
      const taken = addressHolders?.take(node, found.instance.addresses, alive);
      if (taken !== undefined) {
        unclaim(node);
        return wait(node, 'IdentityConflict', `address ${taken.address} is held by live Node ${taken.holder}`);
      }
    }
    instances.put(node.name, { uid: node.uid, ...found });
    const stored = reportOf(context, node);
    const report = stored?.report;
    const attested = stored?.attestation?.instance;
    const recordsProof = requiresAttestation(cloud, resolver.configured);
    let pending = false;
    const keep = (current: NodeView, desired: DesiredNode): DesiredNode => {
      if (
        desired.addresses === undefined ||
        isUninitialized(current) ||
        sameAddresses(desired.addresses, current.addresses)
      ) {
        return desired;
      }
      const confirmed = addressRemovals.confirm(
        node.name,
        current.addresses,
        desired.addresses,
        found.readAtMs,
        report,
      );
      pending = confirmed.pending;
      return { ...desired, addresses: confirmed.addresses };
    };
    let outcome: WriteOutcome;
    try {
      outcome = await writes.run(async () =>
        context.paused()
          ? { kind: 'dropped' }
          : writeNode(
              { api, clock, routesEnabled: context.routesEnabled },
              node,
              { ...found, report, attested, recordsProof },
              keep,
            ),
      );
    } catch (error) {
      if (isNotFound(error)) return undefined;
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
    if (written.untainted) initialised(written.node);
    else if (written.writes > 0)
      log.info('node kept current', { node: node.name, instance: found.instance.id, reason: outcome.reason });
    if (outcome.reason === 'TopologyDrift' && isNews(written.node, outcome)) {
      events.emit(eventTarget(node), { type: 'Warning', reason: 'TopologyDrift', message: outcome.message });
    }
    if (!pending) return undefined;
    lookupRequested.add(node.name);
    return { requeueAfterMs: secondReadMs };
  }

  /** Why what was found in this scope cannot be what the Node has on record; undefined when it can. */
  function recordedElsewhere(node: NodeView, scope: string): string | undefined {
    const recorded = parseRecord(node.annotations[annotations.instance])?.scope;
    const cloud = resolver.configured.find((each) => each.scope === scope);
    if (recorded === undefined || cloud?.api === undefined || mayBecome(recorded, cloud)) return undefined;
    return `its instance is on record in ${recorded}, this credential is of ${scope}: another account is never adopted; if it is right, remove the annotation ${annotations.instance}`;
  }

  /** What it was not given it shall not keep from others: a contradicted claim must not lock the instance's own Node out. */
  function unclaim(node: NodeView): void {
    if (!isUninitialized(node)) return;
    claims.release(node.name);
    addressHolders?.release(node.name);
  }

  function isNews(node: NodeView, { reason, message }: { readonly reason: string; readonly message: string }): boolean {
    const shown = conditionOf(node, conditions.cloudInitialized);
    return shown?.reason !== reason || shown.message !== conditionMessage(message);
  }

  function initialised(node: NodeView): void {
    waiting.done(node.name);
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

/** A write the API server will not take as it is: nothing that a repetition soon would change. Undefined for any other failure. */
function refusalOf(error: unknown): { readonly reason: InitializedReason; readonly message: string } | undefined {
  if (!isKubeError(error)) return undefined;
  const { status, message } = error;
  // 422: what we would write contradicts what the Node holds for good (an immutable providerID).
  if (status === 422) return { reason: 'IdentityConflict', message };
  // 403 and 400: RBAC, or an admission webhook.
  return status === 400 || status === 403 ? { reason: 'WriteRefused', message } : undefined;
}
