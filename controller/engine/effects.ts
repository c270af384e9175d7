import type { PlannedEdit, Step } from './step.ts';

export type Effects = ReturnType<typeof createEffects>;

/** The part that a call changes, and the change. */
export interface EffectSubject {
  readonly about: string;
  readonly change: string;
}

const maxTimes = 3;
/** The call is tried again after this time. */
const forgetMs = 1_800_000;

/** Counts the calls that the cloud accepted, by their subject. */
export function createEffects(nowMs: () => number) {
  const seen = new Map<
    string,
    Map<string, { readonly change: string; readonly times: number; readonly atMs: number }>
  >();
  return {
    accepted(service: string, step: Step): void {
      const own = seen.get(service) ?? new Map();
      seen.set(service, own);
      for (const { about, change } of subjectsOf(step)) {
        const last = own.get(about);
        own.set(about, { change, times: last?.change === change ? last.times + 1 : 1, atMs: nowMs() });
      }
    },
    /** Accepted three times and still planned: the cloud does not do it, or another client reverts it. */
    isWithout(service: string, { about, change }: EffectSubject): boolean {
      const last = seen.get(service)?.get(about);
      return last?.change === change && last.times >= maxTimes && nowMs() - last.atMs < forgetMs;
    },
    forget: (service: string) => void seen.delete(service),
  };
}

export function subjectOf(step: Pick<Step, 'do' | 'name' | 'found' | 'change'>): EffectSubject {
  const what = step.change === undefined ? '' : ` ${step.change.what}`;
  const id = step.do === 'create' ? '' : ` ${step.found?.id}`;
  return { about: `${step.name}${what}`, change: `${step.do}${id} ${JSON.stringify(step.change?.body) ?? ''}` };
}

export function subjectOfEdit(edit: PlannedEdit): EffectSubject {
  if ('drop' in edit) return { about: `${edit.drop.kind}/${edit.drop.key}`, change: 'drop' };
  return { about: `${edit.put.kind}/${edit.put.key}`, change: `put ${JSON.stringify(edit.put.spec)}` };
}

function subjectsOf(step: Step): readonly EffectSubject[] {
  return step.do === 'edit' ? (step.edits ?? []).map(subjectOfEdit) : [subjectOf(step)];
}
