import type { Truth } from '../actors/truth.ts';
import { nodeOf } from './node-object.ts';
import type { Break, Observer } from './observer.ts';

/** A Node that has nothing in common with a VM but the name never stands for it: promise 15. */
export function judgeIdentities(truth: Truth, breaks: Break): Observer {
  return {
    kubeEffect({ process, call, resource, status, mutating, after }) {
      if (!mutating || status > 299 || (resource !== 'nodes' && resource !== 'nodes/status')) return;
      const node = nodeOf(after);
      if (node === undefined || !truth.namesakes.has(node.uid)) return;
      const what = `${process.identity} did ${call.verb} ${call.path}`;
      if (node.providerID !== '') breaks(15, `${what}: it took ${node.providerID} for ${node.name} by its name alone`);
      if (!node.uninitialized) breaks(15, `${what}: it initialised ${node.name}, known by its name alone`);
    },
  };
}
