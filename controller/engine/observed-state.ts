import type { Core } from './core.ts';
import type { Journal } from './journal.ts';
import { type Found, identityOf, isOwnedBy, kindOf, type Owner, type Query, type Want } from './resource.ts';

/** The owner to plan for. */
interface Subject {
  readonly owner: Owner;
  readonly wants: readonly Want[];
  readonly journal: Journal;
  readonly removing: boolean;
  readonly adopting: boolean;
}

export type ObservedState = ReturnType<typeof createObservedState>;

/** By ids, and then by marks. */
const maxReads = 2;

/** The observed state of a scope: reads what a plan needs and is missing or old. Throws the CloudError of a read. */
export function createObservedState({ inventory, found, documents, kinds }: Core) {
  const searches = new Set<string>();

  const audit = async () => {
    await Promise.all([inventory.audit(), documents.audit()]);
  };

  /** Resources with this owner's marks, without the parts of documents: a document is read as a whole. */
  function ownOf(owner: Owner): readonly Found[] {
    const isPart = ({ kind }: Found) => kinds.get(kind)?.document !== undefined;
    return found.near(owner.service).filter((one) => isOwnedBy(one, owner) && !isPart(one));
  }

  /** All recorded ids of an owner, and the containers that show its parts: these may belong to others. */
  function idsOf({ owner, wants, journal }: Pick<Subject, 'owner' | 'wants' | 'journal'>): Query['ids'] {
    const ids = new Map<string, { readonly kind: string; readonly id: string }>();
    const add = (kind: string, id: string) => void ids.set(identityOf({ kind, id }), { kind, id });
    for (const one of ownOf(owner)) {
      add(one.kind, one.id);
      const container = kinds.get(one.kind)?.within;
      if (container !== undefined && one.within !== undefined) add(container, one.within);
    }
    for (const [name, id] of Object.entries(journal.state.ids)) add(kindOf(name), id);
    for (const { kind, use } of wants) if (use !== undefined) add(kind, use.id);
    return [...ids.values()];
  }

  /** An audit shows no resource without marks, so it does not prove that a recorded id is gone. */
  function missing({ owner, wants, journal, adopting }: Subject): 'nothing' | 'ids' | 'all' {
    const lastRead = inventory.lastReadOf(owner);
    const used = wants.flatMap(({ kind, use }) => (use === undefined ? [] : [{ kind, id: use.id }]));
    const recorded = Object.entries(journal.state.ids).map(([name, id]) => ({ kind: kindOf(name), id }));
    const isUnknown = (one: { readonly kind: string; readonly id: string }) =>
      inventory.get(identityOf(one)) === undefined;
    const hasNone = ownOf(owner).length === 0;
    const hasOwnKinds = wants.some(({ kind }) => kinds.get(kind)?.document === undefined);
    const isUnrecorded = recorded.length === 0 && !journal.isFirstClaim;
    if (!lastRead?.searched) {
      if (hasNone && hasOwnKinds && (adopting || isUnrecorded)) return 'all';
      // The recorded id does not exist: a search by marks finds its replacement.
      if (recorded.some((one) => isUnknown(one) && lastRead?.ids.has(identityOf(one)))) return 'all';
    }
    return [...recorded, ...used].some((one) => isUnknown(one) && !lastRead?.ids.has(identityOf(one)))
      ? 'ids'
      : 'nothing';
  }

  /** A read of another owner lacked a resource of this one, and no read of this one has succeeded since. */
  function isDoubtful(owner: Owner, { state }: Journal): boolean {
    return inventory.isDoubtful(owner, () =>
      Object.entries(state.ids).map(([name, id]) => identityOf({ kind: kindOf(name), id })),
    );
  }

  async function read(query: Query): Promise<void> {
    await inventory.read(query);
    searches.delete(query.owner.service);
  }

  return {
    audit,
    async refresh(subject: Subject): Promise<void> {
      const { owner, wants, journal } = subject;
      if (!inventory.isAudited) await audit();
      else if (!documents.isAudited) await documents.audit();
      const shared = new Set([...kinds.values()].filter(({ merge }) => merge !== undefined).map(({ kind }) => kind));
      const desiredKinds = new Set([...wants.map(({ kind }) => kind), ...shared]);
      for (let tries = 0; tries < maxReads; tries += 1) {
        const what = isDoubtful(owner, journal) ? 'all' : missing(subject);
        if (what === 'nothing' && !inventory.isStale(owner, desiredKinds)) break;
        const isUnanswered = journal.state.tried.some((name) => journal.state.ids[name] === undefined);
        const isLost = isUnanswered || journal.unseen.length > 0 || searches.has(owner.service);
        const search = what === 'all' || isLost || subject.adopting;
        const slots = wants.flatMap(({ slot }) => slot ?? []);
        await read({ owner, ids: idsOf(subject), slots, search, removing: subject.removing });
      }
      await documents.refresh();
    },
    /** Reads by all recorded ids, by these, and by marks: a resource that this read lacks is absent. */
    find(owner: Owner, journal: Journal, { ids, slots, removing }: Pick<Query, 'ids' | 'slots' | 'removing'>) {
      const own = idsOf({ owner, journal, wants: [] });
      const all = new Map([...own, ...ids].map((one) => [identityOf(one), one]));
      return read({ owner, ids: [...all.values()], slots, search: true, removing });
    },
    /** The next read of this owner searches by marks. */
    searchNext: ({ service }: Owner) => void searches.add(service),
    isDoubtful,
  };
}
