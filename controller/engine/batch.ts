import type { Clock } from '../../common/process/clock.ts';
import { isLost, isNotFound, isTaken } from './failure.ts';
import { createQueue, type Job, type Queue } from './queue.ts';
import { type Answer, type Found, identityOf, type Kind, nameOf, type Want, type WriteIo } from './resource.ts';

export interface BatchesParts {
  readonly clock: Clock;
  /** Called right before a removal is sent: whether the resource must stay, or is gone already. */
  mustStay(found: Found): boolean;
  /** Called right before a create is sent: the resource, if another Service has created it since the plan. */
  existing(want: Want, kind: Kind): Found | undefined;
  /** From now on it counts as being deleted; or no longer, because the call failed. */
  setDeleting(found: Found, isDeleting: boolean): void;
  note(answer: Answer, removed: readonly Found[]): void;
  /** Reads of that kind so far are stale. */
  invalidate(kind: string): void;
  end(operation: string): Promise<void>;
}

/** Calls for many resources of one group: one call at a time in each lane, with all items that wait. */
export interface Batches {
  create(lane: string, kind: Kind, want: Want, io: WriteIo): Promise<Answer>;
  remove(lane: string, kind: Kind, found: Found, io: WriteIo): Promise<Answer>;
}

interface Work {
  readonly kind: Kind;
  /** The resource to create; undefined where `found` is to be removed. */
  readonly want?: Want;
  readonly found?: Found;
  readonly io: WriteIo;
}
type Jobs = readonly Job<Work, Answer>[];

/** One of each key, and one permit of each owner. */
function callOf(jobs: Jobs) {
  const works = [...new Map(jobs.map(({ key, work }) => [key, work])).values()];
  const permits = new Map(jobs.map(({ service, permit }) => [service, permit]));
  const { kind, io } = works[0]!;
  const permit: WriteIo['permit'] = (timeoutMs) => {
    for (const each of permits.values()) each(timeoutMs);
  };
  return { works, kind, io: { ...io, permit }, removed: works.flatMap(({ found }) => found ?? []) };
}

export function createBatches(parts: BatchesParts): Batches {
  const lanes = new Map<string, Queue<Work, Answer>>();

  async function send(jobs: Jobs): Promise<Answer> {
    const { works, kind, io, removed } = callOf(jobs);
    for (const found of removed) parts.setDeleting(found, true);
    try {
      const wants = works.flatMap(({ want, io: { owner, idOf } }) => (want === undefined ? [] : { want, owner, idOf }));
      const answer = await (wants.length > 0 ? kind.createMany!(wants, io) : kind.removeMany!(removed, io));
      if (answer.operation !== undefined) await parts.end(answer.operation);
      parts.note(answer, removed);
      if (wants.length > 0 && answer.found === undefined) parts.invalidate(kind.kind);
      return answer;
    } catch (error) {
      for (const found of removed) parts.setDeleting(found, false);
      throw error;
    }
  }

  /** The resource to create exists, or the one to delete does not: a success, and the group is stale. */
  function settles(error: unknown, jobs: Jobs): Answer | undefined {
    const { works, kind, removed } = callOf(jobs);
    const isDone = removed.length > 0 ? isNotFound(error) : isTaken(error);
    if (isDone || isLost(error)) parts.invalidate(kind.kind);
    if (isDone && works.length === 1) parts.note({}, removed);
    return isDone ? {} : undefined;
  }

  function answerOf({ work: { want, found, kind } }: Job<Work, Answer>): Answer | undefined {
    const existing = want === undefined ? undefined : parts.existing(want, kind);
    if (existing !== undefined) return { id: existing.id, found: [existing] };
    return found !== undefined && parts.mustStay(found) ? {} : undefined;
  }

  /** Additions go before removals. */
  function next(waiting: Jobs): Jobs {
    const { work } = waiting.find((job) => job.work.want !== undefined) ?? waiting[0]!;
    return waiting.filter((job) => job.work.kind === work.kind && !job.work.want === !work.want);
  }

  function submit(lane: string, key: string, work: Work): Promise<Answer> {
    const { permit, owner } = work.io;
    const queue = lanes.get(lane) ?? createQueue({ clock: parts.clock, next, answerOf, send, settles });
    lanes.set(lane, queue);
    return queue.submit({ key, work, permit, service: owner.service });
  }

  return {
    create(lane, kind, want, io) {
      const key = kind.merge === undefined ? `${io.owner.service} ${nameOf(want)}` : nameOf(want);
      return submit(lane, key, { kind, want, io });
    },
    remove: (lane, kind, found, io) => submit(lane, identityOf(found), { kind, found, io }),
  };
}
