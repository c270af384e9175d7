import { createHash } from 'node:crypto';
import type { ResourceName } from './resource.ts';
import type { CallSubject, Draft, Step } from './step.ts';

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
  function startAgain({ accepted, desired }: Calls, { name, want }: Draft): void {
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
      for (const one of step.edits ?? [step]) {
        if (one.do === 'update') startAgain(own, one);
        if (one.do === 'create') startAgainWithin(own, one.name);
        const { about, change } = subjectOf(one);
        const last = own.accepted.get(about);
        const isRepeated = last?.change === change && nowMs() - last.atMs < forgetMs;
        const times = isRepeated ? last.times + 1 : 1;
        own.accepted.set(about, { name: one.name, within: one.want?.within, change, times, atMs: nowMs() });
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

type CallOf = Pick<Draft, 'do' | 'name' | 'found' | 'change' | 'want'>;

export function subjectOf({ do: action, name, found, change, want }: CallOf): CallSubject {
  const what = change === undefined ? '' : ` ${change.what}`;
  const id = action === 'create' ? '' : ` ${found?.id}`;
  const desired = change && (change.body ?? want?.spec);
  return { about: `${name}${what}`, change: `${action}${id} ${JSON.stringify(desired) ?? ''}` };
}
