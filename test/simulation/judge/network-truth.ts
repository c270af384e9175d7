import { labels, taints as taintKeys } from '../../../common/well-known.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { SimulatedLoadBalancer } from '../../kit/cloud/load-balancer.ts';
import type { SimulatedRoute } from '../../kit/cloud/route-model.ts';
import type { Truth } from '../actors/truth.ts';
import { type NodeObject, nodeOf } from './node-object.ts';

/** UID of the Service whose load balancer this is, if it is this cluster's. */
export function serviceUidOf({ tags }: Pick<SimulatedLoadBalancer, 'tags'>, cluster: string): string | undefined {
  return tags[ownerTags.cluster] === cluster ? tags[ownerTags.service] : undefined;
}

/** A forbidden change of a foreign load balancer; undefined = only our parts changed, on one that may be used. */
export function foreignChange(
  before: SimulatedLoadBalancer,
  after: SimulatedLoadBalancer,
  cluster: string,
): string | undefined {
  const rest = ({ name, tags, scheme, addresses, state }: SimulatedLoadBalancer) =>
    JSON.stringify({ name, tags, scheme, addresses, state });
  if (rest(before) !== rest(after)) return 'it is not ours';
  const ours = ({ tags }: { readonly tags: Readonly<Record<string, string>> }) => tags[ownerTags.cluster] === cluster;
  const old = [...before.listeners, ...before.pools];
  const now = [...after.listeners, ...after.pools];
  const same = (piece: (typeof old)[number]) => now.some((each) => JSON.stringify(each) === JSON.stringify(piece));
  const touched = old.find((piece) => !ours(piece) && !same(piece));
  if (touched !== undefined) return `${touched.id} on it is not ours`;
  const joined = now.find(({ id }) => old.every((each) => each.id !== id));
  if (joined !== undefined && before.tags[ownerTags.consent] !== `${cluster}/default`) return 'it has no consent';
  return joined !== undefined && !ours(joined) ? `${joined.id} does not carry our tags` : undefined;
}

export function isOurRoute({ tags }: SimulatedRoute, cluster: string): boolean {
  return tags[ownerTags.cluster] === cluster;
}

/** Id of the instance that a Node stands for, of that region; empty when it is another's. */
export function instanceIn(node: NodeObject, region: string): string {
  const [, place, id = ''] = /^simulated:\/\/([^/]+)\/([^/]+)$/.exec(node.providerID) ?? [];
  return place === region ? id : '';
}

/** Whether load balancers should send connections to this Node: nothing on it says otherwise. */
export function isPlainMember(node: NodeObject): boolean {
  const marked = [taintKeys.toBeDeletedByAutoscaler, taintKeys.disruptedByKarpenter].some((key) =>
    node.taints.some((taint) => taint.key === key),
  );
  const excluded = node.labels[labels.excludeFromLoadBalancers] !== undefined;
  return !node.deleting && !node.uninitialized && !node.shutdown && !marked && !excluded;
}

export function clusterUid(truth: Truth): string {
  const namespace = truth.core.store.collection('namespaces').items.get('kube-system')!.value;
  return (namespace as unknown as { metadata: { uid: string } }).metadata.uid;
}

export function nodesIn(truth: Truth, region: string): { readonly node: NodeObject; readonly instance: string }[] {
  return truth
    .nodes()
    .map((value) => nodeOf(value))
    .map((node) => ({ node, instance: instanceIn(node, region) }))
    .filter(({ instance }) => instance !== '');
}
