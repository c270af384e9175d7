import type { Step } from './step.ts';

/** Orders items so that each comes after its needs. Throws where needs form a cycle. Pure. */
export function inOrder<T>(items: readonly T[], nameOf: (item: T) => string, needsOf: (item: T) => readonly string[]) {
  const byName = new Map(items.map((item) => [nameOf(item), item]));
  const ordered: T[] = [];
  const state = new Map<string, 'open' | 'done'>();
  function visit(item: T, path: readonly string[]): void {
    const name = nameOf(item);
    if (state.get(name) === 'done') return;
    if (state.get(name) === 'open') throw new Error(`a cycle: ${[...path, name].join(' needs ')}`);
    state.set(name, 'open');
    for (const need of needsOf(item)) {
      const needed = byName.get(need);
      if (needed !== undefined) visit(needed, [...path, name]);
    }
    state.set(name, 'done');
    ordered.push(item);
  }
  for (const item of items) visit(item, []);
  return ordered;
}

/** The dependencies between the steps of a plan. */
export function createStepGraph() {
  const required = new Map<string, Set<string>>();
  const preferred: (readonly [step: string, before: string])[] = [];
  const kept = new Map<string, Set<string>>();

  function add(edges: Map<string, Set<string>>, step: string, before: string): void {
    const set = edges.get(step);
    if (set === undefined) edges.set(step, new Set([before]));
    else set.add(before);
  }
  function waitsFor(step: string, before: string, seen = new Set<string>()): boolean {
    if (step === before) return true;
    if (seen.has(step)) return false;
    seen.add(step);
    for (const edges of [required, kept])
      for (const one of edges.get(step) ?? []) if (waitsFor(one, before, seen)) return true;
    return false;
  }
  /** Preferences are decided last, when all requirements are known. */
  function decide(): void {
    for (const [step, before] of preferred.splice(0)) {
      if (!required.get(step)?.has(before) && !waitsFor(before, step)) add(kept, step, before);
    }
  }
  return {
    /** `step` starts only after the success of `before`. */
    require(step: string, before: string): void {
      if (step !== before) add(required, step, before);
    },
    /** `step` starts after the end of `before`, however that ends. Left out where it would close a cycle. */
    prefer(step: string, before: string): void {
      if (step !== before) preferred.push([step, before]);
    },
    /** Whether `step` waits for `before`, directly or not. */
    waitsFor: (step: string, before: string) => step !== before && waitsFor(step, before),
    after: (step: string): readonly string[] => [...(required.get(step) ?? [])],
    follows(step: string): readonly string[] {
      decide();
      return [...(kept.get(step) ?? [])];
    },
  };
}

/** The steps in an order in which they could be sent one by one. Throws where they wait for each other. Pure. */
export function stepsInOrder(steps: readonly Step[]): readonly Step[] {
  return inOrder(
    steps,
    ({ id }) => id,
    ({ after, follows }) => [...after, ...follows],
  );
}
