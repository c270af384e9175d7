import { annotations } from '../../../common/well-known.ts';
import type { Truth } from '../actors/truth.ts';
import { nodeOf } from './node-object.ts';
import type { Break, Observer } from './observer.ts';

/** Where everything of a scope is missing at once, no Node goes: promise 17. */
export function judgeTotalAbsence(truth: Truth, breaks: Break): Observer {
  return {
    kubeEffect({ process, call, resource, status, before }) {
      if (!truth.blackout || resource !== 'nodes' || call.verb !== 'delete' || status > 299) return;
      const node = nodeOf(before);
      // A person may know better.
      if (node === undefined || node.annotations[annotations.releaseDeletion] === node.uid) return;
      const others = truth.nodes().filter((value) => nodeOf(value).scope === node.scope);
      // A scope of one Node that this credential has shown before may lose it.
      if (others.length > 0)
        breaks(17, `${process.identity} deleted Node ${node.name} while the cloud showed nothing of ${node.scope}`);
    },
  };
}
