import { type Cidr, overlap, parseCidr } from '../model/cidr.ts';
import { holds } from '../model/route-bounds.ts';
import type { CloudRangeOptions } from './ipam-options.ts';

/**
 * The ranges that a Node gets of those of its instance: one inside each range of --cluster-cidr, in that order. With
 * none or several, the choice is not defined: `problem` names them, as the end of a sentence. Pure.
 *
 * @param podRanges as in `Instance`
 */
export function instanceRanges(
  podRanges: readonly string[] | undefined,
  { clusterCidrs, serviceCidrs }: CloudRangeOptions,
): { readonly cidrs: readonly Cidr[] } | { readonly problem: string } {
  if (podRanges === undefined) return { problem: 'its cloud shows no pod ranges of instances' };
  if (podRanges.length === 0) return { problem: 'its instance has no pod range (on gce: alias range)' };
  const all = podRanges.map((text) =>
    parseCidr(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`),
  );
  const invalid = podRanges.find((_, at) => all[at] === undefined);
  if (invalid !== undefined) return { problem: `its instance has ${JSON.stringify(invalid)}, expected a CIDR` };
  const cidrs: Cidr[] = [];
  for (const cluster of clusterCidrs) {
    const inside = all.filter((cidr) => cidr !== undefined && holds(cluster, cidr)).map((cidr) => cidr!);
    const [chosen, ...others] = inside;
    if (chosen === undefined)
      return { problem: `no range of its instance (${podRanges.join(', ')}) is inside --cluster-cidr ${cluster.text}` };
    if (others.length > 0)
      return { problem: `its instance has ${inside.map(({ text }) => text).join(', ')} inside ${cluster.text}` };
    const service = serviceCidrs.find((each) => overlap(each, chosen));
    if (service)
      return { problem: `${chosen.text} of its instance overlaps --service-cluster-ip-range ${service.text}` };
    cidrs.push(chosen);
  }
  return { cidrs };
}
