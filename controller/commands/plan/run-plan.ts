import type { Clock } from '../../../common/process/clock.ts';
import { type Log, silentLog } from '../../../common/process/log.ts';
import { createMetricRegistry } from '../../../common/process/metrics.ts';
import type { Random } from '../../../common/process/random.ts';
import { accountProblems } from '../../app/open-clouds.ts';
import type { ClusterOptions } from '../../app/options/network-options.ts';
import { isNotFound, type KubeApi, type KubeObject } from '../../kube/api.ts';
import { assertListable } from '../../kube/assert-listable.ts';
import { readClusterUid } from '../../kube/cluster-identity.ts';
import type { Leadership } from '../../kube/leadership.ts';
import { createListWatch, type ListWatch } from '../../kube/list-watch.ts';
import { createShippedObjects } from '../../kube/shipped-objects.ts';
import { createBudgetKeeper } from '../../model/budget-keeper.ts';
import type { ConfiguredCloud } from '../../model/configured-cloud.ts';
import { parseBudget } from '../../model/deletion-budget.ts';
import { unreadOfNode, viewNode } from '../../model/node-view.ts';
import { unreadOfService, viewService } from '../../model/service-view.ts';
import { createLookups, type Lookups } from '../../nodes/lookups.ts';
import { nodeMetrics } from '../../nodes/metrics.ts';
import { createReportStore } from '../../reports/store.ts';
import { createRouteRecords } from '../../routes/route-records.ts';
import { createVisibilityCheck } from '../../services/credential-visibility.ts';
import { createMemberSets } from '../../services/members/member-sets.ts';
import { memberSourceOf } from '../../services/members/member-task.ts';
import { memberMetrics } from '../../services/members/metrics.ts';
import { readsAnnotation } from '../../services/service-context.ts';
import { servingClouds } from '../../services/serving-cloud.ts';
import { planNodes } from './plan-nodes.ts';
import { planRouteTables } from './plan-routes.ts';
import { planServices } from './plan-services.ts';
import type { Plan } from './planned-change.ts';

export interface PlanParts {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly clouds: readonly ConfiguredCloud[];
  readonly options: ClusterOptions;
  /** That Mooring is installed in. */
  readonly namespace: string;
  /** Path of the Lease, whose annotation has the spent deletion budget. */
  readonly leasePath: string;
  readonly deletionBudget: string;
  readonly announcedDeletionBudget: string;
  /** `--adopt`. Default: no. */
  readonly adopts?: boolean;
  /** Prints progress for people. */
  say(line: string): void;
}

/**
 * Reads the cluster and the clouds once, and returns what a leader would change now. Changes nothing. Throws a
 * KubeError.
 */
export async function makePlan(parts: PlanParts): Promise<Plan> {
  const { api, clock, random, log, clouds, options, say } = parts;
  const serving = servingClouds(clouds);
  const common = { api, clock, random, log };
  const nodes = createListWatch({ ...common, path: '/api/v1/nodes', trim: viewNode, unread: unreadOfNode });
  const services = createListWatch({
    ...common,
    path: '/api/v1/services',
    trim: (raw) => viewService(raw, readsAnnotation(serving)),
    unread: unreadOfService,
  });
  const registry = createMetricRegistry();
  const budget = createBudgetKeeper(mustParse(parts.deletionBudget), await ledgerOf(api, parts.leasePath), clock, {
    announced: mustParse(parts.announcedDeletionBudget),
  });
  const members = createMemberSets({
    nodes,
    clouds,
    clock,
    log: silentLog,
    metrics: registry.define(memberMetrics),
    budget: { take: async () => 0 },
    liveNodes: async () => nodes.values(),
    paused: () => true,
  });
  const started: ListWatch<unknown>[] = [nodes, ...(serving.length > 0 ? [services] : [])];
  try {
    say('reading the cluster');
    const cluster = { uid: await readClusterUid(api), name: options.clusterName };
    await assertListable(api, ['/api/v1/nodes', ...(serving.length > 0 ? ['/api/v1/services'] : [])]);
    for (const informer of started) informer.start();
    await Promise.all(started.map((informer) => informer.whenSynced()));
    say(`planning for ${nodes.size} nodes and ${services.size} services`);
    const lookups = new Map<string, Lookups>();
    for (const { scope, api: cloud } of clouds) if (cloud) lookups.set(scope, createLookups({ cloud, clock }));
    const resolver = { configured: clouds, lookupsOf: (scope: string) => lookups.get(scope) };
    const routed = options.routes && options.bounds.clusterCidrs.length > 0;
    members.start();
    const plans = await Promise.all([
      planNodes(
        {
          ...common,
          nodes,
          reports: createReportStore(clock),
          resolver,
          events: { emit: () => {} },
          metrics: registry.define(nodeMetrics),
          paused: () => false,
          pausedNode: () => false,
          routesEnabled: (scope) =>
            routed && clouds.some((cloud) => cloud.scope === scope && cloud.api?.routes !== undefined),
        },
        budget,
      ),
      planServices({
        cluster,
        services: services.values(),
        clouds: serving,
        members: memberSourceOf(members),
        checkVisibility: createVisibilityCheck({ nodes, resolver, clock }),
        loadBalancerClasses: options.loadBalancerClasses,
        policy: options.policy,
        adopts: parts.adopts ?? false,
        now: () => clock.monotonic(),
      }),
      routed
        ? planRouteTables({
            cluster: cluster.uid,
            bounds: options.bounds,
            ...{ clock, resolver, clouds, nodes },
            records: createRouteRecords(api, createShippedObjects(parts.namespace)),
          })
        : { changes: [], problems: [] },
    ]);
    return {
      changes: plans.flatMap(({ changes }) => changes),
      problems: [...accountProblems(clouds), ...plans.flatMap(({ problems }) => problems)],
    };
  } finally {
    members.stop();
    await Promise.all(started.map((informer) => informer.stop()));
  }
}

function mustParse(text: string) {
  const budget = parseBudget(text);
  if ('expected' in budget) throw new RangeError(budget.expected);
  return budget;
}

/** The current annotations of the Lease, without holding it. Annotations are not written. */
async function ledgerOf(api: KubeApi, path: string): Promise<Leadership> {
  let annotations: Readonly<Record<string, string>> = {};
  try {
    annotations = (await api.call<KubeObject>({ verb: 'get', path })).metadata.annotations ?? {};
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return {
    leading: false,
    timeLeftMs: () => 0,
    leaderReportUrl: () => undefined,
    annotations: () => annotations,
    annotate: async () => {},
  };
}
