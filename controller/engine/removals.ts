import type { Decisions } from './decide.ts';
import type { Drafts } from './drafts.ts';
import { subjectOf, subjectOfEdit } from './effects.ts';
import type { PlanInput } from './plan-input.ts';
import { type Found, identityOf, nameOf, type Refusal, type ResourceName, type Want } from './resource.ts';
import type { Wait } from './step.ts';

/** A resource that is deleted because another one replaces it. */
export interface Removal {
  readonly found: Found;
  /** The step that creates the replacement. */
  readonly for: string;
  readonly first: 'make' | 'break';
  readonly why?: string;
}

const deletionAgainMs = 1000;
/** No such step exists: steps after it are left out of the plan. */
const notNow = 'not now';

/** Adds the steps that delete what is ours and no longer desired, or replaced. */
export function planRemovals(
  input: PlanInput,
  decisions: Decisions,
  drafts: Drafts,
  replaced: readonly Removal[],
): { readonly refusals: readonly Refusal[]; readonly waits: readonly Wait[] } {
  const { kinds, match, removing, retain } = input;
  const { graph } = drafts;
  const refusals: Refusal[] = [];
  const waits: Wait[] = [];
  const replacing = new Set(replaced.map(({ found }) => found));
  const isBlocked = [...decisions.of.values()].some(({ is }) => is === 'blocked');
  /** Kinds of which the Service uses one of others instead of its own. */
  const lent = decisions.wants.flatMap(({ kind, use }) =>
    use === undefined || match.ours.some((one) => one.kind === kind && one.id === use.id) ? [] : kind,
  );
  const isBlockedName = (name: ResourceName) => decisions.of.get(name)?.is === 'blocked';
  const making = drafts.all().map(({ id }) => id);

  function wait(found: Found, why: string, operation?: string): false {
    waits.push({ name: nameOf(found), why, ms: deletionAgainMs, operation });
    return false;
  }
  function refuse(reason: Refusal['reason'], found: Found, message: string): false {
    refusals.push({ reason, name: nameOf(found), message: `${found.kind} ${found.id} ${message}` });
    return false;
  }

  /** Reduces a shared part to what the other Services want, in the write that drops our own parts. */
  function shrinkShared(found: Found): void {
    const kind = kinds.get(found.kind)!;
    const name = nameOf(found);
    if (kind.document === undefined || !input.isWanted(name)) return;
    const want: Want = { kind: found.kind, key: found.key!, spec: undefined, summary: name };
    const put: Want = { ...want, spec: input.specOf(want, found) };
    if ('same' in kind.compare(found, put.spec, () => []) || input.isWithoutEffect(subjectOfEdit({ put }))) return;
    drafts.edit({ found }, { put }, name, `${name} as all others want it`);
  }

  function rootOf(found: Found): Found {
    const container = match.containerOf(found);
    return container === undefined ? found : rootOf(container);
  }
  /** The Service moves between a lent container and its own: this one serves until the other one does. */
  function isMovedFrom(found: Found): boolean {
    const root = rootOf(found);
    if (!match.isOurs(root)) return root !== found && !decisions.used.has(root);
    return lent.includes(root.kind);
  }
  /** Its container is to be replaced and stays for the sake of others: until it can go, it goes on serving. */
  function isInKept(found: Found): boolean {
    const container = match.containerOf(found);
    if (container === undefined) return false;
    return (replacing.has(container) && foreignPartsOf(container).length > 0) || isInKept(container);
  }
  /** Whether refusals keep the Service from its new container. What the cloud cannot do did not work before either. */
  function isUnserved(found: Found): boolean {
    const { kind } = rootOf(found);
    if (!decisions.wants.some((want) => want.kind === kind)) return input.refusals.length > 0;
    return input.refusals.some(({ reason, ports = [] }) => ports.length > 0 && reason !== 'Unsupported');
  }

  /** Whether a leftover goes now. */
  function mayGo(found: Found): boolean {
    const kind = kinds.get(found.kind)!;
    const bound = decisions.bound.get(nameOf(found));
    const same = match.candidates(nameOf(found)).filter(({ within }) => within === found.within);
    const isDuplicate = found !== (same.find(({ id }) => id === bound) ?? same[0]);
    if (kind.merge !== undefined && !isDuplicate) {
      const may = input.mayDrop(found);
      // The last Service that goes must not leave it behind.
      if (may === 'later') {
        waits.push({
          name: nameOf(found),
          why: 'not every Service has been read yet',
          ms: deletionAgainMs,
          isOurs: true,
        });
        return false;
      }
      if (may === 'no') {
        shrinkShared(found);
        return false;
      }
    }
    if (!removing && isInKept(found)) {
      serving.add(found);
      return false;
    }
    // A blocked resource keeps what it refers to.
    if (!removing && match.referrers(found).some((other) => isBlockedName(nameOf(other)))) return false;
    const isMoved = isMovedFrom(found);
    if ((found.address === undefined && !isMoved) || removing || isDuplicate) return true;
    const mayChange = input.mayChangeAddress || found.address === undefined;
    // What serves stays while its replacement is refused.
    const isRefused = isBlocked || refusals.length > 0 || decisions.refusals.length > 0;
    if (
      !isRefused &&
      !(isMoved && isUnserved(found)) &&
      (mayChange || refuse('AddressWouldChange', found, 'would be deleted'))
    )
      return true;
    serving.add(found);
    return false;
  }

  /** Leftovers that stay because they serve. */
  const serving = new Set<Found>();
  // Addresses are judged first: a refused one keeps the rest.
  const left = match.ours
    .filter((one) => !decisions.used.has(one) && !replacing.has(one))
    .sort((a, b) => Number(a.address === undefined) - Number(b.address === undefined));
  const leftovers = withoutReferredTo(left.filter(mayGo), serving, match.referrers);
  const going = new Set<Found>([...leftovers, ...replacing]);
  const deletes = new Map<string, string>();

  /** Parts of other owners that would be deleted with it. */
  function foreignPartsOf(found: Found): readonly Found[] {
    return match.all.filter((one) => match.containerOf(one) === found && one.owner !== undefined && !match.isOurs(one));
  }
  function retainOne(found: Found): void {
    const kind = kinds.get(found.kind)!;
    const container = match.containerOf(found);
    const name = nameOf(found);
    if (kind.mark !== undefined)
      drafts.add({
        id: `mark ${found.kind} ${found.id}`,
        do: 'mark',
        as: 'retained',
        kind: found.kind,
        name,
        found,
        summary: `keep ${found.kind} ${found.id} without this Service`,
      });
    // A document stays for the sake of others. In a resource of others, only the record tells it from theirs.
    else if (kind.document !== undefined || (container !== undefined && !match.isOurs(container))) removeOne(found);
  }
  function removeOne(found: Found, why?: string): void {
    const kind = kinds.get(found.kind)!;
    const container = match.containerOf(found);
    const name = nameOf(found);
    if (kind.document !== undefined) {
      if (input.isWithoutEffect(subjectOfEdit({ drop: found }))) {
        refuse('NoEffect', found, 'was dropped three times and is still there');
        return;
      }
      deletes.set(identityOf(found), drafts.edit({ found }, { drop: found }, name, `drop ${name}`));
      return;
    }
    if (container?.status === 'pending' && kinds.get(container.kind)?.locks)
      return void wait(found, 'the cloud is still changing its container', container.operation);
    if (found.status === 'deleting') return void wait(found, 'it is being deleted');
    if (found.status === 'pending' && kind.locks)
      return void wait(found, 'the cloud is still changing it', found.operation);
    if (foreignPartsOf(found).length > 0) {
      const guests = foreignPartsOf(found).map(nameOf).sort().join(', ');
      return void refuse('InUse', found, `stays: ${guests} belong to others`);
    }
    if (input.isWithoutEffect(subjectOf({ do: 'delete', name, found })))
      return void refuse('NoEffect', found, 'was deleted three times and is still there');
    const text = `delete ${found.key === undefined ? found.kind : name} ${found.id}`;
    const summary = why === undefined ? text : `${text}: ${why}`;
    const id = `delete ${found.kind} ${found.id}`;
    deletes.set(identityOf(found), drafts.add({ id, do: 'delete', kind: found.kind, name, found, summary }));
  }

  /** The delete that removes this one: its own, or that of a container. */
  function deleteOf(found: Found): string | undefined {
    const own = deletes.get(identityOf(found));
    const container = match.containerOf(found);
    return own ?? (container === undefined ? undefined : deleteOf(container));
  }
  /** Parts that are deleted with their container need no step. */
  function goesWithContainer(found: Found): boolean {
    const container = match.containerOf(found);
    if (container === undefined || retain) return false;
    // It stays for the sake of others: what is ours in it goes.
    return (going.has(container) && foreignPartsOf(container).length === 0) || goesWithContainer(container);
  }

  /** Nothing takes it away alone. */
  function onlyGoesWithContainer(found: Found): boolean {
    const { within, remove, removeMany, document } = kinds.get(found.kind)!;
    return within !== undefined && remove === undefined && removeMany === undefined && document === undefined;
  }

  const whys = new Map(replaced.map(({ found, why }) => [found, why]));
  for (const found of going) {
    if (goesWithContainer(found) || onlyGoesWithContainer(found)) continue;
    if (removing && retain) retainOne(found);
    else removeOne(found, whys.get(found));
  }
  for (const found of deletes.size === 0 ? [] : match.all) {
    const gone = deleteOf(found);
    if (gone === undefined) continue;
    // What refers to it is changed or deleted first.
    for (const other of match.referrers(found)) {
      const isFirm = other.refs?.some((ref) => !ref.loose && identityOf(ref) === identityOf(found));
      if (isFirm) for (const step of drafts.stepsOn(other)) if (step !== gone) graph.require(gone, step);
      const otherGone = deleteOf(other);
      if (otherGone !== undefined && otherGone !== gone) graph.require(gone, otherGone);
      // It is being deleted already: what it refers to can go afterwards.
      if (isFirm && otherGone === undefined && going.has(other)) graph.require(gone, notNow);
    }
  }
  const goingBy = new Map([...going].map((found) => [identityOf(found), found]));
  for (const found of going) {
    const gone = deletes.get(identityOf(found));
    for (const ref of gone === undefined ? [] : (found.refs ?? [])) {
      const target = ref.outlives && goingBy.get(identityOf(ref));
      if (target) graph.require(gone!, deleteOf(target) ?? notNow);
    }
  }
  for (const { found, for: maker, first } of replaced) {
    const gone = deleteOf(found);
    if (gone === undefined) {
      // It cannot be deleted now, so its replacement cannot be created.
      if (first === 'break') graph.require(maker, notNow);
    } else if (first === 'make') graph.require(gone, maker);
    else {
      graph.require(maker, gone);
      // As late as possible: everything that can be created before it comes first.
      for (const step of making) graph.prefer(gone, step);
    }
  }
  for (const found of leftovers) {
    const gone = deletes.get(identityOf(found));
    if (gone === undefined || removing || (found.address === undefined && !isMovedFrom(found))) continue;
    // What serves is deleted after everything that is created, except what has to wait for its end.
    for (const step of making) if (!graph.waitsFor(step, gone)) graph.require(gone, step);
  }
  return { refusals, waits };
}

/** Those of `going` that nothing refers to which stays. */
function withoutReferredTo(
  going: readonly Found[],
  staying: ReadonlySet<Found>,
  referrersOf: (found: Found) => readonly Found[],
): readonly Found[] {
  const isNeeded = (one: Found) => referrersOf(one).some((other) => staying.has(other));
  const needed = going.filter(isNeeded);
  if (needed.length === 0) return going;
  return withoutReferredTo(
    going.filter((one) => !needed.includes(one)),
    new Set([...staying, ...needed]),
    referrersOf,
  );
}
