import type { Core } from './core.ts';
import type { FoundIndex } from './found-index.ts';
import type { Journal } from './journal.ts';
import { isUseName, useName } from './owner.ts';
import { identityOf, isOwnedBy, kindOf, type Owner } from './resource.ts';
import { isRecorded } from './sender.ts';
import type { Plan } from './step.ts';

/** Whether a resource of ours exists that cannot be deleted, so that the plan stays as it is while that is recorded. */
export function hasUndeletable(found: FoundIndex, owner: Owner, { refusals }: Plan): boolean {
  if (refusals.length === 0) return false;
  const isLeft = found.near(owner.service).some((one) => isOwnedBy(one, owner));
  return isLeft || refusals.some(({ reason }) => reason === 'Conflict' || reason === 'NoEffect');
}

/** Records, before a plan is run, the creates that must be recorded before they are sent. */
export function recordIntent({ kinds }: Core, { steps, bound }: Plan, journal: Journal): void {
  const creates = steps.filter(
    (step) => step.do === 'create' && (step.unmarked || kinds.get(step.kind)?.retryCreate === 'afterSearch'),
  );
  if (!journal.state.claimed || creates.length > 0) journal.intend(creates.map(({ name }) => name));
  for (const { unmarked, want } of steps) {
    const id = want?.within === undefined ? undefined : bound[want.within];
    if (unmarked && id !== undefined) journal.made(useName({ kind: kindOf(want!.within!), id }), id);
  }
}

/** Makes the journal equal to the observed state, when nothing is left to do. */
export function recordOutcome({ kinds, found }: Core, owner: Owner, journal: Journal, plan: Plan, removing: boolean) {
  const foundAs = (name: string, id: string) => found.get(identityOf({ kind: kindOf(name), id }));
  /** Whether no recorded part is in that container any more. */
  const isUseOver = (container: string, id: string) =>
    !Object.entries(journal.state.ids).some(([name, part]) => {
      const one = foundAs(name, part);
      return one?.within === id && kinds.get(one.kind)?.within === kindOf(container);
    });

  for (const [name, id] of Object.entries(plan.bound)) {
    const one = foundAs(name, id);
    const isOwn = one !== undefined && isRecorded(kinds.get(one.kind)!) && isOwnedBy(one, owner);
    if (isOwn ? journal.state.ids[name] !== id : journal.state.tried.includes(name)) journal.made(name, id);
  }
  for (const [name, id] of Object.entries(journal.state.ids)) {
    const isUsed = isUseName(name) && isUseOver(name, id);
    if (isUsed || foundAs(name, id) === undefined) journal.gone(kindOf(name), id);
  }
  if (plan.waits.length === 0 && removing && !hasUndeletable(found, owner, plan)) journal.clear();
  else if (plan.waits.length === 0) journal.seen();
}
