import { errorFields } from '../../common/process/log.ts';
import { type InstanceRef, type Lookup, refKey } from '../clouds/cloud.ts';
import type { ObservedRoute } from '../clouds/routes.ts';
import { isNotFound } from '../kube/api.ts';

import type { BudgetKeeper } from '../model/budget-keeper.ts';
import { pickCanaries } from '../model/canaries.ts';
import { parseCidr } from '../model/cidr.ts';
import { eachLiveNode } from '../model/live-nodes.ts';
import type { NodeView } from '../model/node-view.ts';
import { deletionMark, deletionNoteMs } from '../nodes/expected-termination.ts';
import { readNode } from '../nodes/write-node.ts';
import type { RemovalReason } from './reasons.ts';
import type { RouteContext } from './route-context.ts';
import type { RouteRemoval } from './route-plan.ts';

/** Decides which routes of deleted Nodes may be deleted: the last check before traffic is cut. */
export interface RemovalApproval<R extends ObservedRoute> {
  /** This controller is about to delete the Node on evidence. */
  deleting(node: NodeView): void;
  /** Records a deleted Node: its name, and whether its deletion was expected. */
  gone(instance: string, node: NodeView): void;
  /**
   * Reads the Nodes live and spends the budget. Never throws: a removal without proof waits. @param ours how many of
   * the routes are ours
   */
  approve(removals: readonly RouteRemoval<R>[], ours: number): Promise<Approval<R>>;
  /** Drops Nodes that no route leads to any more, and deletions of ours that are long past. */
  keepOnly(instances: ReadonlySet<string>, routeIds: ReadonlySet<string>): void;
}

export interface Approval<R extends ObservedRoute> {
  readonly ready: readonly RouteRemoval<R>[];
  readonly waiting: ReadonlyMap<RouteRemoval<R>, RemovalReason>;
}

interface Departed {
  readonly node: string;
  readonly expectedBecause: string | undefined;
}

interface LiveNode {
  readonly instance: string;
  readonly destinations: readonly string[];
}

/** For this many Nodes, one list of all is cheaper than one read for each. */
const listInsteadFrom = 20;

const never = new AbortController().signal;

export function createRemovalApproval<R extends ObservedRoute>(
  context: Pick<RouteContext, 'api' | 'clock' | 'log' | 'nodes' | 'resolver'>,
  scope: string,
  instanceOf: (providerID: string) => string,
  budget: BudgetKeeper,
): RemovalApproval<R> {
  const { api, clock, log, nodes, resolver } = context;
  const departed = new Map<string, Departed>();
  /** By uid of the Node: until when a deletion of ours on evidence explains that it is gone. */
  const deletions = new Map<string, number>();
  /** Routes whose removal is already paid from the budget. */
  const granted = new Set<string>();

  const instanceBehind = ({ providerID }: R) => (providerID === undefined ? undefined : instanceOf(providerID));

  async function approve(removals: readonly RouteRemoval<R>[], ours: number): Promise<Approval<R>> {
    const ready = removals.filter(({ why }) => why === 'Blackhole' || why === 'Superseded');
    const waiting = new Map<RouteRemoval<R>, RemovalReason>();
    const doubtful = removals.filter((removal) => !ready.includes(removal));
    if (doubtful.length === 0) return { ready, waiting };

    const live = await readLive(doubtful);
    if (live === undefined) return { ready, waiting: new Map(doubtful.map((removal) => [removal, 'LifeUnknown'])) };
    const unclaimed: RouteRemoval<R>[] = [];
    for (const removal of doubtful) {
      if (isClaimed(removal, live)) waiting.set(removal, 'NodeSeen');
      else unclaimed.push(removal);
    }
    const free = await expectedRemovals(unclaimed);
    const costly = unclaimed.filter((removal) => !free.has(removal));
    let left = await grant(costly.filter(({ route }) => !granted.has(route.id)).length, ours);
    for (const removal of unclaimed) {
      if (free.has(removal) || granted.has(removal.route.id)) ready.push(removal);
      else if (left > 0) {
        left -= 1;
        granted.add(removal.route.id);
        ready.push(removal);
      } else waiting.set(removal, 'BudgetExhausted');
    }
    return { ready, waiting };
  }

  /** Whether a live Node has the range, and its providerID is empty or names the instance behind the route. */
  function isClaimed({ route, destination }: RouteRemoval<R>, live: readonly LiveNode[]): boolean {
    const behind = instanceBehind(route);
    return live.some(
      ({ instance, destinations }) =>
        destinations.includes(destination) && (instance === '' || behind === undefined || instance === behind),
    );
  }

  /** The Nodes that may be behind these routes, read live; undefined when the API server failed. */
  async function readLive(removals: readonly RouteRemoval<R>[]): Promise<LiveNode[] | undefined> {
    const names = removals.map(({ route, node }) => node ?? nameBehind(route));
    try {
      if (names.length >= listInsteadFrom || names.includes(undefined)) return await listNodes();
      const read = await Promise.all([...new Set(names)].map((name) => readIfThere(name as string)));
      return read.filter((node) => node !== undefined).map(liveNode);
    } catch (error) {
      log.warn('Nodes not read again, so their routes are kept', { scope, ...errorFields(error) });
      return undefined;
    }
  }

  function nameBehind(route: R): string | undefined {
    const instance = instanceBehind(route);
    return instance === undefined ? undefined : departed.get(instance)?.node;
  }

  async function readIfThere(name: string): Promise<NodeView | undefined> {
    try {
      return await readNode(api, name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function listNodes(): Promise<LiveNode[]> {
    const found: LiveNode[] = [];
    await eachLiveNode(api, never, (node) => found.push(liveNode(node)));
    return found;
  }

  function liveNode({ providerID, podCIDRs }: NodeView): LiveNode {
    return {
      instance: providerID === '' ? '' : instanceOf(providerID),
      destinations: podCIDRs.map((text) => parseCidr(text)?.text ?? text),
    };
  }

  /**
   * The removals that need no budget: the deletion of the Node was expected, or the cloud shows that the instance is
   * gone.
   */
  async function expectedRemovals(removals: readonly RouteRemoval<R>[]): Promise<ReadonlySet<RouteRemoval<R>>> {
    const free = new Set<RouteRemoval<R>>();
    const asked = new Map<string, RouteRemoval<R>[]>();
    for (const removal of removals) {
      const { providerID } = removal.route;
      if (providerID === undefined) continue;
      if (departed.get(instanceOf(providerID))?.expectedBecause !== undefined) free.add(removal);
      else asked.set(providerID, [...(asked.get(providerID) ?? []), removal]);
    }
    const lookups = resolver.lookupsOf(scope);
    if (asked.size === 0 || lookups === undefined) return free;
    const canaries = pickCanaries(nodes.values(), scope, resolver.configured);
    const refs = [...asked.keys()].map((providerID): InstanceRef => ({ by: 'providerID', providerID }));
    const answers = await lookups.lookupAll(refs, { canaries });
    // As for Nodes: an absence counts only if the same kind of request in the same pass finds an existing instance.
    const isAbsenceProved = canaries.some((canary) => answers.get(refKey(canary))?.state === 'found');
    for (const [providerID, these] of asked) {
      if (isGone(answers.get(refKey({ by: 'providerID', providerID })), isAbsenceProved))
        for (const removal of these) free.add(removal);
    }
    return free;
  }

  async function grant(requested: number, ours: number): Promise<number> {
    if (requested === 0) return 0;
    try {
      return await budget.take('route', requested, ours);
    } catch (error) {
      log.warn('budget not written, so nothing is spent', { scope, ...errorFields(error) });
      return 0;
    }
  }

  return {
    approve,
    deleting: ({ uid }) => void deletions.set(uid, clock.monotonic() + deletionNoteMs),
    gone(instance, node) {
      const isOurs = (deletions.get(node.uid) ?? Number.NEGATIVE_INFINITY) > clock.monotonic();
      const expectedBecause = isOurs ? 'deleted on evidence' : deletionMark(node);
      departed.set(instance, { node: node.name, expectedBecause });
    },
    keepOnly(instances, routeIds) {
      for (const instance of departed.keys()) if (!instances.has(instance)) departed.delete(instance);
      for (const id of granted) if (!routeIds.has(id)) granted.delete(id);
      for (const [uid, untilMs] of deletions) if (untilMs <= clock.monotonic()) deletions.delete(uid);
    },
  };
}

function isGone(lookup: Lookup | undefined, isAbsenceProved: boolean): boolean {
  return lookup?.state === 'gone' || (lookup?.state === 'absent' && isAbsenceProved);
}
