import { isCloudError } from '../../common/cloud-error.ts';
import { sleep } from '../../common/process/clock.ts';
import { WithheldError } from '../clouds/permit.ts';
import type { Core } from './core.ts';
import { isBusy, isFull, isLost, isNotFound, isUncertain } from './failure.ts';
import { createSender, type Run } from './sender.ts';
import type { Outcome, Step } from './step.ts';

export interface RunResult {
  readonly errors: readonly { readonly step: Step; readonly error: unknown }[];
  readonly sent: number;
  readonly isParked: boolean;
  /** Members that the cloud refused. */
  readonly refused: readonly string[];
}

const busyTries = 2;
const busyDelayMs = 500;
/** A resource that is busy for longer does not block the worker. */
const longestBusyMs = 3000;

/** Sends the steps of a plan, independent ones side by side. Errors are in the result. */
export async function runPlan(core: Core, run: Run): Promise<RunResult> {
  const { inventory, clock, signal } = core;
  const { owner, plan, journal, deadline } = run;
  const { send, lockOf, settleGone, refused } = createSender(core, run);
  const steps = new Map(plan.steps.map((step) => [step.id, step]));
  const started = new Map<string, Promise<Outcome>>();
  const errors: { step: Step; error: unknown }[] = [];
  let sent = 0;
  let isLate = false;
  void deadline.then(() => {
    isLate = true;
  });

  function start(step: Step): Promise<Outcome> {
    let outcome = started.get(step.id);
    if (outcome === undefined) {
      outcome = perform(step).then((one) => {
        core.onStep?.(owner, step, one);
        return one;
      });
      started.set(step.id, outcome);
    }
    return outcome;
  }

  async function perform(step: Step): Promise<Outcome> {
    const before = await Promise.all(
      step.after.flatMap((id) => steps.get(id) ?? []).map(async (one) => ({ one, outcome: await start(one) })),
    );
    if (before.some(({ one, outcome }) => outcome !== 'done' && !makesRoom(step, one, outcome))) return 'skipped';
    await Promise.all(step.follows.flatMap((id) => steps.get(id) ?? []).map(start));
    return locked(step);
  }

  /** The removal gives the addition the room that it was refused. */
  function makesRoom({ name, change }: Step, addition: Step, outcome: Outcome): boolean {
    if (!change?.makesRoom || addition.name !== name || addition.change?.phase !== 'grow') return false;
    return typeof outcome === 'object' && isFull(outcome.error);
  }

  /** In a container that locks itself, one change at a time until its operation has ended. */
  async function locked(step: Step): Promise<Outcome> {
    const lock = lockOf(step);
    if (lock === undefined) return attempt(step, () => undefined);
    const acquiring = core.locks.acquire(lock);
    const release = await Promise.race([acquiring, deadline]);
    if (release === 'late') {
      void acquiring.then((free) => free());
      return 'parked';
    }
    let end: Promise<unknown> = Promise.resolve();
    try {
      return await attempt(step, (operation) => {
        end = operation;
      });
    } finally {
      end.then(release, release);
    }
  }

  async function attempt(step: Step, holdUntil: (operation: Promise<unknown>) => void): Promise<Outcome> {
    for (let tries = 0; ; tries += 1) {
      if (isLate || signal?.aborted) return 'parked';
      if (!run.mayStart(step)) return 'skipped';
      try {
        sent += 1;
        const outcome = await send(step, holdUntil);
        if (outcome === 'done' || outcome === 'running') core.ineffectiveCalls.countAccepted(owner.service, step);
        return outcome;
      } catch (error) {
        const isSoon = isCloudError(error) && (error.retryAfterMs ?? 0) <= longestBusyMs;
        if (isSoon && isBusy(error) && tries < busyTries) {
          await sleep(clock, error.retryAfterMs ?? busyDelayMs * 2 ** tries, signal);
          continue;
        }
        return failed(step, error);
      }
    }
  }

  function failed(step: Step, error: unknown): Outcome {
    if (step.do === 'delete' && isNotFound(error)) {
      settleGone(step.found!);
      return 'done';
    }
    errors.push({ step, error });
    if (error instanceof WithheldError) {
      journal.notMade(step.name);
      return { error };
    }
    if (step.do === 'create' && isLost(error)) journal.unknown(step.name);
    else if (step.do === 'create') journal.notMade(step.name);
    if (isUncertain(error)) inventory.invalidate(owner);
    if (isCloudError(error)) refused.push(...error.subjects);
    return { error };
  }

  const outcomes = await Promise.all(plan.steps.map(start));
  const isParked = outcomes.some((one) => one === 'parked' || one === 'running');
  return { errors, sent, isParked, refused };
}
