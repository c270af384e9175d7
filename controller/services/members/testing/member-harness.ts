import type { Clock } from '../../../../common/process/clock.ts';
import { silentLog } from '../../../../common/process/log.ts';
import { createMetricRegistry } from '../../../../common/process/metrics.ts';
import { fakeClock } from '../../../../common/testing/fake-clock.ts';
import { metricValue } from '../../../../common/testing/metric-value.ts';
import { labels, taints } from '../../../../common/well-known.ts';
import type { ObservedMember } from '../../../clouds/load-balancers.ts';
import { KubeError } from '../../../kube/api.ts';
import { memoryLeadership, memoryLease } from '../../../kube/testing/memory-leadership.ts';
import { createBudgetKeeper } from '../../../model/budget-keeper.ts';
import type { NodeView } from '../../../model/node-view.ts';
import { createMemberSets, type MemberSets, type MemberSetsOptions } from '../member-sets.ts';
import { memberMetrics } from '../metrics.ts';
import type { DrainTimes } from '../service-members.ts';
import { idOf, memberNode, type NodeList, nodeList, regionCloud } from './node-list.ts';

export const cloud = regionCloud('r1');
export const { scope } = cloud;
export const marked = { taints: [{ key: taints.toBeDeletedByAutoscaler, effect: 'NoSchedule' }] };
export const excluded = { labels: { [labels.excludeFromLoadBalancers]: '' } };

/** `n000`, `n001` ... */
export function named(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, at) => `n${String(from + at).padStart(3, '0')}`);
}

/** These Nodes as a load balancer has them. */
export function held(names: readonly string[], draining = false): ObservedMember[] {
  return names.map((name) => ({ providerID: idOf(name), draining, healthy: undefined }));
}

/** These members as `name` or, draining, `name~`, sorted. */
export function printMembers(members: readonly { readonly providerID: string; readonly draining: boolean }[]): string {
  return members
    .map(({ providerID, draining }) => `${providerID.slice(idOf('').length)}${draining ? '~' : ''}`)
    .sort()
    .join(' ');
}

/** Member sets of these Nodes, not started yet, with a budget that allows no removal. */
export function memberSetsOf(nodes: NodeList, clock: Clock, changes: Partial<MemberSetsOptions> = {}): MemberSets {
  return createMemberSets({
    nodes,
    clouds: [cloud],
    clock,
    log: silentLog,
    metrics: createMetricRegistry().define(memberMetrics),
    budget: { take: async () => 0 },
    liveNodes: async () => nodes.values(),
    paused: () => false,
    ...changes,
  });
}

/** Member sets beside a cache of Nodes, a Lease and an API server that the test changes. */
export function memberHarness(first: readonly NodeView[], budget = { limit: { share: 0.1 }, windowMs: 600_000 }) {
  const clock = fakeClock();
  const nodes = nodeList(first);
  const lease = memoryLease();
  const paused = { value: false };
  /** What the API server has beside what the cache shows. */
  const live = { broken: false, more: [] as NodeView[] };
  let leader: MemberSets | undefined;
  const self = {
    clock,
    nodes,
    lease,
    paused,
    live,
    /** A new leader. */
    lead() {
      leader?.stop();
      const changes: string[] = [];
      const registry = createMetricRegistry();
      const sets = memberSetsOf(nodes, clock, {
        metrics: registry.define(memberMetrics),
        budget: createBudgetKeeper(budget, memoryLeadership(lease), clock),
        async liveNodes() {
          if (live.broken) throw new KubeError({ status: 503, reason: 'ServiceUnavailable', message: 'injected' });
          return [...nodes.values(), ...live.more];
        },
        paused: () => paused.value,
      });
      sets.onChange(({ hash }) => changes.push(hash));
      leader = sets;
      sets.start();
      const drainTimes = new Map<string, DrainTimes | undefined>();
      const ask = (observed: readonly ObservedMember[] | undefined, service = 'uid-1') => {
        const answer = sets.membersFor({
          scope,
          service,
          trafficPolicy: 'Cluster',
          observed,
          maxMembers: undefined,
          drains: true,
          drainTimes: drainTimes.get(service),
        });
        drainTimes.set(service, answer?.drainTimes);
        return answer;
      };
      const print = (observed: readonly ObservedMember[] | undefined, service?: string) => {
        const asked = ask(observed, service);
        return asked && printMembers(asked.members);
      };
      const counted = (state: 'active' | 'leaving' | 'withheld') =>
        metricValue(registry, 'mooring_load_balancer_members', `{scope="${scope}",state="${state}"}`);
      return { sets, changes, ask, print, counted };
    },
    put: (...names: string[]) => {
      for (const name of names) nodes.put(memberNode(name));
    },
    remove: (...names: string[]) => {
      for (const name of names) nodes.remove(name);
    },
  };
  return self;
}
