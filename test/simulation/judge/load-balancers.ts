import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { Member, SimulatedLoadBalancer } from '../../kit/cloud/load-balancer.ts';
import type { ResourceEvent } from '../../kit/cloud/resource-store.ts';
import type { Truth } from '../actors/truth.ts';
import type { Scenario } from '../engine/scenario.ts';
import type { Acting } from '../wires/wire.ts';
import { type JudgeAct, pauseMs } from './cloud-acts.ts';
import { largestStepMs, readBudget } from './deletions.ts';
import { clusterUid, foreignChange, instanceIn, serviceUidOf } from './network-truth.ts';
import { nodeOf } from './node-object.ts';
import type { Break, KubeEffect, Observer, ProcessRef } from './observer.ts';
import { serviceOf } from './service-object.ts';
import type { View, Views } from './views.ts';

const dayMs = 86_400_000;
/** A batch of changes, and a call that was on its way. */
const reactMs = 20_000;
/** Those that were let go together may be removed one after the other. */
const drainMs = 20_000;
/** By then the leader knows what a Service asks for, and changes under way have ended. */
const knownMs = 100_000;
/** How long the Node of a member that is still there must be gone. */
const vanishedMs = 30_000;

/** What load balancers and their Services have to hold: promises 2 to 6 and 14. */
export function judgeLoadBalancers(
  truth: Truth,
  acting: Acting,
  views: Views,
  judgeAct: JudgeAct,
  scenario: Scenario,
  breaks: Break,
): Observer {
  const { clock, cloud, core } = truth;
  const { loadBalancers } = cloud.network;
  const cluster = clusterUid(truth);
  const budget = readBudget(scenario.removalBudget);
  const spent: { readonly at: number; readonly instance: string }[] = [];
  let mostMembers = 0;
  /** Nodes that a process of ours deleted, by instance. */
  const deletedByUs = new Set<string>();
  const services = core.store.collection('services');
  /** What Services ask of their listeners, and since when, by uid. */
  const specs = new Map<string, { readonly text: string; readonly since: number }>();
  /** When Services went, by uid. */
  const servicesGone = new Map<string, number>();

  core.store.watch(services, ({ type, object }) => {
    const service = serviceOf(object.value);
    const { uid, ports, sourceRanges } = service;
    if (type === 'DELETED') servicesGone.set(uid, clock.monotonic());
    const text = shownListeners(ports.map((each) => ({ ...each, memberPort: each.nodePort, sourceRanges })));
    if (type === 'DELETED' || !service.wants) specs.delete(uid);
    else if (specs.get(uid)?.text !== text) specs.set(uid, { text, since: clock.monotonic() });
  });
  loadBalancers.onChange(judgeLoadBalancer);

  function judgeLoadBalancer({ before, after }: ResourceEvent<SimulatedLoadBalancer>): void {
    const actor = acting.current;
    // What is being deleted goes by itself.
    if (actor === undefined || (before?.state === 'deleting' && after === undefined)) return;
    const { process, sentAt, what: call } = actor;
    const one = (after ?? before)!;
    const what = `${process.identity} did ${call} (${one.id})`;
    judgeAct(process, sentAt, what);
    const uid = serviceUidOf(before ?? one, cluster);
    if (uid === undefined) {
      const why =
        before === undefined || after === undefined ? 'it is not ours' : foreignChange(before, after, cluster);
      if (why !== undefined) breaks(3, `${what}: ${why}`);
      return;
    }
    const view = views.of(process);
    const told = [...view.services.values()].find(({ service }) => service.uid === uid);
    if (after === undefined || after.state === 'deleting') judgeOrphan(view, uid, one, what);
    if (told?.service.paused && sentAt > told.sinceMs + pauseMs)
      breaks(14, `${what} after it knew that Service ${told.service.name} is paused`);
    if (before === undefined) judgeMade(uid, what);
    if (after === undefined || after.state === 'deleting') {
      if (told?.service.retain && told.service.attachTo === '' && sentAt > told.sinceMs + reactMs)
        breaks(3, `${what}: Service ${told.service.name} asks that it stays`);
      const real = [...services.items.values()].map(({ value }) => serviceOf(value)).find((each) => each.uid === uid);
      // It may have been read live since.
      if (told?.service.wants && real?.wants && sentAt > told.sinceMs + reactMs)
        breaks(5, `${what}: it deletes the load balancer of Service ${told.service.name}, which wants it`);
      return;
    }
    // Given up, as its Service asked.
    if (serviceUidOf(after, cluster) === undefined) {
      const real = [...services.items.values()].map(({ value }) => serviceOf(value)).find((each) => each.uid === uid);
      if (!told?.service.retain && !real?.retain) breaks(5, `${what}: it was released without being retained`);
      return;
    }
    if (before === undefined) return;
    judgeMembers(process, before, after, what);
    const asked = specs.get(uid);
    const settled = asked !== undefined && clock.monotonic() - asked.since > knownMs;
    if (settled && shownListeners(before.listeners) === asked.text && shownListeners(after.listeners) !== asked.text)
      breaks(4, `${what}: its listeners were as its Service has long asked, and are not any more`);
  }

  /**
   * A load balancer whose Service a process never saw goes only a day after the Service and only where the operator
   * allows it, or when another Service has its name.
   */
  function judgeOrphan({ everServices }: View, uid: string, { tags }: SimulatedLoadBalancer, what: string): void {
    const goneAt = servicesGone.get(uid);
    if (goneAt === undefined || everServices.has(uid)) return;
    const name = tags[ownerTags.serviceName] ?? '';
    if (services.items.get(name) !== undefined) return;
    const ageMs = clock.monotonic() - goneAt;
    if (!scenario.deleteOrphans) breaks(5, `${what}: an orphan was deleted without the flag`);
    else if (ageMs < dayMs) breaks(5, `${what}: an orphan goes after ${Math.round(ageMs / 1000)} s`);
  }

  function judgeMade(uid: string, what: string): void {
    const same = loadBalancers.store
      .all()
      .filter((each) => each.state !== 'deleting' && serviceUidOf(each, cluster) === uid);
    if (same.length > 1) breaks(5, `${what}: ${same.map(({ id }) => id).join(' and ')} are of one Service`);
    const service = [...services.items.values()].map(({ value }) => serviceOf(value)).find((each) => each.uid === uid);
    if (service !== undefined && !service.finalizer) breaks(5, `${what}: Service ${service.name} has no finalizer yet`);
  }

  function judgeMembers(
    process: ProcessRef,
    before: SimulatedLoadBalancer,
    after: SimulatedLoadBalancer,
    what: string,
  ): void {
    const region = after.place.split('/')[1]!;
    const { nodes } = views.of(process);
    mostMembers = Math.max(mostMembers, nodes.size);
    for (const pool of before.pools) {
      const left = after.pools.find(({ id }) => id === pool.id)?.members ?? [];
      const serving = new Set(left.filter(({ weight }) => weight === 1).map(({ instanceId }) => instanceId));
      const lost = pool.members.filter(({ weight, instanceId }: Member) => weight === 1 && !serving.has(instanceId));
      for (const { instanceId } of lost) {
        const held = [...nodes.values()].find(({ node }) => instanceIn(node, region) === instanceId);
        if (held === undefined) spend(process, instanceId, what);
        if (held?.plainSince === undefined || clock.monotonic() - held.plainSince < reactMs) continue;
        // The cloud itself refuses what has ended.
        const power = truth.vm(instanceId)?.power;
        if (power === undefined || power === 'terminated' || power === 'shutting-down') continue;
        breaks(2, `${what}: member ${instanceId} goes, though nothing on Node ${held.node.name} says that it should`);
      }
    }
  }

  /** A member whose Node vanished without a word goes within the budget, once for all load balancers. */
  function spend(process: ProcessRef, instance: string, what: string): void {
    const known = views.of(process).gone.get(instance);
    const ended = truth.vm(instance)?.power;
    if (known?.foretold === true || deletedByUs.has(instance) || ended === undefined || ended === 'terminated') return;
    const now = clock.monotonic();
    // A Node that registers again keeps its member.
    if (known !== undefined && ended !== 'shutting-down' && now - known.at < vanishedMs * 0.98)
      breaks(2, `${what}: ${instance} goes ${Math.round(now - known.at)} ms after its Node`);
    if (scenario.wildClocks || spent.some((each) => each.instance === instance)) return;
    spent.push({ at: now, instance });
    const limit = Math.max(1, 'count' in budget ? budget.count : Math.floor(budget.share * mostMembers));
    const from = now - budget.windowMs * 0.98 + 2000 + 2 * largestStepMs + drainMs;
    const within = spent.filter(({ at }) => at > from);
    if (within.length > limit)
      breaks(
        2,
        `${what}: ${within.map((each) => each.instance).join(', ')} went in one window of ${scenario.removalBudget}`,
      );
  }

  function judgeService({ process, call, before, after, sentAt }: KubeEffect): void {
    const [old, now] = [serviceOf(before!), serviceOf(after)];
    const what = `${process.identity} did ${call.verb} ${call.path}`;
    const body = call.body as { metadata?: { resourceVersion?: string } } | undefined;
    if (body?.metadata?.resourceVersion === undefined) breaks(6, `${what} without a resourceVersion`);
    if (old.type === 'LoadBalancer' && !old.wants && !old.deleting && old.record === '' && !old.finalizer)
      breaks(3, `${what}: the Service is of another class`);
    if (old.paused && truth.pausedSince.has(old.uid) && sentAt > truth.pausedSince.get(old.uid)! + pauseMs)
      breaks(14, `${what}: a person had paused it`);
    if (!old.finalizer || now?.finalizer === true) return;
    const left = loadBalancers.store.all().filter((each) => serviceUidOf(each, cluster) === old.uid);
    if (left.length > 0)
      breaks(5, `${what}: the finalizer went while ${left.map(({ id, state }) => `${id} is ${state}`).join(', ')}`);
  }

  return {
    kubeEffect(effect) {
      if (!effect.mutating || effect.status > 299 || effect.before === undefined) return;
      if (effect.resource === 'nodes' && effect.call.verb === 'delete')
        deletedByUs.add(nodeOf(effect.before).providerID.split('/').at(-1) ?? '');
      if (effect.resource === 'services' || effect.resource === 'services/status') judgeService(effect);
    },
  };
}

function shownListeners(listeners: readonly Shown[]): string {
  const texts = listeners.map(
    ({ protocol, port, memberPort, sourceRanges }) => `${protocol}/${port}:${memberPort} ${[...sourceRanges].sort()}`,
  );
  return texts.sort().join(' ');
}

interface Shown {
  readonly protocol: string;
  readonly port: number;
  readonly memberPort: number;
  readonly sourceRanges: readonly string[];
}
