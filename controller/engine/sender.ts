import type { Core } from './core.ts';
import type { Edit } from './driver.ts';
import type { Journal } from './journal.ts';
import {
  type Answer,
  type Found,
  identityOf,
  isOwnedBy,
  type Kind,
  kindOf,
  nameOf,
  type Owner,
  type ResourceName,
  type Want,
  type WriteIo,
} from './resource.ts';
import type { Outcome, Plan, Step } from './step.ts';

export interface Run {
  readonly owner: Owner;
  readonly plan: Plan;
  readonly journal: Journal;
  /** Resolves when the worker has to be freed. */
  readonly deadline: Promise<'late'>;
  /** Called before each step: false once something else is desired, or the step has failed too often. */
  mayStart(step: Step): boolean;
}

/** Sends one step after the other and records the answers. */
export function createSender(core: Core, run: Run) {
  const { kinds, inventory, documents, lanes, shared, operations, signal } = core;
  const { owner, plan, journal, deadline } = run;
  const ids = new Map(Object.entries(plan.bound));
  /** Members that the cloud refused. */
  const refused: string[] = [];

  const permit = core.permit(owner);
  function idOf(name: ResourceName): string {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`${name} has no id yet`);
    return id;
  }

  function withinOf(step: Step): string | undefined {
    if (step.found !== undefined && step.found.id !== '') return step.found.within;
    return step.want?.within === undefined ? undefined : ids.get(step.want.within);
  }

  /** Identity of the container that takes one change at a time. */
  function lockOf(step: Step): string | undefined {
    const kind = kinds.get(step.kind);
    if (kind === undefined || step.do === 'edit') return undefined;
    const id = step.found?.id || ids.get(step.name);
    if (kind.locks) return id === undefined ? undefined : identityOf({ kind: step.kind, id });
    const within = withinOf(step);
    if (kind.within === undefined || !kinds.get(kind.within)?.locks || within === undefined) return undefined;
    return identityOf({ kind: kind.within, id: within });
  }

  function settleGone(found: Found): void {
    inventory.noteGone(found);
    journal.gone(found.kind, found.id);
  }

  /** `holdUntil` is called where an operation goes on after the answer. Throws what the call throws. */
  async function send(step: Step, holdUntil: (operation: Promise<unknown>) => void): Promise<Outcome> {
    if (step.do === 'edit') return edit(step);
    const kind = kinds.get(step.kind)!;
    const within = withinOf(step);
    const io: WriteIo = { owner, permit, idOf, within, signal };
    const item = step.do === 'create' ? { want: currentWant(step.want!) } : { found: step.found! };
    const lane = step.do === 'create' || step.do === 'delete' ? kind.lane?.(item, within) : undefined;
    if (lane !== undefined) {
      const { found = [] } = await lanes.submit(lane, kind, item, io);
      const made = found.find((one) => step.do === 'create' && nameOf(one) === step.name);
      if (made !== undefined) ids.set(step.name, made.id);
      return 'done';
    }
    if (step.do === 'delete' && kind.merge !== undefined && shared.mustStay(step.found!)) return 'skipped';
    const answer = await (step.do === 'delete' && kind.merge !== undefined
      ? removeShared(step, kind, io)
      : call(step, kind, io));
    refused.push(...(answer.refused ?? []));
    if (step.do === 'create') made(step, answer);
    // An adopted resource has its marks from now on, and a search by marks may not show it yet.
    if (step.as === 'retained') journal.retained.add(identityOf(step.found!));
    if (step.as === 'ours' && isRecorded(kind)) journal.made(step.name, step.found!.id);
    const ended = settled(step, answer);
    if (ended === undefined) return 'done';
    holdUntil(ended);
    const end = await Promise.race([ended, deadline]);
    return end === 'late' ? 'running' : 'done';
  }

  /** A Service that needs it during the removal waits until it is gone. */
  async function removeShared(step: Step, kind: Kind, io: WriteIo): Promise<Answer> {
    inventory.setDeleting(step.found!, true);
    try {
      return await call(step, kind, io);
    } finally {
      inventory.setDeleting(step.found!, false);
    }
  }

  function call(step: Step, kind: Kind, io: WriteIo): Promise<Answer> {
    switch (step.do) {
      case 'create':
        return kind.create!(currentWant(step.want!), (step.inside ?? []).map(currentWant), io);
      case 'update':
        return kind.update!(currentFound(step), step.change!, io);
      case 'mark':
        return kind.mark!(currentFound(step), step.as!, step.want, io);
      default:
        return kind.remove!(currentFound(step), io);
    }
  }

  /** The union of all Services at the moment of the call: others may have joined since the plan. */
  function currentWant(want: Want): Want {
    return kinds.get(want.kind)?.merge === undefined ? want : { ...want, spec: shared.specOf(want, undefined) };
  }

  /** The second of two changes starts from the answer to the first. */
  function currentFound({ found, name }: Step): Found {
    const id = found!.id === '' ? idOf(name) : found!.id;
    return inventory.get(identityOf({ kind: found!.kind, id })) ?? { ...found!, id };
  }

  /** Where a kind has marks, only these identify the created one: the answer may also show parts of others. */
  function foundAs(name: ResourceName, { found }: Answer): Found | undefined {
    const isMarked = kinds.get(kindOf(name))?.mark !== undefined;
    return found?.find((one) => nameOf(one) === name && (isOwnedBy(one, owner) || (!isMarked && !one.owner)));
  }

  function made(step: Step, answer: Answer): void {
    const id = answer.id ?? foundAs(step.name, answer)?.id;
    if (id === undefined) return;
    ids.set(step.name, id);
    for (const part of step.inside ?? []) {
      const found = foundAs(nameOf(part), answer);
      if (found !== undefined) ids.set(nameOf(part), found.id);
    }
    if (isRecorded(kinds.get(step.kind)!) || step.unmarked) journal.made(step.name, id);
  }

  /** Records the answer, at once or when its operation has ended. */
  function settled(step: Step, answer: Answer): Promise<unknown> | undefined {
    const note = () => {
      if (step.do === 'delete') settleGone(step.found!);
      else if (answer.found === undefined) {
        if (step.found !== undefined) inventory.noteChanged(step.found);
        inventory.invalidate(owner);
      }
    };
    if (answer.found !== undefined) inventory.note(answer.found);
    if (answer.operation === undefined) {
      note();
      return undefined;
    }
    const id = step.found?.id || ids.get(step.name);
    const held = lockOf(step) ?? (id === undefined ? undefined : identityOf({ kind: step.kind, id }));
    if (held !== undefined) inventory.hold(held, answer.operation);
    const release = (isDone: boolean) => {
      if (held !== undefined) inventory.release(held, isDone);
    };
    const noted = operations.end(answer.operation, answer.lasts).then(
      () => {
        release(true);
        note();
      },
      (error: unknown) => {
        release(false);
        inventory.invalidate(owner);
        throw error;
      },
    );
    noted.catch(() => undefined);
    return noted;
  }

  async function edit(step: Step): Promise<Outcome> {
    const edits = step.edits!.map(({ do: action, want, found }): Edit => {
      if (action === 'delete') return { drop: found!, owner };
      const put = want!;
      // Evaluated when the edit is folded: others may have joined since the plan.
      const live = {
        ...put,
        get spec() {
          return shared.specOf(put, kinds.get(put.kind)?.merge === undefined ? undefined : existingOf(put));
        },
      };
      return { put: live, owner, idOf };
    });
    const type = documents.types.get(step.kind)!;
    const submitted = documents.submit(type, step.document!, edits, permit, owner.service);
    submitted.catch(() => undefined);
    const end = await Promise.race([submitted, deadline]);
    return end === 'late' ? 'parked' : 'done';
  }

  function existingOf(put: Want): Found | undefined {
    return core.found.ofKind(put.kind).find(({ key }) => key === put.key);
  }

  return { send, lockOf, settleGone, refused };
}

/** Whether the journal records ids of this kind: what has no container, document or lane, and can be deleted. */
export function isRecorded({ document, lane, within, remove }: Kind): boolean {
  return document === undefined && lane === undefined && within === undefined && remove !== undefined;
}
