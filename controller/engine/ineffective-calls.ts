import { createHash } from 'node:crypto';
import type { ResourceName } from './resource.ts';
import type { CallSubject, PlannedEdit, Step } from './step.ts';

export type IneffectiveCalls = ReturnType<typeof createIneffectiveCalls>;

const maxTimes = 3;
/** The call is tried again after this time. */
const forgetMs = 1_800_000;

interface Accepted {
  readonly name: ResourceName;
  readonly within: ResourceName | undefined;
  readonly change: string;
  readonly times: number;
  readonly atMs: number;
}

/** The calls of one Service. */
interface Calls {
  /** By what they are about: the name alone, or an update of it. */
  readonly accepted: Map<string, Accepted>;
  /** Digest of what the last update of a resource was to bring about. */
  readonly desired: Map<ResourceName, string>;
}

/** Counts the calls that the cloud accepted, by their subject. */
export function createIneffectiveCalls(nowMs: () => number) {
  const seen = new Map<string, Calls>();

  /** A member that leaves and is back again takes the same calls as one that the cloud does not add. */
  function startAgain({ accepted, desired }: Calls, { name, want }: Step): void {
    const now = createHash('sha256')
      .update(JSON.stringify(want?.spec) ?? '')
      .digest('base64');
    if (desired.get(name) === now) return;
    desired.set(name, now);
    for (const [about, one] of accepted) if (one.name === name && about !== name) accepted.delete(about);
  }

  /** What was in the container went with the earlier one. */
  function startAgainWithin({ accepted }: Calls, container: ResourceName): void {
    for (const [about, { within }] of accepted) if (within === container) accepted.delete(about);
  }

  return {
    countAccepted(service: string, step: Step): void {
      const own = seen.get(service) ?? { accepted: new Map<string, Accepted>(), desired: new Map() };
      seen.set(service, own);
      if (step.do === 'update') startAgain(own, step);
      if (step.do === 'create') startAgainWithin(own, step.name);
      for (const { about, change } of subjectsOf(step)) {
        const last = own.accepted.get(about);
        const isRepeated = last?.change === change && nowMs() - last.atMs < forgetMs;
        const times = isRepeated ? last.times + 1 : 1;
        own.accepted.set(about, { name: step.name, within: step.want?.within, change, times, atMs: nowMs() });
      }
    },
    /** Accepted three times for one desired state, and still planned: without effect, or reverted by another client. */
    isIneffective(service: string, { about, change }: CallSubject): boolean {
      const last = seen.get(service)?.accepted.get(about);
      return last?.change === change && last.times >= maxTimes && nowMs() - last.atMs < forgetMs;
    },
    forget: (service: string) => void seen.delete(service),
  };
}

export function subjectOf(step: Pick<Step, 'do' | 'name' | 'found' | 'change'>): CallSubject {
  const what = step.change === undefined ? '' : ` ${step.change.what}`;
  const id = step.do === 'create' ? '' : ` ${step.found?.id}`;
  return { about: `${step.name}${what}`, change: `${step.do}${id} ${JSON.stringify(step.change?.body) ?? ''}` };
}

export function subjectOfEdit(edit: PlannedEdit): CallSubject {
  if ('drop' in edit) return { about: `${edit.drop.kind}/${edit.drop.key}`, change: 'drop' };
  return { about: `${edit.put.kind}/${edit.put.key}`, change: `put ${JSON.stringify(edit.put.spec)}` };
}

function subjectsOf(step: Step): readonly CallSubject[] {
  return step.do === 'edit' ? (step.edits ?? []).map(subjectOfEdit) : [subjectOf(step)];
}
