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
import { createEngine, type Engine } from '../../engine/engine.ts';
import type { JournalState } from '../../engine/journal.ts';
import { isUseName } from '../../engine/owner.ts';
import type { Request, Result } from '../../engine/request.ts';
import { everyService, type Found, isOwnedBy, kindOf, type Reader, type ResourceName } from '../../engine/resource.ts';
import { isRecorded } from '../../engine/sender.ts';
import { parseNotes, printNotes } from './notes.ts';
import { type EngineStep, marksOnly, planOf, stepOf } from './translate.ts';
import { byService, retainedViews, viewOf } from './view.ts';

/** More than a Service has. It bounds the reads by id that a forged record can cause. */
const maxRecorded = 20;

/** What is remembered of one Service between calls of its controller. */
interface Session {
  readonly owner: Owner;
  /** The request of the latest plan: `apply` carries it out. */
  request: Request<Asked> | undefined;
  ref: LoadBalancerRef | undefined;
  options: ApplyOptions | undefined;
  /** What an apply was given to save with is good until its end. */
  isApplying: boolean;
  /** Notes that this process has read or written. Any others were written by another process. */
  readonly notes: Set<string | undefined>;
  /** The notes as the Service's record has them now. */
  lastNotes: string | undefined;
  /** Names of creates that those notes list as possibly sent. */
  tried: readonly string[];
  /** The journal's state that is not in the record yet. */
  unsaved: JournalState | undefined;
  /** Nothing is sent before: the cloud, or another Service, is waited for. Monotonic milliseconds. */
  restsUntilMs: number;
  /** The request, without members, for which everything was last up to date. */
  settledFor: string | undefined;
  /** A read has just shown that nothing is left. */
  isGone: boolean;
  /** `apply` returned while an operation of the cloud was still running. */
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

/** A read that is no older is not repeated when the Service changes. */
const freshMs = 10_000;
/** When to plan again while an operation of the cloud runs on the load balancer. Planning makes no call. */
const waitedForMs = 1000;
/** The engine makes no audit by itself: the service task does, by `observeAll`. */
const auditMs = Number.POSITIVE_INFINITY;

/**
 * Puts the engine, with a cloud's driver, behind the contract of the services' controller. One `apply` lets the engine
 * carry out everything that is planned for that Service, independent calls side by side. It resolves when all is done,
 * or when the cloud has to be waited for. Plans are made from everything that was read, not from `observed` alone.
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
        // Calls that the cloud accepted, including those that it finishes later.
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
   * Creates are recorded before they are sent. Ids are recorded before the next read, or with the last write to the
   * Service.
   */
  async function save(owner: Owner, state: JournalState): Promise<void> {
    const session = sessionOf(owner);
    // When nothing is left, the controller removes the whole record.
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
      // A withheld write is repeated later. After any other failure the Service was replaced, or is written anyway.
      if (error instanceof WithheldError) session.unsaved ??= unsaved;
      throw error;
    }
    session.notes.add(notes);
    session.lastNotes = notes;
    session.tried = unsaved.tried;
  }

  /**
   * Users can write the record, so it proves no ownership of parts of a foreign load balancer, nor of a load balancer
   * that is lent to them.
   */
  function mayBeOwn([name, id]: readonly [ResourceName, string]): boolean {
    const kind = kinds.get(kindOf(name));
    if (kind === undefined || !isRecorded(kind) || isUseName(name)) return false;
    return kind.kind !== driver.main || (name === ownName && !lent.has(id));
  }

  /** Takes over notes that another process wrote. */
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

  /** Everything found that belongs to one Service. */
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
    const told = planOf(owner.service, plan);
    // What is adopted gets its marks together with the first change that is needed anyway.
    if (desired !== undefined && request.adopts !== undefined && marksOnly(plan)) return { ...told, steps: [] };
    const restMs = Math.max(session.restsUntilMs - nowMs(), isWaitedFor(owner) ? waitedForMs : 0);
    return restMs > 0 ? { ...told, steps: [], waitMs: Math.ceil(restMs) } : told;
  }

  function isUnused(found: Found): boolean {
    return kinds.get(found.kind)?.usedBy?.(found)?.length === 0;
  }

  function mainsOf(found: readonly Found[]): ReadonlyMap<string, Found> {
    return new Map(found.flatMap((one) => (one.kind === driver.main ? [[one.id, one]] : [])));
  }

  function view(session: Session): ObservedLoadBalancer | undefined {
    const { owner, ref } = session;
    const engine = engineOf(owner.cluster);
    const mains = mainsOf(engine.found().ofKind(driver.main));
    // Adopted and without a mark of ours yet.
    const isAdopted = (found: Found) => ref?.adopt !== undefined && found.owner === undefined;
    const seen = viewOf({ driver, owner, ours: ours(session), mains, isAdopted, ref, known: knownOf(owner.cluster) });
    if (seen === undefined) return undefined;
    // The controller writes these notes to the Service, so they are not another process's when they are read there.
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
      // A resource that all Services share is an orphan only when nothing uses it any more.
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

  /** An operation of this process runs on its load balancer: its end is polled, so no read is needed. */
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
    // The end of the operation was seen, and nothing else has changed since.
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
    // An id is saved before the next read, which may fail; what is settled is written with the Service.
    if (error !== undefined || result.state === 'waiting') await flush(session);
    if (error !== undefined) throw error;
    return session.isGone ? undefined : view(session);
  }

  /** Reads before a change of the Service, so that what a person changed in the cloud is put right with it. */
  async function lookAtChange({ owner, ref, settledFor }: Session, request: Request<Asked>, aborting?: AbortSignal) {
    const engine = engineOf(owner.cluster);
    // A deletion has reads of its own, before and after.
    if (request.desired === undefined || settledFor === undefined || settledFor === printOf(request)) return;
    if (nowMs() - engine.lookedAtMs(owner) < freshMs) return;
    const slots = ref === undefined ? [] : driver.slots(ref);
    await unlessAborted(engine.look(owner, { ids: [], slots, removing: false }), aborting);
  }

  /** The error that explains most; undefined where nothing failed. */
  function errorOf({ state, errors, refused }: Result): unknown {
    if (state === 'settled' || state === 'refused') return undefined;
    // The cloud is waited for, and nothing failed.
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

  /** Rejects when the caller gives up. The work itself goes on, and sends no changing call without a permit. */
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

/** The cloud is busy and says when to try again. */
function isWait(error: unknown): boolean {
  return isCloudError(error) && error.kind === 'Busy' && error.retryAfterMs !== undefined;
}
