import { isCloudError } from '../../common/cloud-error.ts';
import type { Instance } from '../../common/instance.ts';
import { backoffMs } from '../../common/process/backoff.ts';
import { errorFields } from '../../common/process/log.ts';
import type { NodeTags, Tags } from '../clouds/node-tags.ts';
import { WithheldError } from '../clouds/permit.ts';
import { createTokenBucket } from '../clouds/token-bucket.ts';
import { isPaused, type NodeView } from '../model/node-view.ts';
import { eventTarget } from '../nodes/node-context.ts';
import { createDepartedTags } from './departed-tags.ts';
import type { NodeTagsContext } from './node-tags-context.ts';
import type { NodeTagsOptions } from './node-tags-options.ts';
import type { NodeTagEventReason, NodeTagReason } from './reasons.ts';
import { type BatchResult, sendBatch } from './tag-batch.ts';
import { createTagCounts } from './tag-counts.ts';
import { type TagDifference, tagDifference } from './tag-difference.ts';

export interface ScopeTagsParts {
  readonly scope: string;
  readonly nodeTags: NodeTags;
  readonly options: NodeTagsOptions;
  /** By instance, as its Nodes. */
  keyOf(providerID: string): string;
  /** The Nodes of this scope that have this instance. */
  nodesOf(key: string): readonly NodeView[];
  /** How many instances of this scope have Nodes. */
  size(): number;
  /** Run a round soon. */
  wake(): void;
}

/** The tags of the instances of one scope: what is to be set or removed, and the calls. */
export interface ScopeTags {
  /** The cloud has shown an instance. */
  seen(instance: Instance): void;
  /** A Node was deleted whose instance was tagged. */
  gone(node: NodeView): void;
  /** Sets and removes tags, in as few calls as possible. Safe to repeat. */
  round(signal: AbortSignal): Promise<{ readonly requeueAfterMs?: number }>;
  /** Forgets what is read again in each term. */
  endTerm(): void;
}

interface Pending {
  readonly key: string;
  readonly providerID: string;
  readonly difference: TagDifference;
}

/** A list may show the tags as they were for a while. */
const settleMs = 30_000;
const pausedMs = 1500;

export function createScopeTags(context: NodeTagsContext, parts: ScopeTagsParts): ScopeTags {
  const { clock, random, events, metrics } = context;
  const { scope, nodeTags, options, keyOf, nodesOf } = parts;
  const { tags, limits } = options;
  const log = context.log.with({ scope });
  const bucket = limits && createTokenBucket(limits, clock);
  const pending = new Map<string, Pending>();
  /** By instance: when its tags were set, monotonic. */
  const setAt = new Map<string, number>();
  /** By instance: why the cloud refused its tags, until they are as desired or the Node is gone. */
  const refusals = new Map<string, NodeTagReason>();
  const counts = createTagCounts(metrics.waiting, scope);
  const departed = createDepartedTags(context, { ...parts, isHeld: (key) => nodesOf(key).length > 0 });
  let failures = 0;
  let failed: NodeTagReason | undefined;
  let notBeforeMs = Number.NEGATIVE_INFINITY;

  function seen(instance: Instance): void {
    if (instance.tags === undefined) return;
    const key = keyOf(instance.providerID);
    departed.seen(key, instance.tags);
    const difference = tagDifference(tags, instance.tags);
    const setMs = setAt.get(key);
    if (difference === undefined || (setMs !== undefined && clock.monotonic() - setMs < settleMs)) {
      pending.delete(key);
      if (difference === undefined) for (const map of [setAt, refusals]) map.delete(key);
      return;
    }
    pending.set(key, { key, providerID: instance.providerID, difference });
    parts.wake();
  }

  const isHeldBack = (key: string) => nodesOf(key).some(isPaused);

  /** Those that may be sent now: as many as one call and the rate limit of the flags take. */
  function take<Item extends { readonly key: string }>(items: Iterable<Item>): Item[] {
    const taken: Item[] = [];
    for (const item of items) {
      if (taken.length >= nodeTags.batchSize) break;
      if (isHeldBack(item.key)) continue;
      if (bucket?.take() === false) break;
      taken.push(item);
    }
    return taken;
  }

  async function set(signal: AbortSignal): Promise<unknown> {
    for (const key of pending.keys()) if (nodesOf(key).length === 0) pending.delete(key);
    for (const key of refusals.keys()) if (nodesOf(key).length === 0) refusals.delete(key);
    const result = await sendBatch(
      take(pending.values()),
      ({ providerID }) => providerID,
      (items) => {
        const permit = context.permit(() => items.some(({ key }) => isHeldBack(key)) && 'a Node is paused');
        return nodeTags.set(
          items.map(({ providerID }) => providerID),
          tags,
          { permit, signal },
        );
      },
    );
    for (const item of result.done) {
      pending.delete(item.key);
      refusals.delete(item.key);
      setAt.set(item.key, clock.monotonic());
      tellOverwritten(item);
    }
    for (const { item, error } of result.refused) {
      // It is tried again when the instance is read the next time.
      pending.delete(item.key);
      if (refusals.get(item.key) !== error.kind)
        tell(item, 'InstanceNotTagged', `Tags of instance ${item.providerID} not set: ${error.kind}: ${error.message}`);
      refusals.set(item.key, error.kind);
    }
    report('set', result);
    return result.failure;
  }

  async function remove(signal: AbortSignal): Promise<unknown> {
    const result = await sendBatch(
      take(await departed.due(signal)),
      ({ providerID }) => providerID,
      (items) => {
        const permit = context.permit(() => items.some(({ key }) => nodesOf(key).length > 0) && 'a Node is back');
        return nodeTags.remove(
          items.map(({ providerID }) => providerID),
          tags,
          { permit, signal },
        );
      },
    );
    for (const { key } of result.done) departed.forget(key);
    for (const { item, error } of result.refused) {
      log.warn('tags not removed', { node: item.node, instance: item.providerID, why: error.message });
      departed.forget(item.key);
    }
    report('remove', result);
    return result.failure;
  }

  function report(action: 'set' | 'remove', { done, refused }: BatchResult<unknown>): void {
    if (done.length > 0) {
      metrics.changes.add({ scope, action }, done.length);
      log.info(action === 'set' ? 'instances tagged' : 'tags removed', { instances: done.length, tags: names(tags) });
    }
    if (refused.length > 0)
      log.warn('tags refused', {
        instances: refused.length,
        kinds: [...new Set(refused.map(({ error }) => error.kind))],
      });
  }

  function tellOverwritten(item: Pending): void {
    for (const { key, value } of item.difference.differing) {
      const [before, now] = [value, tags[key]].map((text) => JSON.stringify(text));
      tell(item, 'InstanceTagOverwritten', `Tag ${key} of instance ${item.providerID} was ${before}, now ${now}`);
    }
  }

  function tell({ key }: Pending, reason: NodeTagEventReason, message: string): void {
    log.warn('tags of an instance', { reason, message });
    for (const node of nodesOf(key)) events.emit(eventTarget(node), { type: 'Warning', reason, message });
  }

  async function round(signal: AbortSignal): Promise<{ readonly requeueAfterMs?: number }> {
    try {
      if (context.paused()) return hasWork() ? { requeueAfterMs: pausedMs } : {};
      const restMs = notBeforeMs - clock.monotonic();
      if (restMs > 0) return { requeueAfterMs: restMs };
      const ofSetting = await set(signal);
      // A failure to set keeps nothing from being removed.
      const failure = (await remove(signal)) ?? ofSetting;
      return failure === undefined ? next() : rest(failure);
    } finally {
      count();
    }
  }

  const hasWork = () => pending.size > 0 || departed.size > 0;

  function next(): { readonly requeueAfterMs?: number } {
    failures = 0;
    failed = undefined;
    const isReady = [...pending.keys()].some((key) => !isHeldBack(key));
    if (isReady) return { requeueAfterMs: bucket?.waitMs() ?? 0 };
    const waitMs = departed.waitMs();
    return waitMs === undefined ? {} : { requeueAfterMs: Math.max(waitMs, bucket?.waitMs() ?? 0) };
  }

  /** After a failure of the whole. New Nodes must not hurry it, so the rest is kept here and not by the queue alone. */
  function rest(error: unknown): { readonly requeueAfterMs: number } {
    if (error instanceof WithheldError) return { requeueAfterMs: pausedMs };
    failures += 1;
    failed = isCloudError(error) ? error.kind : 'Unavailable';
    const askedMs = isCloudError(error) ? (error.retryAfterMs ?? 0) : 0;
    const restMs = Math.max(askedMs, backoffMs(failures, { firstMs: 1000, maxMs: 120_000, random }));
    notBeforeMs = clock.monotonic() + restMs;
    log.warn('tags not written, will be repeated', { failures, retryInMs: Math.round(restMs), ...errorFields(error) });
    return { requeueAfterMs: restMs };
  }

  function count(): void {
    const isAllPaused = context.paused();
    const whySet = (key: string) => (isAllPaused || isHeldBack(key) ? 'Paused' : (failed ?? 'Pending'));
    counts.show('set', [...[...pending.keys()].map(whySet), ...refusals.values()]);
    counts.show('remove', departed.reasons(isAllPaused ? 'Paused' : (failed ?? 'Pending')));
  }

  return {
    seen,
    gone(node) {
      departed.add(node);
      parts.wake();
    },
    round,
    endTerm() {
      for (const map of [pending, setAt, refusals]) map.clear();
      counts.clear();
      failures = 0;
      failed = undefined;
      notBeforeMs = Number.NEGATIVE_INFINITY;
    },
  };
}

function names(tags: Tags): string {
  return Object.keys(tags).join(',');
}
