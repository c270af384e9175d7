import type { Clock } from '../../common/process/clock.ts';
import type { Permit } from '../clouds/permit.ts';
import type { Core } from './core.ts';
import { createDocuments } from './document.ts';
import type { Driver } from './driver.ts';
import { createFoundIndex, type FoundIndex } from './found-index.ts';
import { createIneffectiveCalls } from './ineffective-calls.ts';
import { createInventory } from './inventory.ts';
import { createJournals, type JournalState, type SaveJournal } from './journal.ts';
import { createLanes } from './lanes.ts';
import { createLocks } from './locks.ts';
import { type Match, matchFound } from './match.ts';
import { createObservedState } from './observed-state.ts';
import { createOperations } from './operations.ts';
import { createPlanning } from './planning.ts';
import { createReconciler } from './reconcile.ts';
import type { Request, Result } from './request.ts';
import type { Owner, Query } from './resource.ts';
import { createShared } from './shared.ts';
import type { Outcome, Plan, Step } from './step.ts';

export interface EngineParts<D> {
  readonly driver: Driver<D>;
  readonly cluster: string;
  readonly clock: Clock;
  permit(owner: Owner): Permit;
  readonly saveJournal: SaveJournal;
  /** Whether every live Service was declared, with a readable spec, since this process leads. */
  allServicesDeclared(): boolean;
  /** For how long one call of `reconcile` may wait for the cloud. Default 15 s. */
  readonly budgetMs?: number;
  readonly onStep?: (owner: Owner, step: Step, outcome: Outcome) => void;
  readonly signal?: AbortSignal;
}

export type Engine<D> = ReturnType<typeof createEngine<D>>;

/** The engine of one cluster in one scope of a cloud. */
export function createEngine<D>(engine: EngineParts<D>) {
  const { driver, cluster, clock, signal, budgetMs = 15_000 } = engine;
  const kinds = new Map(driver.kinds.map((kind) => [kind.kind, kind]));
  const nowMs = () => clock.monotonic();
  const found = createFoundIndex(kinds);
  const base = { cluster, clock, signal, kinds, found };
  const inventory = createInventory(driver.readers, base);
  const operations = createOperations({ ...base, poll: (ids, io) => driver.poll(ids, io) });
  const documents = createDocuments(driver.documents ?? [], { ...base, operations });
  const shared = createShared(base, () => engine.allServicesDeclared());
  const ineffectiveCalls = createIneffectiveCalls(nowMs);
  const journals = createJournals(engine.saveJournal, nowMs);
  const core: Core = {
    ...base,
    inventory,
    documents,
    operations,
    shared,
    ineffectiveCalls,
    onStep: engine.onStep,
    lanes: createLanes({ clock, inventory, shared, operations }),
    locks: createLocks(),
    permit: (owner) => engine.permit(owner),
  };
  const observed = createObservedState(core);
  const planning = createPlanning(driver, core, observed);
  const requests = new Map<string, Request<D>>();
  const working = new Map<string, Promise<Result>>();
  const latest = ({ service }: Owner) => requests.get(service)!;
  const work = createReconciler({ core, planning, observed, journals, latest, budgetMs });

  function forget(owner: Owner): void {
    requests.delete(owner.service);
    journals.forget(owner);
    inventory.forget(owner);
    ineffectiveCalls.forget(owner.service);
  }

  async function serve(owner: Owner): Promise<Result> {
    try {
      for (;;) {
        const request = latest(owner);
        const result = await work(owner);
        if (result.againInMs === undefined && latest(owner) !== request) continue;
        if (request.desired === undefined && result.state === 'settled') forget(owner);
        return result;
      }
    } finally {
      working.delete(owner.service);
    }
  }

  return {
    /**
     * Makes the cloud match the desired state of one Service. Safe to repeat at any moment; calls for one owner share
     * one run, which continues with the latest request. Throws the CloudError of a read.
     */
    reconcile(request: Request<D>): Promise<Result> {
      const { service } = request.owner;
      requests.set(service, request);
      const result = working.get(service) ?? serve(request.owner);
      working.set(service, result);
      return result;
    },
    /** Records what a Service desires, so that no resource that it shares with others is deleted. */
    declare: planning.declare,
    /** What `reconcile` would do. Reads only. */
    async plan(request: Request<D>): Promise<Plan> {
      const journal = journals.of(request.owner);
      await planning.refresh(request, journal);
      return planning.planNow(request, journal);
    },
    /** The same from the observed state, without a read. */
    planNow: (request: Request<D>): Plan => planning.planNow(request, journals.now(request.owner)),
    /** The same for what is not desired: it is not declared. */
    suppose: (request: Request<D>): Plan => planning.suppose(request, journals.now(request.owner)),
    /** Reads everything now. Throws the CloudError of a read. */
    async audit(): Promise<void> {
      await observed.audit();
      documents.update();
    },
    /**
     * Reads one owner now: all recorded ids, these, and what its marks and slots show; documents are read as a whole.
     * Throws the CloudError of a read.
     */
    async read(owner: Owner, query: Omit<Query, 'owner' | 'search'>): Promise<void> {
      // Parts of documents have no read of their own.
      await Promise.all([observed.find(owner, journals.now(owner), query), documents.audit()]);
      documents.update();
    },
    /** Takes the record of an owner that another process has written. */
    replaceJournal: (owner: Owner, stored: JournalState | undefined) => void journals.replace(owner, stored),
    journalOf: (owner: Owner): JournalState => journals.now(owner).state,
    /**
     * Drops the state of an owner without resources. False, and nothing is dropped, while it is worked on or one of its
     * creates may appear.
     */
    forget(owner: Owner): boolean {
      const { unseen, state } = journals.now(owner);
      const { service } = owner;
      if (working.has(service) || unseen.length + state.tried.length + found.near(service).length > 0) return false;
      shared.declare(owner, []);
      forget(owner);
      return true;
    },
    /** When the latest read that shows this owner began. */
    readAtMs: inventory.readAtMs,
    /** Whether this process waits for the end of that operation: until then another read shows nothing new. */
    isWaitedFor: operations.isWaitedFor,
    /** Whether the outcome of a call was unclear, so that this owner has to be read before anything is decided. */
    isStale: (owner: Owner): boolean => inventory.isStale(owner, new Set()),
    /** A read of another owner lacked a resource of this one: this owner has to be read before anything is decided. */
    isDoubtful: (owner: Owner): boolean => observed.isDoubtful(owner, journals.now(owner)),
    /** Everything found, in its latest observed state. */
    found: found as FoundIndex,
    /** The found resources of this owner. */
    match: (owner: Owner, adopts: Request<D>['adopts']): Match =>
      matchFound({ kinds, owner, found, journal: journals.now(owner).state, adopts }),
  };
}
