import type { Permit } from '../clouds/permit.ts';
import type { Basics } from './basics.ts';
import { isLost, isNotFound, isTaken } from './failure.ts';
import type { Inventory } from './inventory.ts';
import type { Operations } from './operations.ts';
import { createQueue, type Job, type Queue } from './queue.ts';
import {
  type Answer,
  type Found,
  identityOf,
  type Kind,
  type LaneItem,
  nameOf,
  type Want,
  type WriteIo,
} from './resource.ts';
import type { Shared } from './shared.ts';

export type Lanes = ReturnType<typeof createLanes>;

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

interface LanesParts extends Pick<Basics, 'clock'> {
  readonly inventory: Inventory;
  readonly shared: Shared;
  readonly operations: Operations;
}

/** Calls for many resources of one group: one call at a time in each lane, with all items that wait. */
export function createLanes({ clock, inventory, shared, operations }: LanesParts) {
  const queues = new Map<string, Queue<Work, Answer>>();

  async function send(jobs: Jobs, permit: Permit): Promise<Answer> {
    const { works, kind, io, removed } = callOf(jobs);
    for (const found of removed) inventory.setDeleting(found, true);
    try {
      const wants = works.flatMap(({ want, io: { owner, idOf } }) => (want === undefined ? [] : { want, owner, idOf }));
      const call = { ...io, permit };
      const answer = await (wants.length > 0 ? kind.createMany!(wants, call) : kind.removeMany!(removed, call));
      if (answer.operation !== undefined) await operations.end(answer.operation);
      for (const found of removed) inventory.noteGone(found);
      inventory.note(answer.found ?? []);
      if (wants.length > 0 && answer.found === undefined) inventory.invalidate(kind);
      return answer;
    } finally {
      for (const found of removed) inventory.setDeleting(found, false);
    }
  }

  /** The resource to create exists, or the one to delete does not: a success, and the group is stale. */
  function settles(error: unknown, jobs: Jobs): Answer | undefined {
    const { works, kind, removed } = callOf(jobs);
    const isDone = removed.length > 0 ? isNotFound(error) : isTaken(error);
    if (isDone || isLost(error)) inventory.invalidate(kind);
    if (isDone && works.length === 1) for (const found of removed) inventory.noteGone(found);
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

  function keyOf(item: LaneItem, { merge }: Kind, { owner }: WriteIo): string {
    if ('found' in item) return identityOf(item.found);
    return merge === undefined ? `${owner.service} ${nameOf(item.want)}` : nameOf(item.want);
  }

  return {
    /** Resolves with the answer to the call that it went with. */
    submit(lane: string, kind: Kind, item: LaneItem, io: WriteIo): Promise<Answer> {
      const queue = queues.get(lane) ?? createQueue({ clock, next, answerOf, send, settles });
      queues.set(lane, queue);
      const { permit, owner } = io;
      return queue.submit({ key: keyOf(item, kind, io), work: { kind, io, ...item }, permit, service: owner.service });
    },
  };
}
