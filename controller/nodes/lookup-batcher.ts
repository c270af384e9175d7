import { CloudError } from '../../common/cloud-error.ts';
import type { Instance } from '../../common/instance.ts';
import type { Clock, Timer } from '../../common/process/clock.ts';
import { type Cloud, type InstanceRef, type Lookup, type LookupOptions, refKey } from '../clouds/cloud.ts';
import type { TagLabelRule } from '../model/tag-labels.ts';

/** Batches single lookups into few calls of the cloud. */
export interface LookupBatcher {
  /** Joins the next pass. Never rejects: a failure is answered as `unknown`. Equal refs share one answer. */
  lookup(ref: InstanceRef): Promise<Lookup>;
  /**
   * Runs a pass of its own at once, in as few calls as the cloud's batch size allows. After one that the cloud does not
   * answer, the rest is not asked, and answered as `unknown` with the same error.
   */
  lookupAll(refs: readonly InstanceRef[], options?: LookupOptions): Promise<ReadonlyMap<string, Lookup>>;
  /**
   * Whether a lookup by id has shown an instance, found or in a terminal state, since the current credential was
   * loaded.
   */
  readonly hasSeenInstance: boolean;
}

export interface LookupBatcherOptions {
  readonly cloud: Cloud;
  readonly clock: Clock;
  /** Of an instance's tags only those that become labels are kept: a VM may have many. */
  readonly tagLabels?: readonly TagLabelRule[] | undefined;
  /** Called for each instance that was found, with all its tags, before the lookup is answered. */
  readonly seen?: (instance: Instance) => void;
}

/** A pass starts when no ref was added for this long (in a burst: for a quarter of the window) ... */
const idleMs = 20;
/**
 * ... or this long after its first ref. Doubles, up to eight times, while passes follow each other closely, so that a
 * burst of joining Nodes needs few calls.
 */
const firstWindowMs = 100;

/**
 * Collects refs into passes and runs one pass at a time; refs that arrive during a pass join the next. The number of
 * calls therefore depends on time, not on the number of Nodes.
 */
export function createLookupBatcher(options: LookupBatcherOptions): LookupBatcher {
  const { cloud, clock, tagLabels = [] } = options;
  const waiting = new Map<string, { readonly ref: InstanceRef; readonly resolve: ((lookup: Lookup) => void)[] }>();
  let idle: Timer | undefined;
  let full: Timer | undefined;
  let running = false;
  let due = false;
  let windowMs = firstWindowMs;
  let lastPassEnded = Number.NEGATIVE_INFINITY;
  let seenWithCredential: number | undefined;

  async function ask(refs: readonly InstanceRef[], how?: LookupOptions): Promise<ReadonlyMap<string, Lookup>> {
    const credential = cloud.credential ?? 0;
    const withAllTags = await safeLookup(cloud, refs, how);
    for (const lookup of withAllTags.values()) if (lookup.state === 'found') options.seen?.(lookup.instance);
    const answers = new Map([...withAllTags].map(([key, lookup]) => [key, withFewTags(lookup, tagLabels)]));
    if (refs.some((ref) => ref.by === 'providerID' && isShown(answers.get(refKey(ref)))))
      seenWithCredential = Math.max(credential, seenWithCredential ?? credential);
    return answers;
  }

  function gather(): void {
    if (waiting.size >= cloud.instances.batchSize) {
      start();
      return;
    }
    if (!full) {
      windowMs = clock.monotonic() - lastPassEnded < 2000 ? Math.min(windowMs * 2, firstWindowMs * 8) : firstWindowMs;
      full = clock.setTimer(windowMs, start);
    }
    idle?.cancel();
    // A short gap does not end a burst: Nodes that join a few at a time would otherwise need one pass each.
    idle = clock.setTimer(windowMs > firstWindowMs ? Math.max(idleMs, windowMs / 4) : idleMs, start);
  }

  function start(): void {
    if (running) {
      due = true;
      return;
    }
    idle?.cancel();
    full?.cancel();
    idle = undefined;
    full = undefined;
    due = false;
    const batch = [...waiting.entries()].slice(0, cloud.instances.batchSize);
    for (const [key] of batch) waiting.delete(key);
    if (batch.length > 0) void pass(batch);
  }

  async function pass(
    batch: readonly (readonly [
      string,
      { readonly ref: InstanceRef; readonly resolve: ((lookup: Lookup) => void)[] },
    ])[],
  ) {
    running = true;
    const answers = await ask(batch.map(([, { ref }]) => ref));
    running = false;
    lastPassEnded = clock.monotonic();
    for (const [key, { resolve }] of batch)
      for (const each of resolve) each(answers.get(key) ?? unanswered(cloud, key));
    if (due || waiting.size >= cloud.instances.batchSize) start();
    else if (waiting.size > 0 && !idle) gather();
  }

  return {
    lookup: (ref) =>
      new Promise((resolve) => {
        const key = refKey(ref);
        const entry = waiting.get(key);
        if (entry) entry.resolve.push(resolve);
        else waiting.set(key, { ref, resolve: [resolve] });
        if (!running || waiting.size < cloud.instances.batchSize) gather();
      }),
    async lookupAll(refs, options) {
      const answers = new Map<string, Lookup>();
      for (let from = 0; from < refs.length; from += cloud.instances.batchSize) {
        const part = refs.slice(from, from + cloud.instances.batchSize);
        const found = await ask(part, options);
        for (const [key, lookup] of found) answers.set(key, lookup);
        const outage = outageIn(found);
        if (outage === undefined) continue;
        // Every further part would wait for its time limit: longer than a loop may take that is not stuck.
        for (const one of refs.slice(from)) if (!answers.has(refKey(one))) answers.set(refKey(one), outage);
        break;
      }
      for (const ref of refs) if (!answers.has(refKey(ref))) answers.set(refKey(ref), unanswered(cloud, refKey(ref)));
      return answers;
    },
    get hasSeenInstance() {
      return seenWithCredential === (cloud.credential ?? 0);
    },
  };
}

function withFewTags(lookup: Lookup, rules: readonly TagLabelRule[]): Lookup {
  if (lookup.state !== 'found' || lookup.instance.tags === undefined) return lookup;
  const { tags, ...instance } = lookup.instance;
  if (rules.length === 0) return { ...lookup, instance };
  const kept = Object.entries(tags).filter(([key]) => rules.some(({ tagPrefix }) => key.startsWith(tagPrefix)));
  return { ...lookup, instance: { ...instance, tags: Object.fromEntries(kept) } };
}

/** The answer to all of them, where the cloud could not be reached at all. */
function outageIn(answers: ReadonlyMap<string, Lookup>): Lookup | undefined {
  const isOutage = (lookup: Lookup) =>
    lookup.state === 'unknown' && (lookup.error.kind === 'Timeout' || lookup.error.kind === 'Unavailable');
  const [first] = answers.values();
  return first !== undefined && [...answers.values()].every(isOutage) ? first : undefined;
}

function isShown(lookup: Lookup | undefined): boolean {
  return lookup?.state === 'found' || lookup?.state === 'gone';
}

async function safeLookup(
  cloud: Cloud,
  refs: readonly InstanceRef[],
  options?: LookupOptions,
): Promise<ReadonlyMap<string, Lookup>> {
  try {
    return await cloud.instances.lookup(refs, options);
  } catch (error) {
    const failure =
      error instanceof CloudError
        ? error
        : new CloudError({
            kind: 'Invalid',
            cloud: cloud.name,
            operation: 'lookup',
            message: String(error),
            cause: error,
          });
    return new Map(refs.map((ref) => [refKey(ref), { state: 'unknown', error: failure }]));
  }
}

function unanswered(cloud: Cloud, key: string): Lookup {
  const error = new CloudError({
    kind: 'Invalid',
    cloud: cloud.name,
    operation: 'lookup',
    message: `no answer for ${key}`,
  });
  return { state: 'unknown', error };
}
