import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { untilAborted } from '../../../common/process/until.ts';
import type { Asked, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancerRequest,
  LoadBalancers,
  ObservedLoadBalancer,
  Owner,
} from '../../clouds/load-balancers.ts';
import { type ApplyOptions, WithheldError } from '../../clouds/permit.ts';
import { createEngine, type Engine } from '../../engine/engine.ts';
import { isUseName } from '../../engine/owner.ts';
import type { Request } from '../../engine/request.ts';
import { everyService, type Found, isOwnedBy, kindOf, type Reader, type ResourceName } from '../../engine/resource.ts';
import { isRecorded } from '../../engine/sender.ts';
import { errorOf, isWait } from './failures.ts';
import { parseNotes, printNotes } from './notes.ts';
import { byService, retainedViews, viewOf } from './observed-view.ts';
import { marksOnly, planOf, stepOf } from './plan-view.ts';
import { createSession, flush, recordState, type Session } from './session.ts';

/** More than a Service has. It bounds the reads by id that a forged record can cause. */
const maxRecorded = 20;

export interface LoadBalancersParts {
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
 * The load balancers of one cloud: the engine with the cloud's driver. One `apply` lets the engine carry out everything
 * that a Service asks for. It resolves when all is done, or when the cloud has to be waited for.
 */
export function createEngineLoadBalancers(parts: LoadBalancersParts): LoadBalancers {
  const { driver, cloud, clock, signal } = parts;
  const ownName = `${driver.main}/main`;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const readers = driver.readers.map(
    (reader): Reader => ({
      ...reader,
      async of(query, io) {
        const session = sessionOf(query.owner);
        // Otherwise it is written with what was answered.
        if (session.isApplying) await flush(session, ownName);
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
      journal: { load: async () => undefined, save: (owner, state) => recordState(sessionOf(owner), state, ownName) },
      everyoneDeclared: () => isEveryoneDeclared,
      onStep(owner, step, outcome) {
        // Calls that the cloud accepted, including those that it finishes later.
        const isTaken =
          outcome === 'done' || outcome === 'going' || (typeof outcome === 'object' && isWait(outcome.error));
        if (isTaken) sessions.get(owner.service)?.options?.onStep?.(stepOf(step));
      },
      ...(signal !== undefined && { signal }),
    });
    engines.set(cluster, made);
    return made;
  }

  function sessionOf(owner: Owner): Session {
    const session = sessions.get(owner.service) ?? createSession(owner);
    sessions.set(owner.service, session);
    return session;
  }

  function permitOf({ service }: Owner): ApplyOptions['permit'] {
    const permit = sessions.get(service)?.options?.permit;
    if (permit === undefined) throw new WithheldError('Fenced', 'not sent: nothing was asked for in this process');
    return permit;
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

  function engineRequest(session: Session, { owner, desired, retain }: LoadBalancerRequest): Request<Asked> {
    const adopts = adoptsOf(session);
    if (desired === undefined) return { owner, desired, retain, adopts };
    return { owner, desired: askedFor(session, desired), mayChangeAddress: desired.mayChangeAddress, adopts };
  }

  function planned(request: LoadBalancerRequest): LoadBalancerPlan {
    const { owner, desired } = request;
    const session = sessionOf(owner);
    const asked = engineRequest(session, request);
    const plan = engineOf(owner.cluster).planNow(asked);
    const told = planOf(request, plan);
    // What is adopted gets its marks together with the first change that is needed anyway.
    if (desired !== undefined && asked.adopts !== undefined && marksOnly(plan)) return { ...told, steps: [] };
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
    { request }: LoadBalancerPlan,
    options: ApplyOptions,
  ): Promise<ObservedLoadBalancer | undefined> {
    const session = sessions.get(request.owner.service);
    if (session === undefined)
      throw new CloudError({
        kind: 'Conflict',
        cloud,
        operation: 'apply',
        message: 'it was planned by another process',
      });
    session.options = options;
    session.isApplying = true;
    session.isGoing = request.desired === undefined;
    try {
      return await carryOut(session, request, options.signal);
    } finally {
      if (session.options === options) session.isApplying = false;
    }
  }

  async function carryOut(
    session: Session,
    request: LoadBalancerRequest,
    aborting: AbortSignal | undefined,
  ): Promise<ObservedLoadBalancer | undefined> {
    const { owner } = request;
    const engine = engineOf(owner.cluster);
    await lookAtChange(session, request, aborting);
    const result = await unlessAborted(engine.reconcile(engineRequest(session, request)), aborting);
    session.restsUntilMs = result.state === 'waiting' ? nowMs() + (result.againInMs ?? 0) : Number.NEGATIVE_INFINITY;
    session.isParked = result.state === 'waiting' && isWaitedFor(owner);
    session.isGone = request.desired === undefined && result.state === 'settled';
    if (result.state === 'settled') session.settledFor = printOf(request);
    const error = errorOf(result, cloud);
    // An id is saved before the next read, which may fail; what is settled is written with the Service.
    if (error !== undefined || result.state === 'waiting') await flush(session, ownName);
    if (error !== undefined) throw error;
    return session.isGone ? undefined : view(session);
  }

  /** Reads before a change of the Service, so that what a person changed in the cloud is put right with it. */
  async function lookAtChange(
    { owner, ref, settledFor }: Session,
    request: LoadBalancerRequest,
    aborting: AbortSignal | undefined,
  ): Promise<void> {
    const engine = engineOf(owner.cluster);
    // A deletion has reads of its own, before and after.
    if (request.desired === undefined || settledFor === undefined || settledFor === printOf(request)) return;
    if (nowMs() - engine.lookedAtMs(owner) < freshMs) return;
    const slots = ref === undefined ? [] : driver.slots(ref);
    await unlessAborted(engine.look(owner, { ids: [], slots, removing: false }), aborting);
  }

  /** Rejects when the caller gives up. The work itself goes on, and sends no changing call without a permit. */
  async function unlessAborted<T>(work: Promise<T>, aborting: AbortSignal | undefined): Promise<T> {
    if (aborting === undefined) return work;
    const interrupted = { kind: 'Unavailable', cloud, operation: 'wait', message: 'interrupted' } as const;
    const aborted = untilAborted(aborting).then(() => Promise.reject(new CloudError(interrupted)));
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
      for (const one of desired)
        engineOf(one.owner.cluster).declare(engineRequest(sessionOf(one.owner), ensuring(one)));
      isEveryoneDeclared = isEveryone;
    },
    plan(desired) {
      // One without an id or notes only says that something may be made from now on.
      const { id, notes } = desired.record ?? { id: undefined, notes: undefined };
      if (desired.record !== undefined)
        remember(sessionOf(desired.owner), notes, id !== undefined || notes !== undefined);
      return planned(ensuring(desired));
    },
    planRemoval: (owner, { retain }) => planned({ owner, desired: undefined, retain }),
    apply,
  };
}

const ensuring = (desired: DesiredLoadBalancer) => ({ owner: desired.owner, desired, retain: false });

function printOf({ desired }: LoadBalancerRequest): string {
  return JSON.stringify({ ...desired, members: undefined, record: undefined });
}
