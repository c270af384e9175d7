import { CloudError } from '../../../common/cloud-error.ts';
import { unlessAborted } from '../../../common/process/until.ts';
import type {
  DesiredLoadBalancer,
  LoadBalancerPlan,
  LoadBalancerRef,
  LoadBalancerRequest,
  LoadBalancers,
  ObservedLoadBalancer,
  Owner,
} from '../../clouds/load-balancers.ts';
import type { ApplyOptions } from '../../clouds/permit.ts';
import { everyService, type Found, isOwnedBy } from '../../engine/resource.ts';
import { errorOf, isWait } from './failures.ts';
import { leftForLater } from './left-for-later.ts';
import { printNotes } from './notes.ts';
import { byService, retainedViews, viewOf } from './observed-view.ts';
import { marksOnly, planOf } from './plan-view.ts';
import { createServiceEngines, ensuring, queriesOf, type ServiceEnginesParts } from './service-engines.ts';
import type { Session } from './session.ts';

/** A read of this age or less is not repeated when the Service changes. */
const freshMs = 10_000;
/** When to plan again while an operation of the cloud runs on the load balancer. Planning makes no call. */
const waitedForMs = 1000;
/** When to read a Service whose resources the read of another Service lacked. */
const doubtfulForMs = 1000;

/**
 * The load balancers of one cloud: the engine with the cloud's driver. One `apply` lets the engine send all steps for
 * a Service. It resolves when all is done, or when it has to wait for the cloud.
 */
export function createEngineLoadBalancers(parts: ServiceEnginesParts): LoadBalancers {
  const { driver, cloud, clock } = parts;
  const engines = createServiceEngines(parts);
  const { engineOf, sessionOf, requestOf, ours } = engines;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const nowMs = () => clock.monotonic();
  /** That of the last read of everything: it aborts with the term. */
  let term: AbortSignal | undefined;

  function planned(request: LoadBalancerRequest): LoadBalancerPlan {
    const { owner, desired } = request;
    const session = sessionOf(owner);
    session.isPlanned = true;
    const engineRequest = requestOf(session, request);
    const engine = engineOf(owner.cluster);
    const plan = engine.planNow(engineRequest);
    const shownPlan = planOf(request, plan, kinds);
    // Only a read of this Service by a credential with proved visibility shows what exists of it. After the credential
    // was replaced, nothing has been read.
    const isUnread = engine.readAtMs(owner) === Number.NEGATIVE_INFINITY && refersToResources(desired);
    if (engine.isDoubtful(owner) || isUnread) return { ...shownPlan, steps: [], refusals: [], waitMs: doubtfulForMs };
    // An adopted load balancer is marked together with its first change.
    if (desired !== undefined && engineRequest.adopts !== undefined && marksOnly(plan))
      return { ...shownPlan, steps: [] };
    const remainingMs = Math.max(session.waitsUntilMs - nowMs(), isWaitedFor(owner) ? waitedForMs : 0);
    return remainingMs > 0 ? { ...shownPlan, steps: [], waitMs: Math.ceil(remainingMs) } : shownPlan;
  }

  function remember({ owner, record }: DesiredLoadBalancer): void {
    // A record without id and notes is only a claim: resources may be created from now on.
    if (record !== undefined)
      engines.remember(sessionOf(owner), record.notes, record.id !== undefined || record.notes !== undefined);
  }

  const usersOf = (found: Found) => kinds.get(found.kind)?.usedBy?.(found);

  function view(session: Session): ObservedLoadBalancer | undefined {
    const { owner, ref } = session;
    const engine = engineOf(owner.cluster);
    // Adopted, and not marked yet.
    const isAdopted = (found: Found) => ref?.adopt !== undefined && found.owner === undefined;
    const queries = queriesOf(engine.found);
    const seen = viewOf({ driver, owner, ours: ours(session), isAdopted, ref, queries });
    if (seen === undefined) return undefined;
    // The controller writes these notes to the Service: when they are read there, they are our own.
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
    if (aborting === undefined || aborting !== term) driver.startTerm?.();
    term = aborting;
    await orInterrupted(engine.audit(), aborting);
    for (const ref of adoptable) sessionOf(ref.owner).ref = ref;
    const queries = queriesOf(engine.found);
    const owned = [...byService(engine.found, cluster)].flatMap(([service, ours]) => {
      // A resource that all Services share is an orphan only when nothing uses it any more.
      if (service === everyService && ours.some((one) => usersOf(one)?.length !== 0)) return [];
      const owner = { cluster, service };
      const session = engines.get(service);
      if (session !== undefined) session.isGone = false;
      return viewOf({ driver, owner, ours, isAdopted: () => false, ref: session?.ref, queries }) ?? [];
    });
    const adopted = adoptable.flatMap((ref) => {
      const seen = view(sessionOf(ref.owner));
      return seen?.adopted ? [seen] : [];
    });
    const adopters = new Set(adopted.map(({ owner }) => owner?.service));
    return [
      ...owned.filter(({ owner }) => !adopters.has(owner?.service)),
      ...adopted,
      ...retainedViews(driver, engine.found.all, queries.found),
    ];
  }

  /** An operation of this process runs on its load balancer: its end is polled, so no read is needed. */
  function isWaitedFor(owner: Owner): boolean {
    const engine = engineOf(owner.cluster);
    const near = engine.found.near(owner.service);
    return near.some(
      (one) => one.kind === driver.main && isOwnedBy(one, owner) && engine.isWaitedFor(one.operation ?? ''),
    );
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
    // A poll has shown the end of the operation, or the cloud was busy: nothing else has changed since. That nothing is
    // left, only a read proves.
    const seen = isParked && !engineOf(owner.cluster).isStale(owner) ? view(session) : undefined;
    if (seen?.owner !== undefined) return seen;
    const ids = [id, attachTo].flatMap((one) => (one === undefined ? [] : [{ kind: driver.main, id: one }]));
    await orInterrupted(engineOf(owner.cluster).read(owner, { ids, slots: driver.slots(ref), removing }), aborting);
    return view(session);
  }

  async function apply(
    { request }: LoadBalancerPlan,
    options: ApplyOptions,
  ): Promise<ObservedLoadBalancer | undefined> {
    const session = engines.get(request.owner.service);
    if (session === undefined || (!session.isPlanned && session.ref === undefined)) {
      const message = 'the plan was made by another process';
      throw new CloudError({ kind: 'Conflict', cloud, operation: 'apply', message });
    }
    session.options = options;
    session.isApplying = true;
    session.isGone = false;
    session.recordedId = request.desired?.record?.id;
    session.isRemoving = request.desired === undefined;
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
    const result = await orInterrupted(engine.reconcile(requestOf(session, request)), aborting);
    session.waitsUntilMs = result.state === 'waiting' ? nowMs() + (result.againInMs ?? 0) : Number.NEGATIVE_INFINITY;
    // Before it deletes, the engine reads again what is old.
    const isHeldUp = request.desired === undefined && result.errors.length > 0 && result.errors.every(isWait);
    session.isParked = result.state === 'waiting' && (isHeldUp || isWaitedFor(owner));
    // The refusals name what is recorded and stays.
    session.isGone = request.desired === undefined && result.state === 'settled' && result.refusals.length === 0;
    if (result.state === 'settled') session.settledFor = printOf(request);
    const error = errorOf(result, cloud);
    // Ids are saved before the next read, which may fail; after success they are written with the condition.
    if (error !== undefined || result.state === 'waiting') await engines.flush(session);
    if (error !== undefined) throw error;
    return session.isGone ? undefined : view(session);
  }

  /** Reads before a change of the Service is applied, so that changes by hand in the cloud are reverted with it. */
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
    await orInterrupted(engine.read(owner, { ids: [], slots, removing: false }), aborting);
  }

  /** Rejects when the caller gives up. The work continues, and sends no mutating call without a permit. */
  async function orInterrupted<T>(work: Promise<T>, aborting: AbortSignal | undefined): Promise<T> {
    const failure = { kind: 'Unavailable', cloud, operation: 'wait', message: 'interrupted' } as const;
    return unlessAborted(work, aborting, () => new CloudError(failure));
  }

  return {
    annotations: driver.annotations,
    annotationPrefixes: driver.annotationPrefixes ?? [],
    classicFinalizers: driver.classicFinalizers ?? [],
    nodeLabels: driver.nodeLabels ?? (() => []),
    takesPods: driver.takesPods ?? (() => false),
    podIds: async (addresses, aborting) =>
      (await driver.podIds?.(addresses, { signal: aborting ?? parts.signal })) ?? new Map(),
    maxMembers: driver.maxMembers,
    drains: driver.drains,
    settleMs: Math.max(0, ...driver.kinds.map(({ settleMs = 0 }) => settleMs)),
    observeAll,
    observe,
    declare: engines.declare,
    plan(desired) {
      remember(desired);
      return planned(ensuring(desired));
    },
    lastDone(now) {
      remember(now);
      return engines.lastDone(now);
    },
    planRemoval: (owner, { retain }) => planned({ owner, desired: undefined, retain }),
    async preview({ request }, aborting) {
      const session = sessionOf(request.owner);
      await readBeforeChange(session, request, aborting);
      const engine = engineOf(request.owner.cluster);
      const engineRequest = requestOf(session, request);
      const { owner, desired, adopts } = engineRequest;
      const plan = await orInterrupted(engine.plan(engineRequest), aborting);
      const wants = desired === undefined ? [] : driver.desire(desired).wants;
      const isGoing = (user: string) => user === owner.service || engines.isRemoved(user);
      const isUsedNoMore = (shared: Found) => usersOf(shared)?.every(isGoing) ?? false;
      const later = leftForLater({ plan, wants, kinds, match: engine.match(owner, adopts), isUsedNoMore });
      return { ...planOf(request, plan, kinds), later };
    },
    apply,
  };
}

function printOf({ desired }: LoadBalancerRequest): string {
  return JSON.stringify({ ...desired, members: undefined, record: undefined });
}

/** Whether the Service refers to a resource, so that a plan before any read would miss it. */
function refersToResources(desired: LoadBalancerRequest['desired']): boolean {
  return (
    desired === undefined || [desired.record?.id, desired.attach, desired.address].some((one) => one !== undefined)
  );
}
