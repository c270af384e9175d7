import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { untilAborted } from '../../../common/process/until.ts';
import type { Asked, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancers,
  ObservedLoadBalancer,
  Owner,
} from '../../clouds/load-balancers.ts';
import { type ApplyOptions, WithheldError } from '../../clouds/permit.ts';
import { createEngine, type Engine } from '../engine.ts';
import type { JournalState } from '../journal.ts';
import { isUseName } from '../owner.ts';
import type { Request, Result } from '../request.ts';
import { everyService, type Found, isOwnedBy, kindOf, type Reader, type ResourceName } from '../resource.ts';
import { isRecorded } from '../sender.ts';
import { parseNotes, printNotes } from './notes.ts';
import { type EngineStep, marksOnly, planOf, stepOf } from './translate.ts';
import { byService, retainedViews, viewOf } from './view.ts';

/** More than a Service has: each is asked for by its id. */
const maxRecorded = 20;

/** What is remembered of one Service between calls. */
interface Session {
  readonly owner: Owner;
  /** What was planned for last: `apply` carries that out. */
  request: Request<Asked> | undefined;
  ref: LoadBalancerRef | undefined;
  options: ApplyOptions | undefined;
  /** What an apply was given to save with is good until its end. */
  isApplying: boolean;
  /** Notes that this process has read or written: others are news. */
  readonly notes: Set<string | undefined>;
  /** As they stand with the Service. */
  lastNotes: string | undefined;
  /** Creates that stand there. */
  tried: readonly string[];
  /** Not written yet. */
  unsaved: JournalState | undefined;
  /** The cloud, or another Service, is waited for: nothing is sent before. */
  restsUntilMs: number;
  /** What it asked for when all was as asked for last, but for its members. */
  settledFor: string | undefined;
  /** A read has just shown that nothing is left. */
  isGone: boolean;
  /** Its worker was given back while the cloud was at work. */
  isParked: boolean;
}

export interface EngineLoadBalancersParts {
  readonly driver: LoadBalancerDriver;
  /** Name of the cloud, for errors. */
  readonly cloud: string;
  readonly clock: Clock;
  /** Aborts when the cloud is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** What was read no longer ago is not read again because a Service asks for something else. */
const freshMs = 10_000;
/** How soon one is planned for again whose load balancer the cloud is at work on: without a call. */
const waitedForMs = 1000;
/** No step is taken before what it needs was read by its controller's own audit. */
const auditMs = Number.POSITIVE_INFINITY;

/**
 * The load balancers of a cloud whose driver is a table of resources, behind the contract that controllers know. One
 * `apply` lets the engine carry out all that is planned for that Service, independent calls side by side; it answers
 * when all is done, or when the cloud has to be waited for. Plans come from all that is known, not from `observed`.
 */
export function createEngineLoadBalancers(
  parts: EngineLoadBalancersParts,
): LoadBalancers<ObservedLoadBalancer, EngineStep> {
  const { driver, cloud, clock, signal } = parts;
  const ownName = `${driver.main}/main`;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const readers = driver.readers.map(
    (reader): Reader => ({
      ...reader,
      async of(query, io) {
        const session = sessionOf(query.owner);
        // Otherwise it is written with what was answered.
        if (session.isApplying) await flush(session);
        return reader.of(query, io);
      },
    }),
  );
  const engines = new Map<string, Engine<Asked>>();
  const sessions = new Map<string, Session>();
  let isEveryoneDeclared = false;
  let lent: ReadonlySet<string> = new Set();
  const nowMs = () => clock.monotonic();

  function engineOf(cluster: string): Engine<Asked> {
    const held = engines.get(cluster);
    if (held !== undefined) return held;
    const made = createEngine<Asked>({
      ...{ driver: { ...driver, readers }, cluster, clock, auditMs },
      permit: (owner) => (timeoutMs) => permitOf(owner)(timeoutMs),
      journal: { load: async () => undefined, save },
      everyoneDeclared: () => isEveryoneDeclared,
      onStep(owner, step, outcome) {
        // The cloud has taken note of it, and says when to ask again.
        const isTaken =
          outcome === 'done' || outcome === 'going' || (typeof outcome === 'object' && isWait(outcome.error));
        if (isTaken) sessions.get(owner.service)?.options?.onStep?.(stepOf(owner.service, step));
      },
      ...(signal !== undefined && { signal }),
    });
    engines.set(cluster, made);
    return made;
  }

  function sessionOf(owner: Owner): Session {
    const held = sessions.get(owner.service);
    if (held !== undefined) return held;
    const made: Session = {
      ...{
        owner,
        request: undefined,
        ref: undefined,
        options: undefined,
        isApplying: false,
        notes: new Set(),
        lastNotes: undefined,
        tried: [],
        unsaved: undefined,
      },
      ...{ restsUntilMs: Number.NEGATIVE_INFINITY, settledFor: undefined, isGone: false, isParked: false },
    };
    sessions.set(owner.service, made);
    return made;
  }

  function permitOf({ service }: Owner): ApplyOptions['permit'] {
    const permit = sessions.get(service)?.options?.permit;
    if (permit === undefined) throw new WithheldError('Fenced', 'not sent: nothing was asked for in this process');
    return permit;
  }

  /**
   * What creates may have been sent has to stand before they are; ids before the next read, or with what is written of
   * the Service at the end.
   */
  async function save(owner: Owner, state: JournalState): Promise<void> {
    const session = sessionOf(owner);
    // The record goes as a whole when nothing is left.
    if (!state.claimed || session.request?.desired === undefined) return;
    const isUrgent = state.tried.some((name) => !session.tried.includes(name));
    session.unsaved = state;
    if (isUrgent) await flush(session);
  }

  async function flush(session: Session): Promise<void> {
    const { unsaved, options } = session;
    session.unsaved = undefined;
    if (unsaved === undefined || options?.save === undefined) return;
    const notes = printNotes(unsaved);
    if (notes === session.lastNotes) return;
    try {
      await options.save({ id: unsaved.ids[ownName], notes });
    } catch (error) {
      // It goes on later; whatever else is wrong, the Service is another one by now, or is written anyway.
      if (error instanceof WithheldError) session.unsaved ??= unsaved;
      throw error;
    }
    session.notes.add(notes);
    session.lastNotes = notes;
    session.tried = unsaved.tried;
  }

  /** Users can write the record: it proves neither parts of what others made, nor what is lent to them. */
  function mayBeOwn([name, id]: readonly [ResourceName, string]): boolean {
    const kind = kinds.get(kindOf(name));
    if (kind === undefined || !isRecorded(kind) || isUseName(name)) return false;
    return kind.kind !== driver.main || (name === ownName && !lent.has(id));
  }

  /** Another process may have written what the Service says now. */
  function remember(session: Session, notes: string | undefined, isClaimed: boolean): void {
    session.lastNotes = notes;
    if (session.notes.has(notes)) return;
    session.notes.add(notes);
    const { ids: written, tried } = parseNotes(notes);
    const ids = Object.fromEntries(Object.entries(written).filter(mayBeOwn).slice(0, maxRecorded));
    session.tried = tried;
    engineOf(session.owner.cluster).take(session.owner, { claimed: isClaimed, ids, tried });
  }

  function adoptsOf({ ref, owner }: Session): Request<Asked>['adopts'] {
    const { adopts } = driver;
    if (ref?.adopt === undefined || adopts === undefined) return undefined;
    const known = knownOf(owner.cluster);
    const { service, name, id, adopt: proof } = ref;
    const adopting = { owner, service, name, id, proof, known };
    const isServed = known(driver.main).some((one) => one.owner?.service === owner.service);
    return (found) => (isServed && found.kind === driver.main ? undefined : adopts(found, adopting));
  }

  function askedFor(session: Session, desired: DesiredLoadBalancer): Asked {
    return { desired, known: knownOf(desired.owner.cluster), mine: () => ours(session) };
  }

  /** What is found of one Service. */
  function ours(session: Session): readonly Found[] {
    const { owner } = session;
    const { near, isOurs } = engineOf(owner.cluster).match(owner, adoptsOf(session));
    return near.filter((one) => isOurs(one) && (one.owner === undefined || one.owner.service === owner.service));
  }

  function knownOf(cluster: string): Asked['known'] {
    const engine = engineOf(cluster);
    return (kind) => engine.found().ofKind(kind);
  }

  function requestOf(session: Session, desired: DesiredLoadBalancer): Request<Asked> {
    const { owner, mayChangeAddress } = desired;
    return { owner, desired: askedFor(session, desired), mayChangeAddress, adopts: adoptsOf(session) };
  }

  function planned(session: Session, request: Request<Asked>): LoadBalancerPlan<EngineStep> {
    const { owner, desired } = request;
    session.request = request;
    const plan = engineOf(owner.cluster).planNow(request);
    const { wants = [], remarks } = desired === undefined ? {} : driver.desire(desired);
    const told = { ...planOf(owner.service, plan, wants), ...(remarks !== undefined && { remarks }) };
    // It carries its marks from the first change on that it needs anyway.
    if (desired !== undefined && request.adopts !== undefined && marksOnly(plan)) return { ...told, steps: [] };
    const restMs = Math.max(session.restsUntilMs - nowMs(), isWaitedFor(owner) ? waitedForMs : 0);
    return restMs > 0 ? { ...told, steps: [], waitMs: Math.ceil(restMs) } : told;
  }

  function isUnused(found: Found): boolean {
    const kind = driver.kinds.find((one) => one.kind === found.kind);
    return kind?.usedBy?.(found)?.length === 0;
  }

  function mainsOf(found: readonly Found[]): ReadonlyMap<string, Found> {
    return new Map(found.flatMap((one) => (one.kind === driver.main ? [[one.id, one]] : [])));
  }

  function view(session: Session): ObservedLoadBalancer | undefined {
    const { owner, ref } = session;
    const engine = engineOf(owner.cluster);
    const mains = mainsOf(engine.found().ofKind(driver.main));
    // Found without a mark of ours.
    const isAdopted = (found: Found) => ref?.adopt !== undefined && found.owner === undefined;
    const seen = viewOf({ driver, owner, ours: ours(session), mains, isAdopted, ref, known: knownOf(owner.cluster) });
    if (seen === undefined) return undefined;
    // Written with the Service from here on, so that it is no news when it is read there.
    const notes = printNotes(engine.journalOf(owner));
    session.notes.add(notes);
    return notes === undefined ? seen : { ...seen, notes };
  }

  async function observeAll(
    cluster: string,
    aborting?: AbortSignal,
    adoptable: readonly LoadBalancerRef[] = [],
  ): Promise<readonly ObservedLoadBalancer[]> {
    const engine = engineOf(cluster);
    await unlessAborted(engine.audit(), aborting);
    for (const ref of adoptable) sessionOf(ref.owner).ref = ref;
    const found = engine.found().all;
    const mains = mainsOf(found);
    const known = knownOf(cluster);
    const groups = byService(driver.kinds, found, cluster);
    const owned = [...groups].flatMap(([service, ours]) => {
      // What all share is left over when nothing uses it any more.
      if (service === everyService && !ours.every(isUnused)) return [];
      const owner = { cluster, service };
      return (
        viewOf({ driver, owner, ours, mains, isAdopted: () => false, ref: sessions.get(service)?.ref, known }) ?? []
      );
    });
    const adopted = adoptable.flatMap((ref) => {
      const seen = view(sessionOf(ref.owner));
      return seen?.adopted ? [seen] : [];
    });
    const takers = new Set(adopted.map(({ owner }) => owner?.service));
    return [
      ...owned.filter(({ owner }) => !takers.has(owner?.service)),
      ...adopted,
      ...retainedViews(driver, found, known),
    ];
  }

  /** The end of an operation of this process shows by itself. */
  function isWaitedFor(owner: Owner): boolean {
    const engine = engineOf(owner.cluster);
    const mains = engine.found().ofKind(driver.main);
    return mains.some((one) => isOwnedBy(one, owner) && engine.isWaitedFor(one.operation ?? ''));
  }

  async function observe(ref: LoadBalancerRef, aborting?: AbortSignal): Promise<ObservedLoadBalancer | undefined> {
    const { owner, id, notes, attachTo, removing = false } = ref;
    const session = sessionOf(owner);
    session.ref = ref;
    remember(session, notes, true);
    if (session.isGone) {
      sessions.delete(owner.service);
      return undefined;
    }
    if (isWaitedFor(owner)) return view(session);
    const { isParked } = session;
    session.isParked = false;
    // Its end was seen, and nothing else has happened since.
    if (isParked && !engineOf(owner.cluster).isStale(owner)) return view(session);
    const ids = [id, attachTo].flatMap((one) => (one === undefined ? [] : [{ kind: driver.main, id: one }]));
    await unlessAborted(engineOf(owner.cluster).look(owner, { ids, slots: driver.slots(ref), removing }), aborting);
    return view(session);
  }

  async function apply(
    step: EngineStep,
    _: ObservedLoadBalancer | undefined,
    options: ApplyOptions,
  ): Promise<ObservedLoadBalancer | undefined> {
    const session = sessions.get(step.service);
    if (session?.request === undefined) throw failure('Conflict', step.summary, 'it was planned by another process');
    session.options = options;
    session.isApplying = true;
    try {
      return await carryOut(session, session.request, options.signal);
    } finally {
      if (session.options === options) session.isApplying = false;
    }
  }

  async function carryOut(
    session: Session,
    request: Request<Asked>,
    aborting: AbortSignal | undefined,
  ): Promise<ObservedLoadBalancer | undefined> {
    const { owner } = request;
    await lookAtChange(session, request, aborting);
    const result = await unlessAborted(engineOf(owner.cluster).reconcile(request), aborting);
    session.restsUntilMs = result.state === 'waiting' ? nowMs() + (result.againInMs ?? 0) : Number.NEGATIVE_INFINITY;
    session.isParked = result.state === 'waiting' && isWaitedFor(owner);
    session.isGone = request.desired === undefined && result.state === 'settled';
    if (result.state === 'settled') session.settledFor = printOf(request);
    const error = errorOf(result);
    if (error !== undefined) {
      await flush(session);
      throw error;
    }
    return session.isGone ? undefined : view(session);
  }

  /** Where the Service asks for something else than it has, what was changed by hand meanwhile is put right with it. */
  async function lookAtChange({ owner, ref, settledFor }: Session, request: Request<Asked>, aborting?: AbortSignal) {
    const engine = engineOf(owner.cluster);
    // What goes is read before, and after, by itself.
    if (request.desired === undefined || settledFor === undefined || settledFor === printOf(request)) return;
    if (nowMs() - engine.lookedAtMs(owner) < freshMs) return;
    const slots = ref === undefined ? [] : driver.slots(ref);
    await unlessAborted(engine.look(owner, { ids: [], slots, removing: false }), aborting);
  }

  /** The one that tells most of what went wrong. */
  function errorOf({ state, errors, refused }: Result): unknown {
    if (state === 'settled' || state === 'refused') return undefined;
    // It is waited for, and nothing is wrong.
    if (state === 'waiting' && refused.length === 0 && errors.every(isWait)) return undefined;
    const found =
      errors.find((error) => error instanceof WithheldError) ??
      errors.find((error) => isCloudError(error) && error.subjects.length > 0) ??
      errors.find((error) => !isCloudError(error)) ??
      errors[0];
    if (found !== undefined || refused.length === 0) return found;
    return failure('Invalid', 'set members', `refused: ${refused.join(', ')}`, refused);
  }

  function failure(
    kind: 'Conflict' | 'Invalid' | 'Unavailable',
    operation: string,
    message: string,
    subjects: readonly string[] = [],
  ) {
    return new CloudError({ kind, cloud, operation, message, subjects });
  }

  /** What is under way goes on to its end, and changes nothing any more without a permit. */
  async function unlessAborted<T>(work: Promise<T>, aborting: AbortSignal | undefined): Promise<T> {
    if (aborting === undefined) return work;
    const aborted = untilAborted(aborting).then(() => Promise.reject(failure('Unavailable', 'wait', 'interrupted')));
    aborted.catch(() => undefined);
    return Promise.race([work, aborted]);
  }

  return {
    annotations: driver.annotations,
    annotationPrefixes: driver.annotationPrefixes ?? [],
    ...(driver.nodeLabels !== undefined && { nodeLabels: driver.nodeLabels }),
    maxMembers: driver.maxMembers,
    drains: driver.drains,
    settleMs: Math.max(0, ...driver.kinds.map(({ settleMs = 0 }) => settleMs)),
    observeAll,
    observe,
    declare(desired, isEveryone, lentIds) {
      lent = lentIds;
      const live = new Set(desired.map(({ owner }) => owner.service));
      for (const { owner } of sessions.values())
        if (!live.has(owner.service)) engineOf(owner.cluster).declare({ owner, desired: undefined });
      for (const one of desired) engineOf(one.owner.cluster).declare(requestOf(sessionOf(one.owner), one));
      isEveryoneDeclared = isEveryone;
    },
    plan(desired) {
      const session = sessionOf(desired.owner);
      // One without an id or notes only says that something may be made from now on.
      const { id, notes } = desired.record ?? { id: undefined, notes: undefined };
      if (desired.record !== undefined) remember(session, notes, id !== undefined || notes !== undefined);
      return planned(session, requestOf(session, desired));
    },
    planRemoval({ owner }, { retain }) {
      if (owner === undefined) return { steps: [], refusals: [], waitMs: undefined };
      const session = sessionOf(owner);
      return planned(session, { owner, desired: undefined, retain, adopts: adoptsOf(session) });
    },
    apply,
  };
}

function printOf({ desired }: Request<Asked>): string {
  return JSON.stringify({ ...desired?.desired, members: undefined, record: undefined });
}

/** The cloud says when it is to be asked again. */
function isWait(error: unknown): boolean {
  return isCloudError(error) && error.kind === 'Busy' && error.retryAfterMs !== undefined;
}
