import type { Truth } from '../actors/truth.ts';
import { clusterCidr } from '../engine/process.ts';
import { nodeOf } from './node-object.ts';
import type { Break, KubeEffect, Observer } from './observer.ts';

/**
 * Pod ranges that a process of ours assigns: unique, within the cluster's range, and to a Node of ours that has none.
 */
export function judgeRanges(truth: Truth, breaks: Break): Observer {
  const within = clusterCidr.split('.').slice(0, 2).join('.');

  function kubeEffect({ process, call, resource, status, before, after }: KubeEffect): void {
    if (resource !== 'nodes' || status > 299 || before === undefined || after === undefined) return;
    const [old, node] = [nodeOf(before), nodeOf(after)];
    if (old.podCIDR === node.podCIDR) return;
    const what = `${process.identity} did ${call.verb} ${call.path}: pod range ${node.podCIDR}`;
    if (old.podCIDR !== '') breaks(3, `${what} in the place of ${old.podCIDR}`);
    if (truth.foreign.has(node.uid)) breaks(3, `${what} for a foreign Node`);
    if (!node.podCIDR.startsWith(`${within}.`) || !node.podCIDR.endsWith('/24'))
      breaks('ranges', `${what}, expected a /24 of ${clusterCidr}`);
    const others = truth.nodes().map((value) => nodeOf(value));
    for (const other of others)
      if (other.uid !== node.uid && other.podCIDR === node.podCIDR) breaks('ranges', `${what} is ${other.name}'s`);
  }

  return { kubeEffect };
}
