import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import type { Truth } from '../actors/truth.ts';
import { rogueNamespace } from '../engine/scenario.ts';
import type { Acting } from '../wires/wire.ts';
import { clusterUid, serviceUidOf } from './network-truth.ts';
import type { Break, Observer } from './observer.ts';

type Tagged = { readonly tags: Readonly<Record<string, string>> };

/** A namespace gets no part of what is lent to another one, and leaves nothing behind that costs money: promise 16. */
export function judgeNamespaces(truth: Truth, acting: Acting, breaks: Break): Observer {
  const cluster = clusterUid(truth);
  const isRogue = ({ tags }: Tagged) => (tags[ownerTags.serviceName] ?? '').startsWith(`${rogueNamespace}/`);

  truth.cloud.network.loadBalancers.onChange(({ before, after }) => {
    const actor = acting.current;
    if (actor === undefined || after === undefined) return;
    const what = `${actor.process.identity} did ${actor.what} (${after.id})`;
    const isOwn = serviceUidOf(after, cluster) !== undefined;
    const grabbed = isOwn ? undefined : [...after.listeners, ...after.pools].find(isRogue);
    if (grabbed !== undefined) breaks(16, `${what}: ${grabbed.id} of another namespace is on what was lent`);
    if (before !== undefined && isRogue(before) && serviceUidOf(before, cluster) !== undefined && !isOwn)
      breaks(16, `${what}: it stays behind, though its namespace may keep nothing`);
  });
  return {};
}
