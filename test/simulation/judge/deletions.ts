import { annotations, taints as taintKeys } from '../../../common/well-known.ts';
import type { Truth } from '../actors/truth.ts';
import type { Scenario } from '../engine/scenario.ts';
import type { Evidence, Seen } from './evidence.ts';
import { conditionOf, type NodeObject, nodeOf } from './node-object.ts';
import type { Break, KubeEffect, Observer } from './observer.ts';

/** Clocks of processes run up to 1.5 % fast; what they count as fifteen seconds may be a little less. */
const pace = 0.98;
const leastQuietMs = 20_000;
/**
 * Independent of the kubelet's clock, the lease must have been observed unchanged for this share of its duration, and
 * this long.
 */
const unchangedShare = 0.3;
const leastUnchangedMs = 12_000;
const secondAnswerMs = 15_000;
const secondAnswerAloneMs = 300_000;
const leastAgeMs = 300_000;
/** Signs of life older than this when the deletion takes effect were not read live. */
const liveMs = 16_000;
/** Questions of one pass are asked within this time. */
const passMs = 12_000;
/** A controller may not have heard yet of a Node that is younger. */
const heardMs = 120_000;

interface Spent {
  readonly at: number;
  readonly what: string;
}

/**
 * The deletion oracle, written from the promise alone: it does not know how the controller gathers and weighs its
 * evidence. It judges by the answers that the process got, the acts of the kubelets, and the objects in the API server
 * when the deletion took effect.
 */
export function judgeDeletions(truth: Truth, evidence: Evidence, scenario: Scenario, breaks: Break): Observer {
  const budgets = {
    deletion: [scenario.budget],
    // The judge may know of an announcement that came after the decision.
    announced: [scenario.announcedBudget, scenario.budget],
    joining: [scenario.budget],
    'out-of-service': [scenario.budget],
  };
  const spent = new Map<string, Spent[]>();
  let mostOwned = 0;

  function kubeEffect(effect: KubeEffect): void {
    if (!effect.mutating || (effect.resource !== 'nodes' && effect.resource !== 'nodes/status')) return;
    mostOwned = Math.max(
      mostOwned,
      truth
        .nodes()
        .map((value) => nodeOf(value))
        .filter(isOwned).length,
    );
    if (effect.status > 299 || effect.before === undefined) return;
    const before = nodeOf(effect.before);
    if (effect.call.verb === 'delete') {
      judgeDeletion(effect, before);
      return;
    }
    const after = nodeOf(effect.after);
    if (after === undefined) return;
    if ((!after.shutdown || before.shutdown) && (!after.outOfService || before.outOfService)) return;
    judgePowerTaints(effect, before);
    if (after.outOfService && !before.outOfService) spend('out-of-service', effect, before.name);
  }

  function isOwned(node: NodeObject): boolean {
    return instanceOf(node) !== undefined && !node.uninitialized && !truth.foreign.has(node.uid);
  }

  /** `region/id` of a Node in a configured region. */
  function instanceOf({ providerID }: NodeObject): string | undefined {
    const [, region, id] = /^simulated:\/\/([^/]+)\/([^/]+)$/.exec(providerID) ?? [];
    return scenario.clouds.some((cloud) => cloud.reportOnly === undefined && cloud.region === region)
      ? `${region}/${id}`
      : undefined;
  }

  function judgeDeletion(effect: KubeEffect, node: NodeObject): void {
    const { identity } = effect.process;
    const why = deletionProblem(effect, node);
    if (why === undefined) return;
    breaks(1, `${identity} deleted Node ${node.name} (${node.providerID}): ${why}`);
  }

  /** Why it must not be deleted; undefined when it may. What needs the budget is counted. */
  function deletionProblem(effect: KubeEffect, node: NodeObject): string | undefined {
    const { identity } = effect.process;
    const { preconditions } = (effect.call.body ?? {}) as {
      preconditions?: { uid?: string; resourceVersion?: string };
    };
    if (preconditions?.uid !== node.uid) return 'without its UID as precondition';
    if (preconditions.resourceVersion === undefined) return 'without its resourceVersion as precondition';
    const instance = instanceOf(node);
    if (instance === undefined || truth.foreign.has(node.uid)) return 'it is not ours';
    const joining = node.uninitialized && node.scope === '';
    if (!joining && node.scope !== `http://cloud/demo/${instance.split('/')[0]}`)
      return 'no record says that its instance was found in this scope';
    const life = lifeProblem(effect, node);
    if (life !== undefined) return life;
    const readAt = evidence.lastLifeRead(identity, node.name, effect.sentAt)!;
    const ageMs = truth.clock.now() - node.createdAtMs + 1000;
    const seen = evidence.seen(identity, instance).filter(({ at }) => at <= readAt);
    if (seen.some(({ state }) => state === 'gone')) {
      if (!joining) return undefined;
      if (ageMs < leastAgeMs * pace) return `it was never initialised and ${Math.round(ageMs / 1000)} s old`;
      spendOn(effect, node, 'joining');
      return undefined;
    }
    if (joining) return 'it was never initialised, and its cloud never said that it is gone';
    const absences = seen.filter(({ state, byId }) => state === 'absent' && byId);
    if (absences.length === 0) return 'its cloud never said that it is gone or absent';
    if (node.ready === 'True') return 'it was Ready';
    if (ageMs < leastAgeMs * pace) return `it was ${Math.round(ageMs / 1000)} s old`;
    if (!provedTwice(effect, node, instance, absences, readAt))
      return (
        'its absence was not proved twice (answers at ' +
        `${absences.map(({ at }) => (at / 1000).toFixed(1)).join(', ')})`
      );
    if (!isReleased(node) && isTotal(effect, node, instance, absences, readAt))
      return 'nothing else of its scope had been shown, and no person had released it';
    spendOn(effect, node);
    return undefined;
  }

  function isReleased(node: NodeObject): boolean {
    return node.annotations[annotations.releaseDeletion] === node.uid;
  }

  function spendOn(effect: KubeEffect, node: NodeObject, kind?: 'joining'): void {
    const expected = isReleased(node) ? 'marked' : expectedTermination(effect, node);
    if (expected !== 'marked') spend(kind ?? expected ?? 'deletion', effect, node.name);
  }

  /** Why the signs of life forbid it; undefined when they do not. */
  function lifeProblem({ process, sentAt, at }: KubeEffect, node: NodeObject): string | undefined {
    const readAt = evidence.lastLifeRead(process.identity, node.name, sentAt);
    if (readAt === undefined) return 'its lease was never read';
    if (at - readAt > liveMs) return `its lease was read ${Math.round(at - readAt)} ms before`;
    const last = truth.renewals(node.name).findLast((renewal) => renewal.at <= readAt);
    const quietMs = Math.max(leastQuietMs, (last?.leaseSeconds ?? 0) * 1000);
    if (last !== undefined) {
      const agoMs = readAt - last.at;
      // The stamp is the kubelet's, the clock it is compared with the API server's.
      const illusionMs = Math.max(0, -last.skewMs);
      const unchangedMs = Math.max(leastUnchangedMs, unchangedShare * quietMs);
      const needMs = Math.max(unchangedMs, quietMs - illusionMs) * pace;
      if (agoMs < needMs) return `its lease had been renewed ${Math.round(agoMs)} ms before that was read`;
    }
    const report = evidence.reports(process.identity, node.uid).findLast((each) => each.at <= readAt);
    if (report !== undefined && readAt - report.at < quietMs * pace)
      return `its agent had reported ${Math.round(readAt - report.at)} ms before`;
    return undefined;
  }

  function provedTwice(
    { process: { identity } }: KubeEffect,
    node: NodeObject,
    instance: string,
    absences: readonly Seen[],
    readAt: number,
  ): boolean {
    const others = evidence.othersAlive(identity, instance);
    const withCanary = ({ sentAt, at }: Seen) =>
      others.some((other) => other.sentAt >= sentAt && other.at <= Math.min(at + 60_000, readAt + 1000));
    const brokenByLife = ({ at }: Seen) => {
      const { leaseAt: from, nodeAt = from } = evidence.firstLifeReadSince(identity, node.name, at) ?? { leaseAt: at };
      const renewed = truth.renewals(node.name).some((renewal) => renewal.at > from && renewal.at <= readAt);
      const wasReady = (truth.lastReady(node.uid) ?? nodeAt) > nodeAt;
      const reported = evidence.reports(identity, node.uid).some((report) => report.at > from && report.at <= readAt);
      return renewed || wasReady || reported;
    };
    return absences.some((first) => {
      if (brokenByLife(first)) return false;
      return absences.some((second) => {
        const apartMs = second.at - first.at;
        if (apartMs >= secondAnswerAloneMs * pace) return true;
        return apartMs >= secondAnswerMs * pace && withCanary(first) && withCanary(second);
      });
    });
  }

  /**
   * Whether the process believed a total absence: no other recorded Node's instance was found with it or, for the only
   * Node, none ever.
   */
  function isTotal(
    { process: { identity } }: KubeEffect,
    node: NodeObject,
    instance: string,
    absences: readonly Seen[],
    readAt: number,
  ): boolean {
    const last = absences.at(-1)!;
    const shown = evidence.shown(identity, instance.split('/')[0]!).filter(({ at }) => at <= readAt + 1000);
    const others = truth
      .nodes()
      .map((value) => nodeOf(value))
      .filter(
        ({ uid, scope, providerID }) => uid !== node.uid && scope === node.scope && providerID !== node.providerID,
      )
      .filter(({ createdAtMs }) => truth.clock.now() - createdAtMs > heardMs);
    if (others.length === 0 || scenario.deaf) return shown.length === 0;
    return !shown.some((each) => each.instance !== instance && each.at >= last.sentAt - passMs);
  }

  function expectedTermination({ process }: KubeEffect, node: NodeObject): 'marked' | 'announced' | undefined {
    const marked = node.taints.some(
      ({ key }) => key === taintKeys.toBeDeletedByAutoscaler || key === taintKeys.disruptedByKarpenter,
    );
    if (marked) return 'marked';
    const shown = conditionOf(node, 'interruption');
    if (shown?.status === 'True' && (shown.reason === 'Preemption' || shown.reason === 'Termination'))
      return 'announced';
    return evidence.reports(process.identity, node.uid).at(-1)?.announcesEnd === true ? 'announced' : undefined;
  }

  /** A VM that was shown to be off needs no budget for the shutdown taint. */
  function judgePowerTaints(effect: KubeEffect, node: NodeObject): void {
    const why = powerTaintProblem(effect, node);
    if (why !== undefined)
      breaks(2, `${effect.process.identity} put a power taint on ${node.name} (${node.providerID}): ${why}`);
  }

  function powerTaintProblem(effect: KubeEffect, node: NodeObject): string | undefined {
    const instance = instanceOf(node);
    if (instance === undefined || truth.foreign.has(node.uid)) return 'it is not ours';
    const seen = evidence.seen(effect.process.identity, instance);
    if (!seen.some(({ state }) => state === 'stopped')) return 'its cloud never said that it is off';
    if (node.ready === 'True') return 'it was Ready';
    return lifeProblem(effect, node);
  }

  function spend(kind: keyof typeof budgets, { at, process }: KubeEffect, what: string): void {
    const all = spent.get(kind) ?? [];
    spent.set(kind, all);
    all.push({ at, what });
    // A clock that jumps by minutes takes the window with it; nothing is left to be promised then.
    if (scenario.wildClocks) return;
    const limits = budgets[kind].map((text) => readBudget(text));
    const limit = limits
      .map((budget) => Math.max(1, 'count' in budget ? budget.count : Math.floor(budget.share * mostOwned)))
      .reduce((sum, each) => sum + each);
    const windowMs = Math.min(...limits.map((budget) => budget.windowMs));
    const from = at - windowMs * pace + 2000 + 2 * largestStepMs;
    const within = all.filter((each) => each.at > from);
    if (within.length > limit)
      breaks(
        kind === 'out-of-service' ? 2 : 1,
        `${process.identity} went beyond the ${kind} budget ${budgets[kind].join(' + ')} (${limit} of ${mostOwned} ` +
          `Nodes): ${within.map((each) => `${each.what} at ${Math.round(each.at)}`).join(', ')}`,
      );
  }

  return { kubeEffect };
}

/** Of wall clocks, where they are not wild. */
export const largestStepMs = 8000;

/** Of the scenario: `1/2m` or `10%/2m`. */
export function readBudget(text: string) {
  const [, amount, percent, minutes] = /^(\d+)(%?)\/(\d+)m$/.exec(text) ?? [];
  const windowMs = Number(minutes) * 60_000;
  return percent === '%' ? { share: Number(amount) / 100, windowMs } : { count: Number(amount), windowMs };
}
