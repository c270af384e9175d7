import type { Core } from './core.ts';
import type { Journal } from './journal.ts';
import { isUseName, useName } from './owner.ts';
import { identityOf, isOwnedBy, kindOf, type Owner } from './resource.ts';
import { isRecorded } from './sender.ts';
import type { Plan } from './step.ts';

/** Updates the journal of an owner before a plan is run, and when nothing is left to do. */
export interface Records {
  intend(plan: Plan, journal: Journal): void;
  /** Makes the journal equal to the observed state. */
  conclude(owner: Owner, journal: Journal, plan: Plan, removing: boolean): Promise<void>;
}

/** Whether a resource of ours exists that cannot be deleted. */
export function hasUndeletable({ refusals }: Plan): boolean {
  return refusals.some(({ reason }) => reason === 'InUse' || reason === 'NoEffect');
}

export function createRecords({ kinds, inventory, found }: Core): Records {
  /** Records the creates that must be recorded before they are sent. */
  function intend({ steps, bound }: Plan, journal: Journal): void {
    const creates = steps.filter(
      (step) => step.do === 'create' && (step.unmarked || kinds.get(step.kind)?.again === 'look'),
    );
    if (!journal.state.claimed || creates.length > 0) journal.intend(creates.map(({ name }) => name));
    for (const { unmarked, want } of steps) {
      const id = want?.within === undefined ? undefined : bound[want.within];
      if (unmarked && id !== undefined) journal.made(useName({ kind: kindOf(want!.within!), id }), id);
    }
  }

  /** Whether no recorded part is in that container any more. */
  function isUseOver(name: string, id: string, journal: Journal): boolean {
    return !Object.entries(journal.state.ids).some(([other, part]) => {
      const found = inventory.get(identityOf({ kind: kindOf(other), id: part }));
      return found?.within === id && kinds.get(found.kind)?.within === kindOf(name);
    });
  }

  return {
    intend,
    async conclude(owner, journal, plan, removing) {
      for (const [name, id] of Object.entries(plan.bound)) {
        const one = found.get(identityOf({ kind: kindOf(name), id }));
        const isOwn = one !== undefined && isRecorded(kinds.get(one.kind)!) && isOwnedBy(one, owner);
        if (isOwn ? journal.state.ids[name] !== id : journal.state.tried.includes(name)) journal.made(name, id);
      }
      for (const [name, id] of Object.entries(journal.state.ids)) {
        const isUsed = isUseName(name) && isUseOver(name, id, journal);
        if (isUsed || found.get(identityOf({ kind: kindOf(name), id })) === undefined) journal.gone(kindOf(name), id);
      }
      if (plan.waits.length === 0 && removing && !hasUndeletable(plan)) journal.clear();
      else if (plan.waits.length === 0) journal.seen();
      await journal.save();
    },
  };
}
