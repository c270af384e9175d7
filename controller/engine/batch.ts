import type { Permit } from '../clouds/permit.ts';
import type { Basics } from './basics.ts';
import { isLost, isNotFound, isTaken } from './failure.ts';
import type { Inventory } from './inventory.ts';
import type { Operations } from './operations.ts';
import { createQueue, type Job, type Queue } from './queue.ts';
import { type Answer, type Found, identityOf, type Kind, nameOf, type Want, type WriteIo } from './resource.ts';
import type { Shared } from './shared.ts';

export type Batches = ReturnType<typeof createBatches>;

interface Work {
  readonly kind: Kind;
  /** The resource to create; undefined where `found` is to be removed. */
  readonly want?: Want;
  readonly found?: Found;
  readonly io: WriteIo;
}
type Jobs = readonly Job<Work, Answer>[];

/** One of each key. */
function callOf(jobs: Jobs) {
  const works = [...new Map(jobs.map(({ key, work }) => [key, work])).values()];
  const { kind, io } = works[0]!;
  return { works, kind, io, removed: works.flatMap(({ found }) => found ?? []) };
}

interface BatchesParts extends Pick<Basics, 'clock'> {
  readonly inventory: Inventory;
  readonly shared: Shared;
  readonly operations: Operations;
}

/** Calls for many resources of one group: one call at a time in each lane, with all items that wait. */
export function createBatches({ clock, inventory, shared, operations }: BatchesParts) {
  const lanes = new Map<string, Queue<Work, Answer>>();

  function note(answer: Answer, removed: readonly Found[]): void {
    for (const found of removed) {
      inventory.noteGone(found);
      inventory.setDeleting(found, false);
    }
    inventory.note(answer.found ?? []);
  }

  async function send(jobs: Jobs, permit: Permit): Promise<Answer> {
    const { works, kind, io, removed } = callOf(jobs);
    for (const found of removed) inventory.setDeleting(found, true);
    try {
      const wants = works.flatMap(({ want, io: { owner, idOf } }) => (want === undefined ? [] : { want, owner, idOf }));
      const call = { ...io, permit };
      const answer = await (wants.length > 0 ? kind.createMany!(wants, call) : kind.removeMany!(removed, call));
      if (answer.operation !== undefined) await operations.end(answer.operation);
      note(answer, removed);
      if (wants.length > 0 && answer.found === undefined) inventory.invalidate(kind);
      return answer;
    } catch (error) {
      for (const found of removed) inventory.setDeleting(found, false);
      throw error;
    }
  }

  /** The resource to create exists, or the one to delete does not: a success, and the group is stale. */
  function settles(error: unknown, jobs: Jobs): Answer | undefined {
    const { works, kind, removed } = callOf(jobs);
    const isDone = removed.length > 0 ? isNotFound(error) : isTaken(error);
    if (isDone || isLost(error)) inventory.invalidate(kind);
    if (isDone && works.length === 1) note({}, removed);
    return isDone ? {} : undefined;
  }

  function answerOf({ work: { want, found } }: Job<Work, Answer>): Answer | undefined {
    const existing = want === undefined ? undefined : shared.existing(want);
    if (existing !== undefined) return { id: existing.id, found: [existing] };
    return found !== undefined && shared.mustStay(found) ? {} : undefined;
  }

  /** Additions go before removals. */
  function next(waiting: Jobs): Jobs {
    const { work } = waiting.find((job) => job.work.want !== undefined) ?? waiting[0]!;
    return waiting.filter((job) => job.work.kind === work.kind && !job.work.want === !work.want);
  }

  function submit(lane: string, key: string, work: Work): Promise<Answer> {
    const { permit, owner } = work.io;
    const queue = lanes.get(lane) ?? createQueue({ clock, next, answerOf, send, settles });
    lanes.set(lane, queue);
    return queue.submit({ key, work, permit, service: owner.service });
  }

  return {
    create(lane: string, kind: Kind, want: Want, io: WriteIo): Promise<Answer> {
      const key = kind.merge === undefined ? `${io.owner.service} ${nameOf(want)}` : nameOf(want);
      return submit(lane, key, { kind, want, io });
    },
    remove: (lane: string, kind: Kind, found: Found, io: WriteIo) =>
      submit(lane, identityOf(found), { kind, found, io }),
  };
}
