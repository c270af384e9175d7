import type { Timer } from '../../common/process/clock.ts';
import { errorFields } from '../../common/process/log.ts';
import { append } from '../append.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { InformerEvent } from '../kube/informer.ts';
import type { Canary } from './absence.ts';
import { pickCanaries } from './canaries.ts';
import { createEffects, type EffectsOptions, type Examined } from './effects.ts';
import { examine } from './examine.ts';
import { type NodeContext, reportOf } from './node-context.ts';
import { conditionOf, instanceMissing, isPaused, type NodeView, readiness } from './node-view.ts';
import { answeringCloud } from './ownership.ts';
import { powerTaintsOf } from './power-taints.ts';
import { createSuspects, type Suspect } from './suspects.ts';

export interface LifecycleOptions extends EffectsOptions {
  /** `--node-monitor-period`: passes start at least this far apart, and looks due within one period share a pass. */
  readonly periodMs: number;
  /** Asks for the node to be brought up to date: its instance was found. */
  found(name: string, lookup: Lookup & { state: 'found' }, scope: string): void;
}

/** Removes Nodes whose VM is gone and marks those whose VM is off, never on less evidence than DESIGN's first promise asks for. */
export interface Lifecycle {
  /** Takes note of a change in the cache; at once. */
  observe(event: InformerEvent<NodeView>): void;
  /** Something says that this node's VM may have stopped or gone. */
  hint(name: string): void;
  /** Looks at every suspect whose time has come, in one batched lookup a scope. */
  pass(): Promise<void>;
  /** Runs passes until the signal aborts; resolves when the last one ended. */
  run(signal: AbortSignal): Promise<void>;
  /** Monotonic time at which the loop last came round. */
  readonly lastProgressMs: number;
}

const firstRetryMs = 5000;
const maxRetryMs = 60_000;
/** For a minute after its agent took leave, a VM is looked at every five seconds: an orderly shutdown takes that long to show in a cloud. */
const leavingTries = 12;

export function createLifecycle(context: NodeContext, options: LifecycleOptions): Lifecycle {
  const { clock, log, nodes, resolver } = context;
  const suspects = createSuspects(clock);
  const effects = createEffects(context, options, { drop: (name) => suspects.drop(name), retry });
  let lastProgressMs = clock.monotonic();
  let wake: (() => void) | undefined;

  function observe(event: InformerEvent<NodeView>): void {
    if (event.type === 'deleted') drop(event.key);
    else watchReadiness(event.object, event.type === 'updated' && readiness(event.old) !== readiness(event.object));
  }

  function drop(name: string): void {
    suspects.drop(name);
    effects.done(name);
  }

  function watchReadiness(node: NodeView, changed: boolean): void {
    const leftover = powerTaintsOf(node).shutdown || conditionOf(node, instanceMissing)?.status === 'True';
    if (readiness(node) === 'True' && !leftover) {
      if (suspects.get(node.name)?.hinted !== true) drop(node.name);
      return;
    }
    suspects.add(node.name, node.uid, false, changed);
    wake?.();
  }

  function hint(name: string): void {
    const node = nodes.get(name);
    if (node === undefined) return;
    suspects.add(name, node.uid, true, true);
    wake?.();
  }

  async function pass(): Promise<void> {
    lastProgressMs = clock.monotonic();
    if (context.paused()) return postpone();
    const byScope = new Map<string, { readonly suspect: Suspect; readonly node: NodeView }[]>();
    for (const suspect of suspects.due(Math.min(1000, options.periodMs / 2))) {
      const node = nodes.get(suspect.name);
      const cloud = node && answeringCloud(node, resolver.configured);
      if (node === undefined || node.deleting || node.uid !== suspect.uid || cloud === undefined) drop(suspect.name);
      else if (isPaused(node)) retry(suspect);
      else if (readiness(node) === 'True' && !suspect.hinted) await recovered(suspect, node);
      else append(byScope, cloud.scope, { suspect, node });
    }
    for (const [scope, due] of byScope) await passOfScope(scope, due);
    lastProgressMs = clock.monotonic();
  }

  function postpone(): void {
    for (const suspect of suspects.due(0)) suspect.nextAtMs = clock.monotonic() + options.periodMs;
  }

  function retry(suspect: Suspect, atLeastMs = 0): void {
    suspect.tries += 1;
    const delay = Math.max(atLeastMs, Math.min(maxRetryMs, firstRetryMs * 2 ** Math.min(suspect.tries - 1, 10)));
    suspect.nextAtMs = clock.monotonic() + delay;
  }

  async function passOfScope(
    scope: string,
    due: readonly { readonly suspect: Suspect; readonly node: NodeView }[],
  ): Promise<void> {
    const lookups = resolver.lookupsOf(scope);
    if (lookups === undefined) return;
    const ref = (node: NodeView): InstanceRef => ({ by: 'providerID', providerID: node.providerID });
    const canaries = pickCanaries(nodes.values(), scope, suspects.names);
    const answers = await lookups.lookupAll(
      due.map(({ node }) => ref(node)),
      { canaries },
    );
    const canary = canaryOf(canaries, answers);
    const examined: Examined[] = [];
    await Promise.all(
      due.map(async ({ suspect, node }) => {
        const lookup = answers.get(refKey(ref(node)));
        if (lookup === undefined || lookup.state === 'unknown') {
          if (suspect.series) effects.note(suspect.name, node, 'CloudUnknown');
          return retry(suspect, lookup?.error.retryAfterMs);
        }
        if (lookup.state === 'found' && lookup.power !== 'stopped') return foundAlive(suspect, node, lookup, scope);
        if (
          lookup.state === 'found' &&
          powerTaintsOf(node).shutdown &&
          powerTaintsOf(node).outOfService === options.outOfServiceTaint
        ) {
          return retry(suspect);
        }
        examined.push({ suspect, node, finding: await examine(context, suspect, lookup, scope, canary) });
      }),
    );
    await effects.settle(examined);
  }

  function canaryOf(canaries: readonly InstanceRef[], answers: ReadonlyMap<string, Lookup>): Canary {
    if (canaries.length === 0) return 'none';
    const seen = canaries.map((each) => answers.get(refKey(each)));
    return seen.some((lookup) => lookup?.state === 'found' && lookup.request === 'id') ? 'found' : 'not-found';
  }

  async function foundAlive(
    suspect: Suspect,
    node: NodeView,
    lookup: Lookup & { state: 'found' },
    scope: string,
  ): Promise<void> {
    suspect.series = undefined;
    options.found(node.name, lookup, scope);
    await effects.clear(node);
    const leaving = suspect.hinted && reportOf(context, node)?.report.leaving === true;
    if (lookup.power === 'changing' || (leaving && suspect.tries < leavingTries)) {
      suspect.tries += 1;
      suspect.nextAtMs = clock.monotonic() + firstRetryMs;
    } else if (readiness(node) === 'True') drop(node.name);
    else retry(suspect);
  }

  /** Ready again: whatever we marked is taken back, without asking the cloud. */
  async function recovered(suspect: Suspect, node: NodeView): Promise<void> {
    if (await effects.clear(node)) drop(node.name);
    else retry(suspect);
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await pass();
      } catch (error) {
        log.error('lifecycle pass failed', errorFields(error));
        postpone();
      }
      await untilDue(signal);
    }
  }

  /** Waits for the next suspect's time, at least a period after this pass, at most ten seconds so that the loop shows progress. */
  function untilDue(signal: AbortSignal): Promise<void> {
    const endedMs = clock.monotonic();
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const finish = () => {
        timer?.cancel();
        wake = undefined;
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const arm = () => {
        timer?.cancel();
        const now = clock.monotonic();
        const dueMs = Math.min(suspects.nextAtMs() ?? Number.POSITIVE_INFINITY, now + 10_000);
        // A new suspect is looked at almost at once: others of the same event join the pass within this moment.
        timer = clock.setTimer(Math.max(200, dueMs - now, endedMs + Math.min(1000, options.periodMs) - now), finish);
      };
      wake = arm;
      if (signal.aborted) return finish();
      signal.addEventListener('abort', finish, { once: true });
      arm();
    });
  }

  return {
    observe,
    hint,
    pass,
    run,
    get lastProgressMs() {
      return lastProgressMs;
    },
  };
}
