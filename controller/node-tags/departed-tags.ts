import { errorFields } from '../../common/process/log.ts';
import { type InstanceRef, refKey } from '../clouds/cloud.ts';
import type { Tags } from '../clouds/node-tags.ts';
import { isPaused, type NodeView } from '../model/node-view.ts';
import { deletionMark } from '../nodes/expected-termination.ts';
import type { NodeTagsContext } from './node-tags-context.ts';
import type { NodeTagsOptions } from './node-tags-options.ts';
import type { NodeTagReason } from './reasons.ts';
import { hasAnyTag } from './tag-difference.ts';

/** An instance whose Node was deleted, and whose tags may have to go. */
export interface Departed {
  readonly key: string;
  readonly providerID: string;
  readonly node: string;
}

export interface DepartedParts {
  readonly scope: string;
  readonly options: Pick<NodeTagsOptions, 'tags' | 'budget'>;
  keyOf(providerID: string): string;
  /** Whether a Node has this instance. */
  isHeld(key: string): boolean;
  size(): number;
}

/**
 * The instances of deleted Nodes. A standby remembers them too, so that a new leader removes what its predecessor did
 * not come to; those of the time in which no replica ran keep their tags.
 */
export interface DepartedTags {
  readonly size: number;
  add(node: NodeView): void;
  /** The cloud has shown this instance with these tags. */
  seen(key: string, tags: Tags): void;
  /** Those that have our tags, as a lookup of the last half minute shows, and may lose them now. */
  due(signal: AbortSignal): Promise<readonly Departed[]>;
  forget(key: string): void;
  /** When to ask again; undefined: nothing waits. */
  waitMs(): number | undefined;
  /** Why each waits. */
  reasons(ready: NodeTagReason): readonly NodeTagReason[];
}

interface Entry extends Departed {
  readonly atMs: number;
  /** Its deletion was expected, or is paid from the budget. */
  isFree: boolean;
  /** When it was looked up last, monotonic. */
  askedMs: number;
  /** Of that lookup. */
  tags: Tags | undefined;
  why: NodeTagReason | undefined;
}

/** What a leader has not removed by then is not removed by its successor either. */
const rememberedMs = 3_600_000;
const askAgainMs = 30_000;

export function createDepartedTags(context: NodeTagsContext, parts: DepartedParts): DepartedTags {
  const { clock, resolver } = context;
  const { scope, options, keyOf, isHeld } = parts;
  const log = context.log.with({ scope });
  /** In the order of their deletion. */
  const entries = new Map<string, Entry>();

  function forgetOld(): void {
    for (const [key, { atMs }] of entries) {
      if (clock.monotonic() - atMs < rememberedMs) return;
      entries.delete(key);
    }
  }

  async function read(signal: AbortSignal): Promise<void> {
    const now = clock.monotonic();
    const asked = [...entries.values()].filter(({ askedMs }) => now - askedMs >= askAgainMs);
    if (asked.length === 0) return;
    for (const entry of asked) Object.assign(entry, { askedMs: now, tags: undefined });
    const refs = asked.map(({ providerID }): InstanceRef => ({ by: 'providerID', providerID }));
    const answers = await resolver.lookupsOf(scope)?.lookupAll(refs, { signal });
    for (const [at, entry] of asked.entries()) {
      const state = answers?.get(refKey(refs[at]!))?.state;
      // The Node may have come back meanwhile.
      const isOver = isHeld(entry.key) || state === 'gone' || state === 'absent';
      if (isOver || (entry.tags !== undefined && !hasAnyTag(options.tags, entry.tags))) entries.delete(entry.key);
      else entry.why = entry.tags === undefined ? 'InstanceUnknown' : undefined;
    }
  }

  async function pay(costly: readonly Entry[]): Promise<void> {
    if (costly.length === 0) return;
    try {
      const granted = await options.budget.take('tag', costly.length, parts.size() + entries.size);
      for (const [at, entry] of costly.entries()) {
        entry.isFree = at < granted;
        entry.why = entry.isFree ? undefined : 'BudgetExhausted';
      }
      if (granted < costly.length)
        log.warn('tags of deleted Nodes stay for now', { instances: costly.length - granted });
    } catch (error) {
      log.warn('budget not written, so no tag is removed', errorFields(error));
    }
  }

  return {
    get size() {
      return entries.size;
    },
    add(node) {
      forgetOld();
      if (isPaused(node)) return;
      const { providerID, name } = node;
      const key = keyOf(providerID);
      // Last, whatever was there: the map is in the order of the deletions.
      entries.delete(key);
      const isFree = deletionMark(node) !== undefined;
      entries.set(key, {
        key,
        providerID,
        node: name,
        atMs: clock.monotonic(),
        isFree,
        askedMs: Number.NEGATIVE_INFINITY,
        tags: undefined,
        why: undefined,
      });
    },
    seen(key, tags) {
      const entry = entries.get(key);
      if (entry !== undefined) entry.tags = tags;
    },
    async due(signal) {
      forgetOld();
      for (const key of entries.keys()) if (isHeld(key)) entries.delete(key);
      if (entries.size === 0) return [];
      await read(signal);
      const tagged = [...entries.values()].filter(({ tags }) => tags !== undefined);
      await pay(tagged.filter(({ isFree }) => !isFree));
      return tagged.filter(({ isFree }) => isFree);
    },
    forget: (key) => entries.delete(key),
    waitMs() {
      if (entries.size === 0) return undefined;
      return [...entries.values()].some(({ isFree, tags }) => isFree && tags !== undefined) ? 0 : askAgainMs;
    },
    reasons: (ready) => [...entries.values()].map(({ why }) => why ?? ready),
  };
}
