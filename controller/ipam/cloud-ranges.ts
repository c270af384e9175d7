import { refKey } from '../clouds/cloud.ts';
import { isAttested, requiresAttestation } from '../model/attested.ts';
import { type Cidr, overlap, parseCidr } from '../model/cidr.ts';
import { isPaused, isUninitialized, type NodeView } from '../model/node-view.ts';
import { ownershipOf } from '../model/ownership.ts';
import { eventTarget } from '../nodes/node-context.ts';
import { createSemaphore } from '../runtime/semaphore.ts';
import { instanceRanges } from './instance-ranges.ts';
import type { IpamContext } from './ipam-context.ts';
import type { CloudRangeOptions } from './ipam-options.ts';
import { createMissedDeletions } from './missed-deletions.ts';
import type { NodeRanges } from './node-ranges.ts';
import type { Owner } from './range-allocator.ts';
import { createRangeWriter, mayHaveHappened } from './range-writer.ts';
import type { IpamEventReason } from './reasons.ts';

const pausedMs = 1500;
const waitMs = 60_000;

/**
 * Gives each Node without pod ranges those of its instance, as the cloud shows them, unless another Node has them: the
 * VM of that Node may be gone, and the cloud may have given its range to another VM. A Node gets ranges once it is
 * initialised and, where that is required, its VM is proved, because until then its providerID is only a claim of the
 * kubelet.
 *
 * @param writesAtOnce lookups are batched, so many Nodes may wait for one
 */
export function createCloudRanges(
  context: IpamContext,
  options: CloudRangeOptions & { readonly writesAtOnce: number },
): NodeRanges {
  const { log, nodes, events, metrics, resolver } = context;
  const writer = createRangeWriter(context);
  const writes = createSemaphore(options.writesAtOnce);
  /** By uid: the ranges that Nodes have, or are being written to them. */
  const held = new Map<string, { readonly owner: Owner; readonly cidrs: readonly Cidr[] }>();
  /** By name: why they wait, and which Node has their range. */
  const waiting = new Map<string, { readonly uid: string; readonly why: string; readonly holder?: string }>();

  function wait(node: NodeView, why: string, holder?: string): { readonly requeueAfterMs: number } {
    const before = waiting.get(node.name);
    waiting.set(node.name, { uid: node.uid, why, ...(holder !== undefined && { holder }) });
    metrics.waiting.set(waiting.size);
    if (before?.uid === node.uid && before.why === why) return { requeueAfterMs: waitMs };
    log.warn('no pod range', { node: node.name, why });
    const reason: IpamEventReason = 'CIDRNotAvailable';
    const message = `Node ${node.name} gets no pod range: ${why}`;
    events.emit(eventTarget(node), { type: 'Warning', reason, message });
    return { requeueAfterMs: waitMs };
  }

  function done(name: string): void {
    if (waiting.delete(name)) metrics.waiting.set(waiting.size);
  }

  function observe({ name, uid, podCIDRs }: NodeView): void {
    if (podCIDRs.length > 0)
      held.set(uid, { owner: { name, uid }, cidrs: podCIDRs.flatMap((text) => parseCidr(text) ?? []) });
  }

  function forget({ name, uid }: Owner): boolean {
    done(name);
    writer.forget(uid);
    held.delete(uid);
    return [...waiting.values()].some(({ holder }) => holder === name);
  }

  /** Another Node that has one of the ranges, or a part of it. */
  function holderOf(
    cidrs: readonly Cidr[],
    uid: string,
  ): { readonly name: string; readonly range: string } | undefined {
    for (const { owner, cidrs: others } of held.values()) {
      const range = owner.uid === uid ? undefined : others.find((other) => cidrs.some((cidr) => overlap(cidr, other)));
      if (range !== undefined) return { name: owner.name, range: range.text };
    }
    return undefined;
  }

  /** Throws a KubeError. */
  async function give(node: NodeView, cidrs: readonly Cidr[]): Promise<void> {
    const { name, uid } = node;
    held.set(uid, { owner: { name, uid }, cidrs });
    try {
      const written = await writer.write(node, cidrs);
      if (written.kind === 'taken') observe(written.node);
      else if (written.kind === 'dropped') held.delete(uid);
    } catch (error) {
      if (!mayHaveHappened(error)) held.delete(uid);
      throw error;
    }
  }

  /** The Node, where it has to get ranges now. */
  function due(name: string): NodeView | undefined {
    const node = nodes.get(name);
    const isDue = node && !node.deleting && node.podCIDRs.length === 0 && !isPaused(node) && !isUninitialized(node);
    return isDue ? node : undefined;
  }

  async function reconcile(name: string): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const node = due(name);
    const ownership = node && ownershipOf(node, resolver.configured);
    if (node === undefined || ownership?.kind !== 'owned') {
      done(name);
      return undefined;
    }
    if (context.paused()) return { requeueAfterMs: pausedMs };
    const [cloud, ...others] = ownership.clouds.filter(({ api }) => api !== undefined);
    if (cloud === undefined) return wait(node, 'no API of its cloud is configured, so its instance shows no pod range');
    if (others.length > 0) return wait(node, 'its instance may be in several scopes');
    if (requiresAttestation(cloud.name, resolver.configured) && !isAttested(node))
      return wait(node, 'no signed document of its VM proves its instance yet (--require-attestation)');
    const ref = { by: 'providerID', providerID: node.providerID } as const;
    const lookup = await resolver.lookupsOf(cloud.scope)?.lookup(ref);
    if (lookup?.state === 'unknown') throw lookup.error;
    if (lookup?.state !== 'found') return wait(node, `${refKey(ref)} is not there`);
    const chosen = instanceRanges(lookup.instance.podRanges, options);
    if ('problem' in chosen) return wait(node, chosen.problem);
    return writes.run(async () => {
      // A Node that has changed during the lookup is reconciled again.
      if (due(name)?.uid !== node.uid) return undefined;
      const { cidrs } = chosen;
      const holder = holderOf(cidrs, node.uid);
      if (holder !== undefined) {
        const ranges = cidrs.map(({ text }) => text).join(', ');
        return wait(node, `its instance has ${ranges}, but Node ${holder.name} has ${holder.range}`, holder.name);
      }
      await give(node, cidrs);
      done(name);
      return undefined;
    });
  }

  const owners = () => [...held.values()].map(({ owner }) => owner);
  return {
    observe,
    removed: forget,
    reconcile,
    waiting: () => [...waiting.keys()],
    audit: createMissedDeletions(context, owners, forget),
  };
}
