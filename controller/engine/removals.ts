import type { Decisions } from './decide.ts';
import type { Drafts } from './drafts.ts';
import { subjectOf, subjectOfEdit } from './effects.ts';
import type { PlanInput } from './plan-input.ts';
import { type Found, identityOf, nameOf, type Refusal, type ResourceName, type Want } from './resource.ts';
import type { Wait } from './step.ts';

/** Something that goes because something else comes. */
export interface Removal {
  readonly found: Found;
  /** The step that makes what comes instead. */
  readonly for: string;
  readonly first: 'make' | 'break';
  readonly why?: string;
}

const goingAgainMs = 1000;
/** No step: what comes after it is left out of the plan. */
const notNow = 'not now';

/** Adds the steps that take away what is ours and not wanted any more, or is replaced. */
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
  /** Kinds of what others made and is asked for instead of one of its own. */
  const lent = decisions.wants.flatMap(({ kind, use }) =>
    use === undefined || match.ours.some((one) => one.kind === kind && one.id === use.id) ? [] : kind,
  );
  const isBlockedName = (name: ResourceName) => decisions.of.get(name)?.is === 'blocked';
  const making = drafts.all().map(({ id }) => id);

  function wait(found: Found, why: string, operation?: string): false {
    waits.push({ name: nameOf(found), why, ms: goingAgainMs, operation });
    return false;
  }
  function refuse(reason: Refusal['reason'], found: Found, message: string): false {
    refusals.push({ reason, name: nameOf(found), message: `${found.kind} ${found.id} ${message}` });
    return false;
  }

  /** What others go on wanting of a document becomes what they want, in the write that takes our own parts out. */
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
  /** It, or what it is in, serves until what the Service asks for instead does: one is lent by others, one its own. */
  function isMovedFrom(found: Found): boolean {
    const root = rootOf(found);
    if (!match.isOurs(root)) return root !== found && !decisions.used.has(root);
    return lent.includes(root.kind);
  }
  /** What the cloud cannot do of what is asked for instead, it did not do before either, unless that is all of it. */
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
      // The last of all that go must not leave it behind.
      if (may === 'later') {
        waits.push({ name: nameOf(found), why: 'not every Service is known yet', ms: goingAgainMs, isOurs: true });
        return false;
      }
      if (may === 'no') {
        shrinkShared(found);
        return false;
      }
    }
    // What a blocked one still refers to stays with it.
    if (!removing && match.referrers(found).some((other) => isBlockedName(nameOf(other)))) return false;
    const isMoved = isMovedFrom(found);
    if ((found.address === undefined && !isMoved) || removing || isDuplicate) return true;
    // What serves does not go while what comes in its place is refused.
    if (isBlocked || refusals.length > 0 || decisions.refusals.length > 0) return false;
    if (isMoved && isUnserved(found)) return false;
    return found.address === undefined || input.mayChangeAddress || refuse('AddressWouldChange', found, 'would go');
  }

  // A refused address keeps what has none.
  const left = match.ours
    .filter((one) => !decisions.used.has(one) && !replacing.has(one))
    .sort((a, b) => Number(a.address === undefined) - Number(b.address === undefined));
  const leftovers = left.filter(mayGo);
  const going = new Set<Found>([...leftovers, ...replacing]);
  const deletes = new Map<string, string>();

  /** Parts of other owners would go with it. */
  function guestsOf(found: Found): readonly Found[] {
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
    // In what others made: it cannot be told from theirs once the record is gone.
    else if (container !== undefined && !match.isOurs(container)) removeOne(found);
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
      return void wait(found, 'the cloud is at work on its container', container.operation);
    if (found.status === 'deleting') return void wait(found, 'it is being deleted');
    if (found.status === 'pending' && kind.locks)
      return void wait(found, 'the cloud is at work on it', found.operation);
    if (guestsOf(found).length > 0) {
      const guests = guestsOf(found).map(nameOf).sort().join(', ');
      return void refuse('InUse', found, `stays: ${guests} are of others`);
    }
    if (input.isWithoutEffect(subjectOf({ do: 'delete', name, found })))
      return void refuse('NoEffect', found, 'was deleted three times and is still there');
    const text = `delete ${found.key === undefined ? found.kind : name} ${found.id}`;
    const summary = why === undefined ? text : `${text}: ${why}`;
    const id = `delete ${found.kind} ${found.id}`;
    deletes.set(identityOf(found), drafts.add({ id, do: 'delete', kind: found.kind, name, found, summary }));
  }

  /** The delete that takes this one away: its own, or that of a container. */
  function deleteOf(found: Found): string | undefined {
    const own = deletes.get(identityOf(found));
    const container = match.containerOf(found);
    return own ?? (container === undefined ? undefined : deleteOf(container));
  }
  /** Parts that go with their container need no step. */
  function goesWithContainer(found: Found): boolean {
    const container = match.containerOf(found);
    return container !== undefined && (going.has(container) || goesWithContainer(container)) && !retain;
  }

  const whys = new Map(replaced.map(({ found, why }) => [found, why]));
  for (const found of going) {
    if (goesWithContainer(found)) continue;
    if (removing && retain) retainOne(found);
    else removeOne(found, whys.get(found));
  }
  for (const found of deletes.size === 0 ? [] : match.all) {
    const gone = deleteOf(found);
    if (gone === undefined) continue;
    // Those that refer to it turn away first, or go first.
    for (const other of match.referrers(found)) {
      const isFirm = other.refs?.some((ref) => !ref.loose && identityOf(ref) === identityOf(found));
      if (isFirm) for (const step of drafts.stepsOn(other)) if (step !== gone) graph.require(gone, step);
      const otherGone = deleteOf(other);
      if (otherGone !== undefined && otherGone !== gone) graph.require(gone, otherGone);
      // On its way without us: what it refers to can go after its end.
      if (isFirm && otherGone === undefined && going.has(other)) graph.require(gone, notNow);
    }
  }
  for (const { found, for: maker, first } of replaced) {
    const gone = deleteOf(found);
    if (gone === undefined) {
      // It cannot go now: what has to come after it cannot be made.
      if (first === 'break') graph.require(maker, notNow);
    } else if (first === 'make') graph.require(gone, maker);
    else {
      graph.require(maker, gone);
      // As late as possible: what can be made before it is there by then.
      for (const step of making) graph.prefer(gone, step);
    }
  }
  for (const found of leftovers) {
    const gone = deletes.get(identityOf(found));
    if (gone === undefined || removing || (found.address === undefined && !isMovedFrom(found))) continue;
    // What serves goes after all that comes, but for what has to wait for its end.
    for (const step of making) if (!graph.waitsFor(step, gone)) graph.require(gone, step);
  }
  return { refusals, waits };
}
