import { CloudError } from '../../../common/cloud-error.ts';
import type { Clock } from '../../../common/process/clock.ts';
import { untilAborted } from '../../../common/process/until.ts';
import type { LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type {
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancerRequest,
  LoadBalancers,
  ObservedLoadBalancer,
  Owner,
} from '../../clouds/load-balancers.ts';
import type { ApplyOptions } from '../../clouds/permit.ts';
import { everyService, type Found, isOwnedBy } from '../../engine/resource.ts';
import { errorOf } from './failures.ts';
import { printNotes } from './notes.ts';
import { byService, retainedViews, viewOf } from './observed-view.ts';
import { marksOnly, planOf } from './plan-view.ts';
import { createServiceEngines, ensuring } from './service-engines.ts';
import type { Session } from './session.ts';

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
/** When to read a Service of which the read of another one has not shown everything. */
const doubtfulForMs = 1000;

/**
 * The load balancers of one cloud: the engine with the cloud's driver. One `apply` lets the engine carry out everything
 * that a Service asks for. It resolves when all is done, or when the cloud has to be waited for.
 */
export function createEngineLoadBalancers(parts: LoadBalancersParts): LoadBalancers {
  const { driver, cloud, clock, signal } = parts;
  const engines = createServiceEngines({ driver, cloud, clock, signal });
  const { engineOf, sessionOf, requestOf, ours, foundOf } = engines;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const nowMs = () => clock.monotonic();

  function planned(request: LoadBalancerRequest): LoadBalancerPlan {
    const { owner, desired } = request;
    const session = sessionOf(owner);
    session.isPlanned = true;
    const engineRequest = requestOf(session, request);
    const engine = engineOf(owner.cluster);
    const plan = engine.planNow(engineRequest);
    const shownPlan = planOf(request, plan);
    // Only a read of this Service, with a proof that the credential sees anything, tells what is left of it. After the
    // credential was replaced, nothing has been read.
    const isUnread = engine.readAtMs(owner) === Number.NEGATIVE_INFINITY && refersToSomething(desired);
    if (engine.isDoubtful(owner) || isUnread) return { ...shownPlan, steps: [], refusals: [], waitMs: doubtfulForMs };
    // What is adopted gets its marks together with the first change that is needed anyway.
    if (desired !== undefined && engineRequest.adopts !== undefined && marksOnly(plan))
      return { ...shownPlan, steps: [] };
    const restMs = Math.max(session.restsUntilMs - nowMs(), isWaitedFor(owner) ? waitedForMs : 0);
    return restMs > 0 ? { ...shownPlan, steps: [], waitMs: Math.ceil(restMs) } : shownPlan;
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
    const mains = mainsOf(engine.found.ofKind(driver.main));
    // Adopted and without a mark of ours yet.
    const isAdopted = (found: Found) => ref?.adopt !== undefined && found.owner === undefined;
    const seen = viewOf({ driver, owner, ours: ours(session), mains, isAdopted, ref, found: foundOf(owner.cluster) });
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
    const all = engine.found.all;
    const mains = mainsOf(all);
    const found = foundOf(cluster);
    const groups = byService(driver.kinds, all, cluster);
    const owned = [...groups].flatMap(([service, ours]) => {
      // A resource that all Services share is an orphan only when nothing uses it any more.
      if (service === everyService && !ours.every(isUnused)) return [];
      const owner = { cluster, service };
      const session = engines.get(service);
      if (session !== undefined) session.isGone = false;
      return viewOf({ driver, owner, ours, mains, isAdopted: () => false, ref: session?.ref, found }) ?? [];
    });
    const adopted = adoptable.flatMap((ref) => {
      const seen = view(sessionOf(ref.owner));
      return seen?.adopted ? [seen] : [];
    });
    const takers = new Set(adopted.map(({ owner }) => owner?.service));
    return [
      ...owned.filter(({ owner }) => !takers.has(owner?.service)),
      ...adopted,
      ...retainedViews(driver, all, found),
    ];
  }

  /** An operation of this process runs on its load balancer: its end is polled, so no read is needed. */
  function isWaitedFor(owner: Owner): boolean {
    const engine = engineOf(owner.cluster);
    const mains = engine.found.ofKind(driver.main);
    return mains.some((one) => isOwnedBy(one, owner) && engine.isWaitedFor(one.operation ?? ''));
  }

  async function observe(ref: LoadBalancerRef, aborting?: AbortSignal): Promise<ObservedLoadBalancer | undefined> {
    const { owner, id, notes, attachTo, removing = false } = ref;
    const session = sessionOf(owner);
    session.ref = ref;
    engines.remember(session, notes, true);
    if (session.isGone) {
      engines.forget(owner.service);
      return undefined;
    }
    if (isWaitedFor(owner)) return view(session);
    const { isParked } = session;
    session.isParked = false;
    // The end of the operation was seen, and nothing else has changed since.
    if (isParked && !engineOf(owner.cluster).isStale(owner)) return view(session);
    const ids = [id, attachTo].flatMap((one) => (one === undefined ? [] : [{ kind: driver.main, id: one }]));
    await unlessAborted(engineOf(owner.cluster).read(owner, { ids, slots: driver.slots(ref), removing }), aborting);
    return view(session);
  }

  async function apply(
    { request }: LoadBalancerPlan,
    options: ApplyOptions,
  ): Promise<ObservedLoadBalancer | undefined> {
    const session = engines.get(request.owner.service);
    if (session === undefined || (!session.isPlanned && session.ref === undefined)) {
      const message = 'it was planned by another process';
      throw new CloudError({ kind: 'Conflict', cloud, operation: 'apply', message });
    }
    session.options = options;
    session.isApplying = true;
    session.isGone = false;
    session.recordedId = request.desired?.record?.id;
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
    await readBeforeChange(session, request, aborting);
    const result = await unlessAborted(engine.reconcile(requestOf(session, request)), aborting);
    session.restsUntilMs = result.state === 'waiting' ? nowMs() + (result.againInMs ?? 0) : Number.NEGATIVE_INFINITY;
    session.isParked = result.state === 'waiting' && isWaitedFor(owner);
    session.isGone = request.desired === undefined && result.state === 'settled';
    if (result.state === 'settled') session.settledFor = printOf(request);
    const error = errorOf(result, cloud);
    // An id is saved before the next read, which may fail; what is settled is written with the Service.
    if (error !== undefined || result.state === 'waiting') await engines.flush(session);
    if (error !== undefined) throw error;
    return session.isGone ? undefined : view(session);
  }

  /** Reads before a change of the Service, so that what a person changed in the cloud is put right with it. */
  async function readBeforeChange(
    { owner, ref, settledFor }: Session,
    request: LoadBalancerRequest,
    aborting: AbortSignal | undefined,
  ): Promise<void> {
    const engine = engineOf(owner.cluster);
    // A deletion has reads of its own, before and after.
    if (request.desired === undefined || settledFor === undefined || settledFor === printOf(request)) return;
    if (nowMs() - engine.readAtMs(owner) < freshMs) return;
    const slots = ref === undefined ? [] : driver.slots(ref);
    await unlessAborted(engine.read(owner, { ids: [], slots, removing: false }), aborting);
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
    declare: engines.declare,
    plan(desired) {
      // One without an id or notes only says that something may be made from now on.
      const { id, notes } = desired.record ?? { id: undefined, notes: undefined };
      if (desired.record !== undefined)
        engines.remember(sessionOf(desired.owner), notes, id !== undefined || notes !== undefined);
      return planned(ensuring(desired));
    },
    planRemoval: (owner, { retain }) => planned({ owner, desired: undefined, retain }),
    apply,
  };
}

function printOf({ desired }: LoadBalancerRequest): string {
  return JSON.stringify({ ...desired, members: undefined, record: undefined });
}

/** Whether a plan without any read would miss what is certainly there. */
function refersToSomething(desired: LoadBalancerRequest['desired']): boolean {
  return (
    desired === undefined || [desired.record?.id, desired.attach, desired.address].some((one) => one !== undefined)
  );
}
