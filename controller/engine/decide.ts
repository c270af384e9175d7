import { subjectOf } from './ineffective-calls.ts';
import { inOrder } from './order.ts';
import {
  type Change,
  type Comparison,
  type Found,
  identityOf,
  type Kind,
  nameOf,
  type PointsAt,
  type Refusal,
  type ResourceName,
  type Want,
} from './resource.ts';
import type { PlanInput, Wait } from './step.ts';

/** What the plan does with one desired resource. */
export type Decision =
  | { readonly is: 'blocked' }
  /** A resource of others, which stays unchanged. */
  | { readonly is: 'used' }
  | {
      readonly is: 'create';
      /** A resource of ours that holds its slot and is deleted first. */
      readonly freeing: Found | undefined;
      /** The resource of ours that it is created in place of. */
      readonly replaces?: {
        readonly found: Found;
        readonly why: string;
        readonly order: 'createFirst' | 'deleteFirst';
      };
    }
  | { readonly is: 'keep'; readonly found: Found; readonly changes: readonly Change[]; readonly isMarked: boolean };

export interface Decisions {
  readonly of: ReadonlyMap<ResourceName, Decision>;
  /** Each after its needs. */
  readonly wants: readonly Want[];
  /** Found resources that match a desired one. */
  readonly used: ReadonlySet<Found>;
  readonly bound: ReadonlyMap<ResourceName, string>;
  readonly refusals: readonly Refusal[];
  readonly waits: readonly Wait[];
}

/** When to read a pending resource again where the cloud names no operation. */
const pendingAgainMs = 1000;

/** Compares the desired resources with the found ones, one after the other. Pure. */
export function decide(input: PlanInput): Decisions {
  const wants = inOrder(input.wants, nameOf, needsOf);
  /** Resources that must not be replaced, because a resource that refers to them must not be. */
  const frozen = new Map<ResourceName, string>();
  for (;;) {
    const decisions = decideOnce(input, wants, frozen);
    if (!('freeze' in decisions)) return decisions;
    frozen.set(decisions.freeze, decisions.why);
  }
}

export function needsOf(want: Want): readonly ResourceName[] {
  return [...(want.within === undefined ? [] : [want.within]), ...(want.needs ?? [])];
}

function decideOnce(
  input: PlanInput,
  wants: readonly Want[],
  frozen: ReadonlyMap<ResourceName, string>,
): Decisions | { readonly freeze: ResourceName; readonly why: string } {
  const { kinds, match } = input;
  const decided = new Map<ResourceName, Decision>();
  const bound = new Map<ResourceName, string>();
  const nameOfId = new Map<string, ResourceName>();
  const used = new Set<Found>();
  const refusals: Refusal[] = [];
  const waits: Wait[] = [];
  /** Deleted before its replacement is created, by identity. */
  const broken = new Map<string, ResourceName>();

  const blocked: Decision = { is: 'blocked' };
  function refuse(reason: Refusal['reason'], name: ResourceName, message: string): Decision {
    refusals.push({ reason, name, message: `${name}: ${message}` });
    return blocked;
  }
  function wait(name: ResourceName, why: string, ms: number, operation?: string): Decision {
    waits.push({ name, why, ms, operation });
    return blocked;
  }
  function bind(name: ResourceName, kind: string, id: string): void {
    bound.set(name, id);
    nameOfId.set(identityOf({ kind, id }), name);
  }
  function pointsAtOf(found: Found): PointsAt {
    return (role) =>
      (found.refs ?? []).flatMap((ref) => (ref.role === role ? (nameOfId.get(identityOf(ref)) ?? []) : []));
  }

  function use(want: Want & { use: NonNullable<Want['use']> }): Decision {
    const { id, allowed } = want.use;
    const name = nameOf(want);
    const target = [...match.all].find((one) => one.kind === want.kind && one.id === id);
    if (target === undefined) return refuse('Unsupported', name, `${id} does not exist`);
    if (!target.consent && !allowed && !match.isOurs(target))
      return refuse('ForeignLoadBalancer', name, `${id} gives no consent`);
    if (target.status === 'pending' && kinds.get(want.kind)?.locks)
      return wait(name, 'the cloud is still changing it', pendingAgainMs, target.operation);
    used.add(target);
    bind(name, want.kind, id);
    return { is: 'used' };
  }

  function keepUnchanged(want: Want, current: Found | undefined): Decision {
    if (current === undefined) return blocked;
    used.add(current);
    bind(nameOf(want), want.kind, current.id);
    return { is: 'keep', found: current, changes: [], isMarked: !match.unmarked.has(current) };
  }

  /** The found resource of that name in the desired container; of several, one that needs no replacement. */
  function currentOf(want: Want, kind: Kind): Found | undefined {
    const isInPlace = (one: Found) =>
      kind.within === undefined || want.within === undefined || one.within === bound.get(want.within);
    const candidates = match.candidates(nameOf(want)).filter(isInPlace);
    const isAsDesired = (one: Found) => want.leaveUnchanged || !('replace' in comparedWith(one, want, kind));
    const isGood = (one: Found) => one.status !== 'deleting' && one.status !== 'failed' && isAsDesired(one);
    return candidates.length < 2 ? candidates[0] : (candidates.find(isGood) ?? candidates[0]);
  }

  /** Whether it can be created now: not while an earlier create may still appear. `free`: the one to delete first. */
  function claim(want: Want, kind: Kind, current?: Found): Decision | { readonly free: Found | undefined } {
    const name = nameOf(want);
    const unseenMs = kind.retryCreate === 'afterSearch' ? input.unseenMs(name, kind) : 0;
    if (unseenMs > 0) return wait(name, 'the result of an earlier create may not be visible yet', unseenMs);
    const within = want.within === undefined ? undefined : bound.get(want.within);
    const slot = want.slot?.replace('{within}', within ?? '?');
    const holder = slot === undefined ? undefined : match.holderOf(slot);
    if (holder === undefined || holder === current) return { free: undefined };
    if (holder.status === 'deleting') return wait(name, `${holder.id} is being deleted`, pendingAgainMs);
    if (match.isOurs(holder)) {
      if (used.has(holder))
        return refuse('Unsupported', name, `${slot} is taken by ${holder.kind} ${holder.id} of ours`);
      if (holder.address !== undefined && !input.mayChangeAddress)
        return refuse('AddressWouldChange', name, `${holder.id} would be deleted`);
      const why = frozen.get(name);
      if (why !== undefined) return refuse('AddressWouldChange', name, why);
      broken.set(identityOf(holder), name);
      return { free: holder };
    }
    // A resource that all Services share may belong to others.
    if (kind.merge !== undefined && 'same' in kind.compare(holder, input.specOf(want, undefined), pointsAtOf(holder))) {
      bind(name, want.kind, holder.id);
      return { is: 'used' };
    }
    return refuse('ForeignLoadBalancer', name, `${slot} is taken by ${holder.kind} ${holder.id}`);
  }

  /** A failed container is repaired before anything in it is changed. */
  function isInFailed({ within }: Want): boolean {
    const container = within === undefined ? undefined : decided.get(within);
    return container?.is === 'keep' && container.found.status === 'failed';
  }

  function make(want: Want, kind: Kind): Decision {
    const name = nameOf(want);
    if (isInFailed(want)) return wait(name, `${want.within} has failed`, pendingAgainMs);
    // The plan adds the refusal.
    if (match.unproven.some((one) => match.recordedNames(one).includes(name))) return blocked;
    const claimed = claim(want, kind);
    if ('is' in claimed) return claimed;
    if (input.isIneffective(subjectOf({ do: 'create', name })))
      return refuse('NoEffect', name, 'was created three times and does not exist');
    return { is: 'create', freeing: claimed.free };
  }

  function comparedWith(current: Found, want: Want, kind: Kind): Comparison {
    const pointsAt = pointsAtOf(current);
    for (const spec of match.unmarked.has(current) ? (want.alsoAccepted ?? []) : [])
      if ('same' in kind.compare(current, spec, pointsAt)) return { same: true };
    const compared = kind.compare(current, input.specOf(want, current), pointsAt);
    if (current.status === 'failed' && 'same' in compared)
      return { replace: 'it has failed', order: want.slot === undefined ? 'createFirst' : 'deleteFirst' };
    return compared;
  }

  function keep(
    want: Want,
    kind: Kind,
    current: Found,
  ): Decision | { readonly freeze: ResourceName; readonly why: string } {
    const name = nameOf(want);
    const isMarked = !match.unmarked.has(current);
    used.add(current);
    bind(name, want.kind, current.id);
    if (current.status === 'deleting') return wait(name, 'it is being deleted', pendingAgainMs);
    if (current.status === 'pending')
      return wait(name, 'the cloud is still changing it', kind.pendingMs ?? pendingAgainMs, current.operation);
    if (isInFailed(want)) return { is: 'keep', found: current, changes: [], isMarked: true };
    const cause = (current.refs ?? []).find((ref) => !ref.loose && broken.has(identityOf(ref)));
    const causeName = cause && broken.get(identityOf(cause));
    const compared: Comparison =
      causeName === undefined
        ? comparedWith(current, want, kind)
        : { replace: `${causeName} is replaced`, order: 'deleteFirst' };
    if ('same' in compared) return { is: 'keep', found: current, changes: [], isMarked };
    if ('replace' in compared) {
      const why = frozen.get(name) ?? compared.replace;
      if (frozen.has(name) || ((want.carriesAddress || current.address !== undefined) && !input.mayChangeAddress)) {
        if (causeName !== undefined) return { freeze: causeName, why: `${causeName} cannot go before ${name}` };
        refuse('AddressWouldChange', name, why);
        return current.status === 'failed' ? blocked : { is: 'keep', found: current, changes: [], isMarked };
      }
      const claimed = claim(want, kind, current);
      if ('is' in claimed) return claimed;
      bound.delete(name);
      nameOfId.delete(identityOf(current));
      // The holder of its slot is deleted first, and this one may refer to the holder.
      const order = claimed.free === undefined ? compared.order : 'deleteFirst';
      if (order === 'deleteFirst') broken.set(identityOf(current), name);
      return { is: 'create', freeing: claimed.free, replaces: { found: current, why: compared.replace, order } };
    }
    const changes = compared.changes.filter((change) => {
      const desired = { ...want, spec: input.specOf(want, current) };
      if (input.isIneffective(subjectOf({ do: 'update', name, want: desired, found: current, change })))
        refuse('NoEffect', name, `${change.summary} was accepted three times without effect`);
      else if (change.changesAddress && !input.mayChangeAddress) refuse('AddressWouldChange', name, change.summary);
      else return true;
      return false;
    });
    return { is: 'keep', found: current, changes, isMarked };
  }

  for (const want of wants) {
    const name = nameOf(want);
    const kind = kinds.get(want.kind);
    if (kind === undefined) throw new Error(`${name}: there is no kind ${want.kind}`);
    const current = currentOf(want, kind);
    if (needsOf(want).some((need) => decided.get(need)?.is === 'blocked')) {
      for (const candidate of match.candidates(name)) used.add(candidate);
      decided.set(name, blocked);
    } else if (want.use !== undefined) decided.set(name, use({ ...want, use: want.use }));
    else if (want.leaveUnchanged) decided.set(name, keepUnchanged(want, current));
    else if (current === undefined) decided.set(name, make(want, kind));
    else {
      const decision = keep(want, kind, current);
      if ('freeze' in decision) return decision;
      decided.set(name, decision);
    }
  }
  // A slot cannot be freed while another desired resource keeps its holder.
  for (const [name, decision] of decided) {
    const freeing = decision.is === 'create' ? decision.freeing : undefined;
    if (freeing === undefined || !used.has(freeing)) continue;
    decided.set(name, refuse('Unsupported', name, `its place is taken by ${identityOf(freeing)} of ours`));
  }
  return { of: decided, wants, used, bound, refusals, waits };
}
