import type { Core } from './core.ts';
import type { Driver } from './driver.ts';
import type { Journal } from './journal.ts';
import { matchFound } from './match.ts';
import type { ObservedState } from './observed-state.ts';
import { makePlan } from './plan.ts';
import type { Request } from './request.ts';
import { type Desire, identityOf, kindOf } from './resource.ts';
import type { Plan, Wait } from './step.ts';

export type Planning<D> = ReturnType<typeof createPlanning<D>>;

/** Plans for one owner, from the observed state. */
export function createPlanning<D>(driver: Driver<D>, core: Core, observed: ObservedState) {
  const { kinds, documents, inventory, shared, ineffectiveCalls } = core;

  const desireOf = ({ desired }: Request<D>): Desire =>
    desired === undefined ? { wants: [], refusals: [] } : driver.desire(desired);

  /** Declares and plans. */
  function planNow(request: Request<D>, journal: Journal): Plan {
    const { owner, desired } = request;
    const { wants, refusals, remarks } = desireOf(request);
    shared.declare(owner, wants);
    documents.update();
    const match = matchFound({ kinds, owner, found: core.found, journal: journal.state, adopts: request.adopts });
    const unseenMs = (name: string) =>
      journal.unseenMs(name, kinds.get(kindOf(name))?.settleMs ?? 0, inventory.readAtMs(owner));
    const plan = makePlan({
      kinds,
      documents: documents.types,
      match,
      wants,
      refusals,
      unseenMs,
      removing: desired === undefined,
      retain: request.retain === true,
      mayChangeAddress: request.mayChangeAddress === true,
      specOf: shared.specOf,
      mayDrop: (found) => shared.mayDrop(found, desired === undefined ? owner : undefined),
      isDesired: shared.isDesired,
      hasRetained: (found) => journal.retained.has(identityOf(found)),
      isIneffective: (subject) => ineffectiveCalls.isIneffective(owner.service, subject),
    });
    // A create that is no longer desired, or was changed, may have succeeded and not be visible yet.
    const mayAppear = journal.unseen.map((name) => ({ name, ms: unseenMs(name) }));
    if (desired === undefined) {
      const settleMs = Math.max(0, ...driver.kinds.map((kind) => kind.settleMs ?? 0));
      mayAppear.push({ name: '*', ms: journal.inheritedMs(settleMs, inventory.readAtMs(owner)) });
    }
    const unseen = mayAppear.flatMap(({ name, ms }): Wait[] =>
      ms > 0 ? [{ name, why: 'the result of an earlier create may not be visible yet', ms }] : [],
    );
    return { ...plan, waits: [...plan.waits, ...unseen], ...(remarks !== undefined && { remarks }) };
  }

  /** Plans for what is not desired. What the owner declared stays so: others would add this to what they share. */
  function suppose(request: Request<D>, journal: Journal): Plan {
    const declared = shared.declared(request.owner);
    try {
      return planNow(request, journal);
    } finally {
      shared.declare(request.owner, declared);
    }
  }

  return {
    declare: (request: Request<D>) => shared.declare(request.owner, desireOf(request).wants),
    /** Reads what a plan needs and is missing or too old. Throws the CloudError of a read. */
    refresh: (request: Request<D>, journal: Journal) =>
      observed.refresh({
        owner: request.owner,
        wants: desireOf(request).wants,
        journal,
        removing: request.desired === undefined,
        adopting: request.adopts !== undefined && journal.isFirstClaim,
      }),
    planNow,
    suppose,
  };
}
