import { conditions } from '../../../common/well-known.ts';
import type { ResourceEvent } from '../../kit/cloud/resource-store.ts';
import type { SimulatedRoute } from '../../kit/cloud/route-model.ts';
import type { Truth } from '../actors/truth.ts';
import { clusterCidr } from '../engine/process.ts';
import type { Acting } from '../wires/wire.ts';
import type { JudgeAct } from './cloud-acts.ts';
import { clusterUid, isOurRoute, nodesIn } from './network-truth.ts';
import { type NodeObject, nodeOf } from './node-object.ts';
import type { Break, KubeEffect, Observer } from './observer.ts';

/** A batch of changes, and a call that was on its way. */
const reactMs = 20_000;
/** Two looks at the route table and what lies between them. */
const lookMs = 75_000;

/** What routes have to hold, and what is said of them on Nodes: promises 2, 3 and 15. */
export function judgeRoutes(truth: Truth, acting: Acting, judgeAct: JudgeAct, breaks: Break): Observer {
  const { clock, cloud, core } = truth;
  const { routes } = cloud.network;
  const cluster = clusterUid(truth);
  /** When each process last read the routes. */
  const looks = new Map<string, number>();
  /** Since when a Node claims a range for an instance, by both. */
  const claims = new Map<string, number>();
  /** Since when a route leads there, and when the last one went. */
  const routed = new Map<string, { since: number | undefined; until: number }>();

  core.store.watch(core.store.collection('nodes'), ({ type, object, previous }) => {
    const now = type === 'DELETED' ? undefined : nodeOf(object.value);
    const before = previous && nodeOf(previous.value);
    if (before !== undefined && claimOf(before) !== (now && claimOf(now))) claims.delete(claimOf(before));
    if (now !== undefined && now.podCIDR !== '' && now.providerID !== '' && !claims.has(claimOf(now)))
      claims.set(claimOf(now), clock.monotonic());
  });
  routes.onChange(judgeRoute);

  function judgeRoute({ before, after }: ResourceEvent<SimulatedRoute>): void {
    const one = (after ?? before)!;
    const key = `${one.destination} ${one.instanceId}`;
    const now = clock.monotonic();
    if (after === undefined) routed.set(key, { since: undefined, until: now });
    else if (before === undefined) routed.set(key, { since: now, until: Number.POSITIVE_INFINITY });
    const actor = acting.current;
    if (actor === undefined) return;
    const { process, sentAt, what: call } = actor;
    const what = `${process.identity} did ${call} (${one.id} to ${one.destination})`;
    judgeAct(process, sentAt, what);
    if (!isOurRoute(one, cluster)) {
      breaks(3, `${what}: it is not ours`);
      return;
    }
    if (before === undefined && !withinBounds(one.destination))
      breaks(15, `${what}: it leaves ${clusterCidr} or is no /24 of it`);
    if (after !== undefined || one.broken || routes.blackhole(one)) return;
    const since = claims.get(key);
    if (since !== undefined && now - since > reactMs)
      breaks(2, `${what}: a Node has had that range on ${one.instanceId} for ${Math.round(now - since)} ms`);
  }

  /** The network of a Node is called good or bad on what the cloud really has, or had when it was last looked at. */
  function judgeCondition({ process, call, before, after }: KubeEffect): void {
    const [old, node] = [nodeOf(before!), nodeOf(after)];
    const [was, is] = [old, node].map((each) => each?.conditions.get(conditions.networkUnavailable));
    if (node === undefined || was?.status === is?.status) return;
    const seen = routed.get(claimOf(node));
    const now = clock.monotonic();
    const what =
      `${process.identity} did ${call.verb} ${call.path}: ` + `NetworkUnavailable is ${is?.status} (${is?.reason})`;
    const lookedAt = Math.min(now - lookMs, looks.get(process.identity) ?? now);
    if (is?.status === 'False' && (seen === undefined || seen.until < lookedAt))
      breaks(2, `${what}, and there is no route to ${node.podCIDR}`);
    const stands = seen?.since !== undefined && seen.since < now - lookMs;
    const [, region = '', id = ''] = /^simulated:\/\/([^/]+)\/([^/]+)$/.exec(node.providerID) ?? [];
    const vm = truth.vm(id);
    const ending = vm === undefined || vm.power === 'terminated' || vm.power === 'shutting-down';
    // Where no other Node has a route, a table without any is no sign of a wrong credential.
    const others = nodesIn(truth, region).some(
      (other) =>
        other.node.uid !== node.uid && other.node.conditions.get(conditions.networkUnavailable)?.status === 'False',
    );
    if (was?.status === 'False' && is?.status === 'True' && stands && !ending && others)
      breaks(2, `${what}, and the route to ${node.podCIDR} has been there for ${Math.round(now - seen.since!)} ms`);
  }

  return {
    kubeEffect(effect) {
      if (effect.mutating && effect.status < 300 && effect.before !== undefined && effect.resource === 'nodes/status')
        judgeCondition(effect);
    },
    cloudAnswer({ process, operation, reply, sentAt }) {
      const whole = reply.kind === 'answer' && reply.status === 200 && reply.cutAfterBytes === undefined;
      if (operation === 'GET routes' && whole) looks.set(process.identity, sentAt);
    },
  };
}

function withinBounds(destination: string): boolean {
  const [first, second] = clusterCidr.split('.');
  return destination.startsWith(`${first}.${second}.`) && destination.endsWith('.0/24');
}

function claimOf({ podCIDR, providerID }: NodeObject): string {
  return `${podCIDR} ${providerID.split('/').at(-1)}`;
}
