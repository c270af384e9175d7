import type { DocumentType } from './driver.ts';
import { createStepGraph } from './order.ts';
import { type Found, nameOf, type Want } from './resource.ts';
import type { Draft, PlanInput, Step } from './step.ts';

export type Drafts = ReturnType<typeof createDrafts>;

/** Steps while a plan is made. */
export function createDrafts({ kinds, documents }: Pick<PlanInput, 'kinds' | 'documents'>) {
  const drafts = new Map<string, Draft>();

  /** Adds a change of one part to the one write of its document. */
  function edit(type: DocumentType, draft: Draft): string {
    const { name, want, found, summary } = draft;
    const document = type.name(found === undefined ? { want: want! } : { found });
    const id = `edit ${type.document} ${document}`;
    const before = drafts.get(id);
    const edits = [...(before?.edits ?? []), draft];
    const text = before === undefined ? summary : `${before.summary}; ${summary}`;
    drafts.set(id, { id, do: 'edit', kind: type.document, name, document, edits, summary: text });
    return id;
  }

  return {
    graph: createStepGraph(),
    /** Answers the id of the step that does it: all changes of one document are one step. */
    add(draft: Draft): string {
      const type = documents.get(kinds.get(draft.kind)?.document ?? '');
      if (type !== undefined) return edit(type, draft);
      if (drafts.has(draft.id)) throw new Error(`two steps are ${draft.id}`);
      drafts.set(draft.id, draft);
      return draft.id;
    },
    /** Ids of the changes and edits of that found resource. */
    stepsOn: (found: Found): readonly string[] =>
      [...drafts.values()].flatMap((draft) => {
        const isOn = draft.found?.kind === found.kind && draft.found.id === found.id;
        const isEdited = draft.edits?.some(({ name }) => name === nameOf(found));
        return isOn || isEdited ? [draft.id] : [];
      }),
    all: (): readonly Draft[] => [...drafts.values()],
  };
}

/** The steps whose requirements can all be met. Deletes that nothing waits for come last: additions go first. */
export function finish({ graph, all }: Drafts, insides: ReadonlyMap<string, readonly Want[]>): readonly Step[] {
  const ids = new Set(all().map(({ id }) => id));
  const possible = new Map<string, boolean>();
  const isPossible = (id: string): boolean => {
    const answer = possible.get(id);
    if (answer !== undefined) return answer;
    // Cycles are found later.
    possible.set(id, true);
    const is = ids.has(id) && graph.after(id).every(isPossible);
    possible.set(id, is);
    return is;
  };
  const drafts = all().filter(({ id }) => isPossible(id));
  const early = new Set<string>();
  const visit = (id: string): void => {
    if (early.has(id)) return;
    early.add(id);
    for (const before of graph.after(id)) visit(before);
  };
  for (const draft of drafts) if (draft.do !== 'delete') visit(draft.id);
  return drafts.map((draft): Step => {
    const inside = insides.get(draft.id);
    return {
      ...draft,
      after: graph.after(draft.id),
      follows: [...graph.follows(draft.id), ...(early.has(draft.id) ? [] : early)],
      ...(inside !== undefined && { inside }),
    };
  });
}
