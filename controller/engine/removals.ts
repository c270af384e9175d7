import type { Decisions } from './decide.ts';
import type { Drafts } from './drafts.ts';
import { subjectOf } from './ineffective-calls.ts';
import { type Found, identityOf, nameOf, type Refusal, type ResourceName, type Want } from './resource.ts';
import type { PlanInput, Wait } from './step.ts';

/** A resource that is deleted because another one replaces it. */
export interface Removal {
  readonly found: Found;
  /** The step that creates the replacement. */
  readonly for: string;
  readonly order: 'createFirst' | 'deleteFirst';
  readonly why?: string;
}

const deletionAgainMs = 1000;
/** No such step exists: steps after it are left out of the plan. */
const notNow = 'not now';

/** Adds the steps that delete our resources that are no longer desired, or are replaced. */
export function planRemovals(
  input: PlanInput,
  decisions: Decisions,
  drafts: Drafts,
  replaced: readonly Removal[],
): { readonly refusals: readonly Refusal[]; readonly waits: readonly Wait[] } {
  const { kinds, match, removing, retain, hasRetained } = input;
  const { graph } = drafts;
  const refusals: Refusal[] = [];
  const waits: Wait[] = [];
  const replacing = new Set(replaced.map(({ found }) => found));
  const isBlocked = [...decisions.of.values()].some(({ is }) => is === 'blocked');
  /** Kinds of which the Service uses a resource of others instead of its own. */
  const lent = decisions.wants.flatMap(({ kind, use }) =>
    use === undefined || match.ours.some((one) => one.kind === kind && one.id === use.id) ? [] : kind,
  );
  const isBlockedName = (name: ResourceName) => decisions.of.get(name)?.is === 'blocked';
  const planned = drafts.all().map(({ id }) => id);

  function wait(found: Found, why: string, more: Pick<Wait, 'operation' | 'isOurs'> = {}): false {
    waits.push({ name: nameOf(found), why, ms: deletionAgainMs, ...more });
    return false;
  }
  function refuse(reason: Refusal['reason'], found: Found, message: string): false {
    refusals.push({ reason, name: nameOf(found), message: `${found.kind} ${found.id} ${message}` });
    return false;
  }

  /** Reduces a shared part to what the other Services desire, in the write that drops our own parts. */
  function shrinkShared(found: Found): void {
    const kind = kinds.get(found.kind)!;
    const name = nameOf(found);
    if (kind.document === undefined || !input.isDesired(name)) return;
    const shared: Want = { kind: found.kind, key: found.key!, spec: undefined, summary: name };
    const want = { ...shared, spec: input.specOf(shared, found) };
    const compared = kind.compare(found, want.spec, () => []);
    for (const change of 'changes' in compared ? compared.changes : []) {
      const step = { do: 'update', kind: found.kind, name, want, found, change } as const;
      const summary = `${name} as the other Services desire it`;
      if (!input.isIneffective(subjectOf(step))) drafts.add({ id: `update ${name}`, ...step, summary });
    }
  }

  function rootOf(found: Found): Found {
    const container = match.containerOf(found);
    return container === undefined ? found : rootOf(container);
  }
  /** The Service moves between a container of others and its own: this one serves until the other one does. */
  function isMovedFrom(found: Found): boolean {
    const root = rootOf(found);
    if (!match.isOurs(root)) return root !== found && !decisions.used.has(root);
    return lent.includes(root.kind);
  }
  /** Its container is to be replaced, but stays because of parts of others: it serves until that is deleted. */
  function isInUndeletable(found: Found): boolean {
    const container = match.containerOf(found);
    if (container === undefined) return false;
    return (replacing.has(container) && foreignPartsOf(container).length > 0) || isInUndeletable(container);
  }
  /** Whether refusals keep the Service from its new container. `Unsupported` does not count: that never worked. */
  function isUnserved(found: Found): boolean {
    const { kind } = rootOf(found);
    if (!decisions.wants.some((want) => want.kind === kind)) return input.refusals.length > 0;
    return input.refusals.some(({ reason, ports = [] }) => ports.length > 0 && reason !== 'Unsupported');
  }

  const isFirm = (other: Found, found: Found) =>
    other.refs?.some((ref) => !ref.loose && identityOf(ref) === identityOf(found)) ?? false;
  /** Recorded resources without proof that they are ours, with their parts: they stay. */
  const staying = match.unproven.length === 0 ? [] : match.near.filter((one) => match.unproven.includes(rootOf(one)));

  /** Whether an unused resource is deleted now. */
  function mayDelete(found: Found): boolean {
    const kind = kinds.get(found.kind)!;
    const user = retain ? undefined : staying.find((one) => isFirm(one, found));
    if (user !== undefined) {
      const root = rootOf(user);
      const why = `stays: ${root.kind} ${root.id}, which carries no mark of this Service any more, refers to it`;
      return refuse('ForeignLoadBalancer', found, why);
    }
    const bound = decisions.bound.get(nameOf(found));
    const same = match.candidates(nameOf(found)).filter(({ within }) => within === found.within);
    const isDuplicate = found !== (same.find(({ id }) => id === bound) ?? same[0]);
    if (kind.merge !== undefined && !isDuplicate) {
      const may = input.mayDrop(found);
      // Otherwise the removal of the last Service would leave it behind.
      if (may === 'later') return wait(found, 'not every Service has been read yet', { isOurs: true });
      if (may === 'no') {
        shrinkShared(found);
        return false;
      }
    }
    if (!removing && isInUndeletable(found)) {
      serving.add(found);
      return false;
    }
    // A blocked resource keeps what it refers to.
    if (!removing && match.referrers(found).some((other) => isBlockedName(nameOf(other)))) return false;
    const isMoved = isMovedFrom(found);
    if ((found.address === undefined && !isMoved) || removing || isDuplicate) return true;
    const mayChange = input.mayChangeAddress || found.address === undefined;
    // A resource that serves stays while its replacement is refused.
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

  /** Unused resources that stay because they serve. */
  const serving = new Set<Found>();
  // Resources with addresses come first: where one is refused, the others stay.
  const unused = match.ours
    .filter((one) => !decisions.used.has(one) && !replacing.has(one))
    .sort((a, b) => Number(a.address === undefined) - Number(b.address === undefined));
  const deletable = withoutReferredTo(unused.filter(mayDelete), serving, match.referrers);
  const obsolete = new Set<Found>([...deletable, ...replacing]);
  const deletes = new Map<string, string>();

  /** Parts of other owners that would be deleted with it. */
  function foreignPartsOf(found: Found): readonly Found[] {
    return match.all.filter((one) => match.containerOf(one) === found && one.owner !== undefined && !match.isOurs(one));
  }
  /** Our own counts no longer as ours once it is retained. */
  const isOfOthers = (container: Found) => !match.isOurs(container) && !hasRetained(container);
  function retainOne(found: Found): void {
    const kind = kinds.get(found.kind)!;
    const container = match.containerOf(found);
    const name = nameOf(found);
    if (found.retained) return;
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
    // A document stays because of others. In a resource of others, only the record tells our parts from theirs.
    else if (kind.document !== undefined || (container !== undefined && isOfOthers(container))) removeOne(found);
  }
  function removeOne(found: Found, why?: string): void {
    const kind = kinds.get(found.kind)!;
    const container = match.containerOf(found);
    const name = nameOf(found);
    if (container?.status === 'pending' && kinds.get(container.kind)?.locks)
      return void wait(found, 'the cloud is still changing its container', { operation: container.operation });
    if (found.status === 'deleting') return void wait(found, 'it is being deleted');
    if (found.status === 'pending' && kind.locks)
      return void wait(found, 'the cloud is still changing it', { operation: found.operation });
    if (foreignPartsOf(found).length > 0) {
      const foreignParts = foreignPartsOf(found).map(nameOf).sort().join(', ');
      return void refuse('Conflict', found, `stays: ${foreignParts} belong to others`);
    }
    if (input.isIneffective(subjectOf({ do: 'delete', name, found })))
      return void refuse('NoEffect', found, 'was deleted three times and still exists');
    const whole = `delete ${found.key === undefined ? found.kind : name} ${found.id}`;
    const text = kind.document === undefined ? whole : `drop ${name}`;
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
  function isDeletedWithContainer(found: Found): boolean {
    const container = match.containerOf(found);
    if (container === undefined || retain) return false;
    // The container stays because of parts of others: our parts in it are deleted.
    return (obsolete.has(container) && foreignPartsOf(container).length === 0) || isDeletedWithContainer(container);
  }

  /** Only the delete of its container deletes it. */
  function cannotBeDeletedAlone(found: Found): boolean {
    const { within, remove, removeMany, document } = kinds.get(found.kind)!;
    return within !== undefined && remove === undefined && removeMany === undefined && document === undefined;
  }

  const whys = new Map(replaced.map(({ found, why }) => [found, why]));
  for (const found of obsolete) {
    if (isDeletedWithContainer(found) || cannotBeDeletedAlone(found)) continue;
    if (removing && retain) retainOne(found);
    else removeOne(found, whys.get(found));
  }
  const deleted = deletes.size === 0 ? [] : match.all.filter((found) => deleteOf(found) !== undefined);
  for (const found of deleted) {
    const deleteStep = deleteOf(found)!;
    // Resources that refer to it are deleted first.
    for (const other of match.referrers(found)) {
      const otherDelete = deleteOf(other);
      if (otherDelete !== undefined && otherDelete !== deleteStep) graph.require(deleteStep, otherDelete);
      // It is being deleted already: its targets are deleted afterwards.
      if (isFirm(other, found) && otherDelete === undefined && obsolete.has(other)) graph.require(deleteStep, notNow);
    }
  }
  const obsoleteById = new Map([...obsolete].map((found) => [identityOf(found), found]));
  for (const found of obsolete) {
    const deleteStep = deletes.get(identityOf(found));
    for (const ref of deleteStep === undefined ? [] : (found.refs ?? [])) {
      const target = ref.outlives && obsoleteById.get(identityOf(ref));
      if (target) graph.require(deleteStep!, deleteOf(target) ?? notNow);
    }
  }
  function breakFirst(createStep: string, deleteStep: string): void {
    graph.require(createStep, deleteStep);
    // As late as possible: everything that can be created before it comes first.
    for (const step of planned) graph.prefer(deleteStep, step);
  }
  for (const { found, for: createStep } of replaced.filter(({ order }) => order === 'deleteFirst')) {
    const deleteStep = deleteOf(found);
    // It cannot be deleted now, so its replacement cannot be created.
    if (deleteStep === undefined) graph.require(createStep, notNow);
    else breakFirst(createStep, deleteStep);
  }
  // What follows gives way where the steps above need the other order.
  for (const found of deleted) {
    const deleteStep = deleteOf(found)!;
    // Resources that refer to it are changed first.
    for (const other of match.referrers(found).filter((one) => isFirm(one, found)))
      for (const step of drafts.stepsOn(other))
        if (step !== deleteStep && !graph.waitsFor(step, deleteStep)) graph.require(deleteStep, step);
  }
  for (const { found, for: createStep } of replaced.filter(({ order }) => order === 'createFirst')) {
    const deleteStep = deleteOf(found);
    if (deleteStep === undefined) continue;
    if (graph.waitsFor(createStep, deleteStep)) breakFirst(createStep, deleteStep);
    else graph.require(deleteStep, createStep);
  }
  const createdFirst = replaced.filter(({ order }) => order === 'createFirst').map(({ found }) => found);
  for (const found of [...deletable, ...createdFirst]) {
    const deleteStep = deletes.get(identityOf(found));
    if (deleteStep === undefined || removing || (found.address === undefined && !isMovedFrom(found))) continue;
    // A resource that serves is deleted after all creates, except those that have to wait for its deletion.
    for (const step of planned) if (!graph.waitsFor(step, deleteStep)) graph.require(deleteStep, step);
  }
  return { refusals, waits };
}

/** Those of `deletable` that no staying resource refers to. */
function withoutReferredTo(
  deletable: readonly Found[],
  staying: ReadonlySet<Found>,
  referrersOf: (found: Found) => readonly Found[],
): readonly Found[] {
  const isNeeded = (one: Found) => referrersOf(one).some((other) => staying.has(other));
  const needed = deletable.filter(isNeeded);
  if (needed.length === 0) return deletable;
  return withoutReferredTo(
    deletable.filter((one) => !needed.includes(one)),
    new Set([...staying, ...needed]),
    referrersOf,
  );
}
