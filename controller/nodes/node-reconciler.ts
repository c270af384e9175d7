import { backoffMs } from '../../common/process/backoff.ts';
import { errorFields } from '../../common/process/log.ts';
import { schemeOf } from '../../common/provider-id/codec.ts';
import { providerIdCodecs } from '../../common/provider-id/registry.ts';
import { conditions } from '../../common/well-known.ts';
import { isKubeError, isNotFound } from '../kube/api.ts';
import type { InformerEvent } from '../kube/informer.ts';
import type { Semaphore } from '../semaphore.ts';
import { sameAddresses } from './addresses.ts';
import { createClaims, instanceKey } from './claims.ts';
import type { DesiredNode } from './desired.ts';
import { createKnownInstances, type KnownInstances } from './known-instances.ts';
import { eventTarget, type NodeContext, reportOf } from './node-context.ts';
import { conditionOf, isPaused, isUninitialized, type NodeView, readiness } from './node-view.ts';
import { createOmissions, secondReadMs } from './omissions.ts';
import { ownershipOf } from './ownership.ts';
import type { InitializedReason } from './reasons.ts';
import { resolveInstance } from './resolve.ts';
import { isOlder } from './resource-version.ts';
import { createWaitingNodes, type WaitingNodes } from './waiting.ts';
import { type WriteOutcome, writeCondition, writeNode } from './write-node.ts';

/** Waiting nodes are looked up together: their next tries are rounded up to this grid once they are far apart. */
const retryGridMs = 15_000;

/** Keeps Nodes what their instances say: the one place that initialises them and keeps them current. */
export interface NodeReconciler {
  /** One node, by name. Reads and writes the cluster; throws a KubeError to be tried again. Safe to repeat at any moment. */
  reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined>;
  /** Takes note of a change in the cache; at once. */
  observe(event: InformerEvent<NodeView>): void;
  /** The next reconcile of this node asks the cloud again, whatever is known. */
  lookAgain(name: string): void;
  readonly known: KnownInstances;
  readonly waiting: WaitingNodes<InitializedReason>;
}

/** @param writes bounds how many Nodes are written at once; waiting for a lookup holds no place in it */
export function createNodeReconciler(context: NodeContext, writes: Semaphore): NodeReconciler {
  const { api, clock, random, log, nodes, resolver, events, metrics } = context;
  const known = createKnownInstances();
  const waiting = createWaitingNodes<InitializedReason>(metrics.uninitialized);
  const claims = createClaims();
  const omissions = createOmissions();
  const again = new Set<string>();
  /** What we wrote last: an older Node in the cache is not worth deciding on. */
  const writtenVersion = new Map<string, string>();

  function observe(event: InformerEvent<NodeView>): void {
    if (event.type === 'deleted') forget(event.key);
    else noteHolder(event.object);
  }

  function forget(name: string): void {
    known.forget(name);
    waiting.done(name);
    claims.release(name);
    omissions.forget(name);
    again.delete(name);
    writtenVersion.delete(name);
  }

  function noteHolder(node: NodeView): void {
    if (node.providerID === '' || isUninitialized(node)) return;
    const cloud = schemeOf(node.providerID);
    const id = cloud && providerIdCodecs.get(cloud)?.parse(node.providerID)?.instanceId;
    if (cloud && id) claims.note(instanceKey({ cloud, id }), node.name);
  }

  function alive(name: string): boolean {
    const node = nodes.get(name);
    return node !== undefined && !node.deleting && readiness(node) !== 'False' && readiness(node) !== 'Unknown';
  }

  async function reconcile(name: string): Promise<{ readonly requeueAfterMs?: number } | undefined> {
    const node = nodes.get(name);
    if (node === undefined || node.deleting) {
      waiting.done(name);
      return undefined;
    }
    if (context.paused() || isPaused(node)) return undefined;
    const lastWritten = writtenVersion.get(name);
    if (lastWritten !== undefined && isOlder(node.resourceVersion, lastWritten)) return undefined;
    return isUninitialized(node) ? join(node) : keepCurrent(node);
  }

  /** A node that waits for initialisation. */
  async function join(node: NodeView) {
    const stored = reportOf(context, node);
    const resolution = await resolveInstance(node, stored?.report, resolver);
    again.delete(node.name);
    if (resolution.kind === 'foreign') {
      waiting.done(node.name);
      return undefined;
    }
    if (resolution.kind === 'waiting')
      return wait(node, resolution.reason, resolution.message, resolution.retryAfterMs);
    if (resolution.kind === 'missing') return wait(node, 'InstanceNotFound', resolution.message);
    const { instance, scope } = resolution;
    const holder = claims.take(instanceKey(instance), node.name, alive);
    if (holder !== undefined) {
      return wait(node, 'IdentityConflict', `instance ${instance.id} is held by live Node ${holder}`);
    }
    return write(node, { instance, scope, readAtMs: clock.monotonic() });
  }

  function isReportOnly(node: NodeView): boolean {
    const ownership = ownershipOf(node, resolver.configured);
    return ownership.kind === 'owned' && ownership.clouds.every((cloud) => cloud.api === undefined);
  }

  /** An initialised node: what is known is enough, unless something hints at a change. */
  async function keepCurrent(node: NodeView) {
    waiting.done(node.name);
    let held = known.get(node.name, node.uid);
    if (again.has(node.name) || isReportOnly(node)) {
      again.delete(node.name);
      const resolution = await resolveInstance(node, reportOf(context, node)?.report, resolver);
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
    known.put(node.name, { uid: node.uid, ...found });
    const report = reportOf(context, node)?.report;
    let pending = false;
    const keep = (current: NodeView, desired: DesiredNode): DesiredNode => {
      if (
        desired.addresses === undefined ||
        isUninitialized(current) ||
        sameAddresses(desired.addresses, current.addresses)
      ) {
        return desired;
      }
      const settled = omissions.settle(node.name, current.addresses, desired.addresses, found.readAtMs, report);
      pending = settled.pending;
      return { ...desired, addresses: settled.addresses };
    };
    let outcome: WriteOutcome;
    try {
      outcome = await writes.run(() => writeNode({ api, clock }, node, { ...found, report }, keep));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      // 422: the API server finds the write contradicts what the Node holds for good (an immutable providerID).
      if (isKubeError(error) && error.status === 422) return wait(node, 'IdentityConflict', error.message);
      throw error;
    }
    if (outcome.kind === 'refused') return wait(outcome.node, outcome.reason, outcome.message);
    const { written } = outcome;
    if (written.writes > 0) {
      writtenVersion.set(node.name, written.resourceVersion);
      metrics.nodeWrites.add(written.writes);
    }
    if (written.untainted) initialised(written.node);
    else if (written.writes > 0)
      log.info('node kept current', { node: node.name, instance: found.instance.id, reason: outcome.reason });
    if (outcome.reason === 'TopologyDrift' && written.writes > 0) {
      events.emit(eventTarget(node), { type: 'Warning', reason: 'TopologyDrift', message: outcome.message });
    }
    if (!pending) return undefined;
    again.add(node.name);
    return { requeueAfterMs: secondReadMs };
  }

  function initialised(node: NodeView): void {
    waiting.done(node.name);
    const seconds = Math.max(0, clock.now() - node.createdAtMs) / 1000;
    metrics.taintRemovalDelay.observe(seconds);
    metrics.initialSyncDelay.observe(seconds);
    log.info('node initialised', { node: node.name, instance: known.get(node.name, node.uid)?.instance.id, seconds });
    events.emit(eventTarget(node), { type: 'Normal', reason: 'Synced', message: 'Node synced successfully' });
  }

  /** Says why on the Node, once per reason, and comes back later. */
  async function wait(node: NodeView, reason: InitializedReason, message: string, retryAfterMs = 0) {
    const tries = isUninitialized(node) ? waiting.wait(node.name, reason, message) : 1;
    const shown = conditionOf(node, conditions.cloudInitialized);
    const changed = shown?.status !== 'False' || shown.reason !== reason;
    if (changed) {
      log.warn('node waits for initialisation', { node: node.name, reason, why: message });
      events.emit(eventTarget(node), {
        type: 'Warning',
        reason: 'CloudInitializedChanged',
        message: `${reason}: ${message}`,
      });
    }
    // A message may differ at every try; it is written again ever more rarely.
    if (changed || Number.isInteger(Math.log2(tries))) {
      try {
        const version = await writes.run(() =>
          writeCondition({ api, clock }, node, { type: conditions.cloudInitialized, status: 'False', reason, message }),
        );
        if (version !== undefined) writtenVersion.set(node.name, version);
      } catch (error) {
        if (isNotFound(error)) return undefined;
        log.warn('reason not written', { node: node.name, reason, ...errorFields(error) });
      }
    }
    const delay = Math.max(retryAfterMs, backoffMs(tries, { firstMs: 1000, maxMs: 60_000, random }));
    const at = clock.monotonic() + delay;
    const onGrid = delay < retryGridMs ? at : Math.ceil(at / retryGridMs) * retryGridMs;
    return { requeueAfterMs: onGrid - clock.monotonic() };
  }

  return { reconcile, observe, known, waiting, lookAgain: (name) => again.add(name) };
}
