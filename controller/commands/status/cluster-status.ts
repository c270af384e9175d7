import { cloudOf } from '../../../common/provider-id/registry.ts';
import { annotations, conditions } from '../../../common/well-known.ts';
import { parseLedger, spentWithin } from '../../model/deletion-budget.ts';
import { conditionOf, instanceMissing } from '../../model/node-view.ts';
import { parseRecord } from '../../model/scope-record.ts';
import { explainNode } from '../explain/explain-node.ts';
import { explainService } from '../explain/explain-service.ts';
import { leaderFault } from '../explain/leader.ts';
import type { LeaderView } from '../metrics/leader-view.ts';
import type { Cluster } from './read-cluster.ts';

/** One Node or Service. Times are ISO 8601. */
export interface Row {
  /** Of a Service `namespace/name`. */
  readonly name: string;
  /** As `explain` says it. */
  readonly state: string;
  /** A documented reason code; empty where none applies. */
  readonly reason: string;
  readonly why: string;
  /** Since when the condition of the reason has its status; null: unknown, or no condition has the reason. */
  readonly since: string | null;
  /** The cloud that it belongs to; null: not recorded. */
  readonly scope: string | null;
}

/** Objects of one state and reason. */
export interface Group {
  readonly state: string;
  readonly reason: string;
  /** It needs no attention. */
  readonly ok: boolean;
  readonly count: number;
  /** The longest ones first, at most `shownNames`. */
  readonly names: readonly string[];
  /** Of all; where they differ, `NAME: why` of the first name. */
  readonly why: string;
  /** Of the first name. */
  readonly since: string | null;
}

export interface ClusterStatus {
  /** Null where this credential may not read the Lease. */
  readonly leader: { readonly identity: string | null; readonly renewedAt: string | null } | null;
  /** Why no controller acts; null while one does. */
  readonly leaderFault: string | null;
  /** Null where this credential may not read it. */
  readonly pausedForAll: boolean | null;
  /**
   * The Nodes of `paused-nodes`, which are not deleted, and the names there that no Node has. Null where this
   * credential may not read both.
   */
  readonly protectedNodes: { readonly names: readonly string[]; readonly absent: readonly string[] } | null;
  /** Null where this credential may not read them. */
  readonly nodes: readonly Group[] | null;
  readonly services: readonly Group[] | null;
  /** Nodes by the scope in their record. */
  readonly scopes: Readonly<Record<string, number>>;
  /** The cloud of each of these scopes, by the providerIDs of its Nodes, where they tell. */
  readonly cloudOfScope: Readonly<Record<string, string>>;
  /** Removals of the last hour that count against a budget, by kind. Null where this credential may not read them. */
  readonly removals: Readonly<Record<string, number>> | null;
  /** Null without `--metrics-url`, or where it could not be read: `metricsFault` says why. */
  readonly metrics: LeaderView | null;
  readonly metricsFault: string | null;
}

export const shownNames = 5;
const hourMs = 3_600_000;
const wellStates: ReadonlySet<string> = new Set(['initialized', 'ensured', 'foreign', 'none']);
/** Others of an object in such a state tell of a fault: pods that are cut off, members that are refused. */
const wellReasons: ReadonlySet<string> = new Set(['', 'Initialized', 'Ensured']);

/** Whether an object needs no attention. */
export function isWell({ state, reason }: Pick<Row, 'state' | 'reason'>): boolean {
  return wellStates.has(state) && wellReasons.has(reason);
}

export interface RowOptions {
  /** `--load-balancer-class` */
  readonly loadBalancerClasses: readonly string[];
  /** Of `--cloud-module`. */
  readonly moduleNames: readonly string[];
}

/** A row for each Node and Service, in no order. Pure. */
export function rowsOf(
  { nodes, services, ...around }: Cluster,
  options: RowOptions,
): { readonly nodes: readonly Row[] | undefined; readonly services: readonly Row[] | undefined } {
  return {
    nodes: nodes?.map((node) => {
      const { state, reason, why } = explainNode({ ...around, ...options, node, nodeRenewTime: '' });
      const told =
        state === 'missing'
          ? [instanceMissing]
          : [conditions.cloudInitialized, conditions.networkUnavailable, conditions.interruption];
      const shown = told.map((type) => conditionOf(node, type)).find((condition) => condition?.reason === reason);
      const scope = parseRecord(node.annotations[annotations.instance])?.scope ?? null;
      return { name: node.name, state, reason, why, since: shown?.lastTransitionTime ?? null, scope };
    }),
    services: services?.map((service) => {
      const { state, reason, why } = explainService({ ...around, ...options, service });
      return {
        name: service.key,
        state,
        reason,
        why,
        since: service.condition?.reason === reason ? (service.condition.lastTransitionTime ?? null) : null,
        scope: null,
      };
    }),
  };
}

/**
 * The cluster at a glance. Pure.
 *
 * @param metrics of the leader, or why they could not be read; undefined: they were not asked for
 */
export function clusterStatus(
  cluster: Cluster,
  options: RowOptions,
  metrics?: LeaderView | { readonly fault: string },
): ClusterStatus {
  const { leader, hidden, pausedForAll } = cluster;
  const rows = rowsOf(cluster, options);
  const scopes: Record<string, number> = {};
  const cloudOfScope: Record<string, string> = {};
  for (const [at, { scope }] of rows.nodes?.entries() ?? []) {
    if (scope === null) continue;
    scopes[scope] = (scopes[scope] ?? 0) + 1;
    const cloud = cloudOfScope[scope] ?? cloudOf(cluster.nodes?.[at]?.providerID ?? '', options.moduleNames);
    if (cloud !== undefined) cloudOfScope[scope] = cloud;
  }
  return {
    leader: hidden.includes('leader')
      ? null
      : { identity: leader?.identity || null, renewedAt: leader?.renewTime || null },
    leaderFault: leaderFault(cluster)?.why ?? null,
    pausedForAll: hidden.includes('pause') ? null : pausedForAll,
    protectedNodes: protectedNodesOf(cluster),
    nodes: rows.nodes === undefined ? null : groupsOf(rows.nodes),
    services: rows.services === undefined ? null : groupsOf(rows.services),
    scopes,
    cloudOfScope,
    removals: hidden.includes('leader')
      ? null
      : spentWithin(hourMs, parseLedger(leader?.annotations[annotations.deletionLedger]), cluster.nowMs),
    metrics: metrics === undefined || 'fault' in metrics ? null : metrics,
    metricsFault: metrics !== undefined && 'fault' in metrics ? metrics.fault : null,
  };
}

function protectedNodesOf({ hidden, nodes, pausedNodes }: Cluster): ClusterStatus['protectedNodes'] {
  if (nodes === undefined || hidden.includes('pause')) return null;
  const existing = new Set(nodes.map(({ name }) => name));
  const names = [...pausedNodes].sort();
  return {
    names: names.filter((name) => existing.has(name)),
    absent: names.filter((name) => !existing.has(name)),
  };
}

/** What needs attention comes first, then the larger groups. */
function groupsOf(rows: readonly Row[]): readonly Group[] {
  const byReason = Map.groupBy(rows, ({ state, reason }) => `${state} ${reason}`);
  return [...byReason.values()]
    .map((members): Group => {
      const sorted = members.toSorted(
        (a, b) => (a.since ?? '').localeCompare(b.since ?? '') || (a.name < b.name ? -1 : 1),
      );
      const { name, state, reason, since } = sorted[0]!;
      const agreed = sorted.every(({ why }) => why === sorted[0]!.why);
      const why = agreed ? sorted[0]!.why : `${name}: ${sorted[0]!.why}`;
      const names = sorted.slice(0, shownNames).map(({ name }) => name);
      return { state, reason, ok: isWell(sorted[0]!), count: members.length, names, why, since };
    })
    .toSorted((a, b) => Number(a.ok) - Number(b.ok) || b.count - a.count);
}
