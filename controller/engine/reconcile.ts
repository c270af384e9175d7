import { isCloudError } from '../../common/cloud-error.ts';
import type { Clock } from '../../common/process/clock.ts';
import { WithheldError } from '../clouds/permit.ts';
import type { Core } from './core.ts';
import { isBusy, isFull, isRepeatable } from './failure.ts';
import type { Journals } from './journal.ts';
import type { ObservedState } from './observed-state.ts';
import type { Planning } from './planning.ts';
import { hasUndeletable, recordIntent, recordOutcome } from './records.ts';
import type { Request, Result } from './request.ts';
import type { Owner } from './resource.ts';
import { runPlan } from './run.ts';
import type { Plan, Step } from './step.ts';

export interface ReconcilerParts<D> {
  readonly core: Core;
  readonly planning: Planning<D>;
  readonly observed: ObservedState;
  readonly journals: Journals;
  /** The latest request of an owner. */
  latest(owner: Owner): Request<D>;
  readonly budgetMs: number;
}

type Answering = (state: Result['state'], againInMs: number | undefined) => Result;

const maxRounds = 12;
const nextTurnMs = 1000;
const failedAgainMs = 5000;
const refusedAgainMs = 300_000;
/** Nothing is deleted because of an older read. */
const maxProofAgeMs = 60_000;

/** Plans and runs steps for one owner until all are done or have to wait; reads only where needed. */
export function createReconciler<D>(parts: ReconcilerParts<D>): (owner: Owner) => Promise<Result> {
  const { core, planning, observed, journals, latest, budgetMs } = parts;
  const { clock, signal, inventory, operations, kinds } = core;
  const nowMs = () => clock.monotonic();

  /** The latest request of an owner, until all of it is done or has to wait. */
  async function work(owner: Owner): Promise<Result> {
    const journal = journals.of(owner);
    const failures = new Map<string, number>();
    const refused = new Set<string>();
    const { promise: deadline, cancel } = deadlineOf(clock, budgetMs);
    let errors: readonly { readonly step: Step; readonly error: unknown }[] = [];
    let plan: Plan | undefined;
    let isReadForDeletes = false;
    let provedGone = false;
    const answer: Answering = (state, againInMs) => ({
      state,
      againInMs,
      refusals: plan?.refusals ?? [],
      waits: plan?.waits ?? [],
      refused: [...refused],
      errors: errors.map(({ error }) => error),
    });
    try {
      await journal.save();
      for (let round = 0; round < maxRounds && !signal?.aborted; round += 1) {
        const request = latest(owner);
        const isCurrent = () => latest(owner) === request;
        await planning.refresh(request, journal);
        if (!isCurrent()) continue;
        // The desired state may depend on the observed state.
        plan = planning.planNow(request, journal);
        if (plan.steps.length === 0) {
          const [operation] = plan.waits.flatMap((wait) => wait.operation ?? []);
          if (operation !== undefined) {
            const end = operations.end(operation).catch(() => undefined);
            if ((await Promise.race([end, deadline])) === 'late') return answer('waiting', nextTurnMs);
            inventory.invalidate(owner);
            continue;
          }
          if (request.desired === undefined && plan.waits.length === 0 && journal.state.claimed && !provedGone) {
            provedGone = true;
            await observed.find(owner, journal, { ids: [], slots: [], removing: true });
            continue;
          }
          recordOutcome(core, owner, journal, plan, request.desired === undefined);
          await journal.save();
          if (!isCurrent()) continue;
          if (plan.waits.length > 0) {
            if (plan.waits.some((wait) => !wait.isOurs)) inventory.invalidate(owner);
            return answer('waiting', Math.min(...plan.waits.map(({ ms }) => ms)));
          }
          return concluded(request, plan, answer);
        }
        const deletes = plan.steps.some((one) => one.do === 'delete' && !kinds.get(one.kind)?.readsBeforeRemove);
        if (deletes && !isReadForDeletes && nowMs() - inventory.readAtMs(owner) > maxProofAgeMs) {
          isReadForDeletes = true;
          inventory.invalidate(owner);
          continue;
        }
        recordIntent(core, plan, journal);
        await journal.save();
        const mayStart = (step: Step) => isCurrent() && (failures.get(step.id) ?? 0) < 2;
        const result = await runPlan(core, { owner, plan, journal, deadline, mayStart });
        if (result.sent > 0) errors = result.errors;
        provedGone = false;
        const { steps } = plan;
        const hasRoomMade = ({ name }: Step) => steps.some((one) => one.name === name && one.change?.makesRoom);
        for (const { step, error } of result.errors) {
          const mayHelp = isRepeatable(error) || (isFull(error) && hasRoomMade(step));
          failures.set(step.id, (failures.get(step.id) ?? 0) + (mayHelp ? 1 : 2));
        }
        for (const id of result.refused) refused.add(id);
        // Before any read that could fail.
        await journal.save();
        if (errors.some(({ error }) => error instanceof WithheldError)) return answer('withheld', failedAgainMs);
        if (errors.length > 0) observed.searchNext(owner);
        if (result.isParked) return answer('waiting', nextTurnMs);
        if (result.sent === 0 && isCurrent()) return failedAnswer(answer);
        if (errors.length > 0 && errors.every(({ error }) => isBusy(error))) return failedAnswer(answer);
      }
      return answer('waiting', nextTurnMs);
    } finally {
      cancel();
    }
  }

  function failedAnswer(answer: Answering): Result {
    const { errors } = answer('failed', undefined);
    const askedMs = errors.map((error) => (isCloudError(error) ? (error.retryAfterMs ?? 0) : 0));
    return answer(errors.every(isBusy) ? 'waiting' : 'failed', Math.max(failedAgainMs, ...askedMs));
  }

  function concluded({ owner, desired }: Request<D>, plan: Plan, answer: Answering): Result {
    if (plan.refusals.some(({ reason }) => reason === 'ForeignLoadBalancer')) {
      // Others may remove the foreign resource, and no event tells us.
      inventory.invalidate(owner);
      observed.searchNext(owner);
    }
    const isRefused = desired === undefined ? hasUndeletable(core.found, owner, plan) : plan.refusals.length > 0;
    return isRefused ? answer('refused', refusedAgainMs) : answer('settled', undefined);
  }

  return work;
}

function deadlineOf(clock: Clock, ms: number): { readonly promise: Promise<'late'>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<'late'>();
  const timer = clock.setTimer(ms, () => resolve('late'));
  return { promise, cancel: () => timer.cancel() };
}
