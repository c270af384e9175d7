import { type Decisions, decide, needsOf } from './decide.ts';
import { createDrafts, finish } from './drafts.ts';
import { stepsInOrder } from './order.ts';
import { planRemovals, type Removal } from './removals.ts';
import { type Change, type Found, type Kind, nameOf, type Refusal, type ResourceName, type Want } from './resource.ts';
import type { Plan, PlanInput, Wait } from './step.ts';

const phases = ['grow', 'set', 'shrink'] as const;

/** Turns the difference between desired and found into steps. Pure; throws where steps form a cycle. */
export function makePlan(input: PlanInput): Plan {
  const { kinds, match } = input;
  const decisions = decide(input);
  const drafts = createDrafts(input);
  const { graph } = drafts;
  /** The step that creates a resource. */
  const createSteps = new Map<ResourceName, string>();
  const insides = new Map<string, Want[]>();
  /** Steps that change an existing resource. */
  const changeSteps = new Map<ResourceName, string[]>();
  const guards = new Set<string>();
  const unavailable = new Set<ResourceName>();
  const replaced: Removal[] = [];

  function afterNeeds(step: string, want: Want): void {
    for (const need of needsOf(want)) {
      const createStep = createSteps.get(need);
      if (createStep !== undefined) graph.require(step, createStep);
      for (const changeStep of changeSteps.get(need) ?? [])
        if (guards.has(changeStep)) graph.require(step, changeStep);
        else if (need !== want.within) graph.prefer(step, changeStep);
    }
  }

  function specified(want: Want, existing: Found | undefined): Want {
    return kinds.get(want.kind)?.merge === undefined ? want : { ...want, spec: input.specOf(want, existing) };
  }

  /** The create of the container includes it, unless it needs a resource that has to wait for that create. */
  function inlined(want: Want, kind: Kind): string | undefined {
    const composite = want.within === undefined ? undefined : createSteps.get(want.within);
    if (!kind.inline || kind.needsOwnCreate?.(want) || composite === undefined || !composite.startsWith('create '))
      return undefined;
    const needed = needsOf(want).flatMap((need) => createSteps.get(need) ?? []);
    if (needed.some((step) => step !== composite && graph.waitsFor(step, composite))) return undefined;
    for (const step of needed) graph.require(composite, step);
    insides.set(composite, [...(insides.get(composite) ?? []), want]);
    return composite;
  }

  function create(want: Want, kind: Kind, why: string | undefined): string {
    const name = nameOf(want);
    const summary = why === undefined ? `create ${want.summary}` : `create ${want.summary} again: ${why}`;
    const composite = inlined(want, kind);
    if (composite !== undefined) return composite;
    const container = want.within === undefined ? undefined : decisions.bound.get(want.within);
    const holder =
      container === undefined ? undefined : match.all.find((one) => one.kind === kind.within && one.id === container);
    const unmarked = holder !== undefined && !match.isOurs(holder) && kind.mark === undefined;
    const step = drafts.add({
      id: `create ${name}`,
      do: 'create',
      kind: want.kind,
      name,
      want: specified(want, undefined),
      ...(unmarked && { unmarked }),
      summary,
    });
    afterNeeds(step, want);
    planAfterCreate(want, kind, step);
    return step;
  }

  /** Plans the changes that a create cannot include. */
  function planAfterCreate(want: Want, kind: Kind, createStep: string): void {
    const fresh = kind.fresh?.(want);
    if (fresh === undefined) return;
    const found: Found = { kind: want.kind, id: '', key: want.key, status: 'ready', body: fresh.body };
    const compared = kind.compare(found, want.spec, (role) => fresh.points?.[role] ?? []);
    if (!('changes' in compared)) return;
    const steps = change(want, found, compared.changes);
    for (const step of steps) graph.require(step, createStep);
    // Resources that need it also wait for these changes: a group without members gets no traffic.
    changeSteps.set(nameOf(want), steps);
  }

  function change(want: Want, found: Found, changes: readonly Change[]): string[] {
    const name = nameOf(want);
    const ordered = phases.flatMap((phase) => changes.filter((one) => one.phase === phase));
    const ids = new Map<string, string>();
    for (const one of ordered) {
      const step = drafts.add({
        id: `update ${name} ${found.id} ${one.what}`,
        do: 'update',
        kind: want.kind,
        name,
        want: specified(want, found),
        found,
        change: one,
        summary: one.summary,
      });
      for (const other of ordered) {
        const before = ids.get(other.what);
        if (before === undefined || other === one) continue;
        const isNeeded = one.after?.includes(other.what) ?? (one.phase === 'shrink' && other.phase === 'grow');
        if (isNeeded) graph.require(step, before);
        else graph.prefer(step, before);
      }
      afterNeeds(step, want);
      if (one.guards) guards.add(step);
      ids.set(one.what, step);
    }
    return [...ids.values()];
  }

  for (const want of decisions.wants) {
    const name = nameOf(want);
    const kind = kinds.get(want.kind)!;
    const decision = decisions.of.get(name)!;
    if (decision.is === 'blocked' || needsOf(want).some((need) => unavailable.has(need))) {
      unavailable.add(name);
      continue;
    }
    if (decision.is === 'used') continue;
    if (decision.is === 'create') {
      const { freeing, replaces } = decision;
      const step = create(want, kind, replaces?.why);
      createSteps.set(name, step);
      if (freeing !== undefined) replaced.push({ found: freeing, for: step, order: 'deleteFirst' });
      if (replaces !== undefined && kind.document === undefined) replaced.push({ ...replaces, for: step });
    } else {
      const { found, changes, isMarked } = decision;
      if (!isMarked && kind.mark !== undefined) {
        const mark = { id: `mark ${found.kind} ${found.id}`, do: 'mark', as: 'ours', kind: want.kind, name } as const;
        const step = drafts.add({ ...mark, want, found, summary: `take over ${want.summary}` });
        // The mark comes first: a crash must not leave changes on a resource that looks foreign.
        createSteps.set(name, step);
        for (const need of want.needs ?? []) if (createSteps.has(need)) graph.require(step, createSteps.get(need)!);
      }
      const steps = change(want, found, changes);
      const markStep = createSteps.get(name);
      if (markStep !== undefined) for (const step of steps) graph.require(step, markStep);
      changeSteps.set(name, steps);
    }
  }
  const removals = planRemovals(input, decisions, drafts, replaced);
  // A container is marked last: until then, its parts are recognised by it.
  const marks = drafts.all().filter((draft) => draft.do === 'mark');
  for (const { id, found } of marks) {
    const last = marks.find((one) => one.found === match.containerOf(found!));
    if (last !== undefined) graph.require(last.id, id);
  }
  const steps = finish(drafts, insides);
  // Proves that none waits for itself.
  stepsInOrder(steps);
  const refusals = [...input.refusals, ...decisions.refusals, ...removals.refusals, ...unprovenOf(input, decisions)];
  return {
    steps,
    refusals: withPorts(refusals, input.wants),
    waits: [...decisions.waits, ...removals.waits] satisfies readonly Wait[],
    bound: Object.fromEntries(decisions.bound),
  };
}

/** A refused resource that serves ports names them. */
function withPorts(refusals: readonly Refusal[], wants: readonly Want[]): readonly Refusal[] {
  const portsOf = new Map(wants.map((want) => [nameOf(want), want.ports]));
  return refusals.map((refusal) => {
    const ports = refusal.ports ?? portsOf.get(refusal.name ?? '');
    return ports === undefined ? refusal : { ...refusal, ports };
  });
}

/** Recorded resources without proof of ownership: they stay, and a refusal names each. */
function unprovenOf({ match }: PlanInput, { refusals }: Decisions): readonly Refusal[] {
  const named = new Set(refusals.map(({ name }) => name));
  return match.unproven.flatMap((one): Refusal[] => {
    const [name] = match.recordedNames(one);
    if (name === undefined || named.has(name)) return [];
    const message = `${one.kind} ${one.id} is recorded and carries no mark of this Service any more; it stays`;
    return [{ reason: 'ForeignLoadBalancer', name, message }];
  });
}
