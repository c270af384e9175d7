import { createStepGraph } from './order.ts';
import type { Found, LaneItem, ResourceName, Want } from './resource.ts';
import type { PlanInput, PlannedEdit, Step } from './step.ts';

/** A planned step without its order, which is in the graph. */
export type Draft = Omit<Step, 'after' | 'follows'>;

export type Drafts = ReturnType<typeof createDrafts>;

/** Steps while a plan is made. */
export function createDrafts({ kinds, documents }: Pick<PlanInput, 'kinds' | 'documents'>) {
  const drafts = new Map<string, Draft>();
  const edited = new Map<string, PlannedEdit[]>();
  return {
    graph: createStepGraph(),
    add(draft: Draft): string {
      if (drafts.has(draft.id)) throw new Error(`two steps are ${draft.id}`);
      drafts.set(draft.id, draft);
      return draft.id;
    },
    /** Adds an edit to the one write of a document. */
    edit(part: LaneItem, edit: PlannedEdit, name: ResourceName, summary: string): string {
      const type = documents.get(kinds.get('want' in part ? part.want.kind : part.found.kind)?.document ?? '');
      if (type === undefined) throw new Error(`${name}: its document is unknown`);
      const document = type.name(part);
      const id = `edit ${type.document} ${document}`;
      const edits = edited.get(id) ?? [];
      edited.set(id, edits);
      edits.push(edit);
      const text = drafts.has(id) ? `${drafts.get(id)!.summary}; ${summary}` : summary;
      drafts.set(id, { id, do: 'edit', kind: type.document, name, document, edits, summary: text });
      return id;
    },
    /** Ids of the changes and edits of that found resource. */
    stepsOn: (found: Found): readonly string[] =>
      [...drafts.values()].flatMap((draft) => {
        const isOn = draft.found?.kind === found.kind && draft.found.id === found.id;
        const isEdited = draft.edits?.some((edit) =>
          'drop' in edit ? edit.drop === found : edit.put.kind === found.kind && edit.put.key === found.key,
        );
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
