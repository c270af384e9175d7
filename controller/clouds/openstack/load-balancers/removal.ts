import { ownerTags } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { LoadBalancer } from './answer.ts';
import { markIn, retainedMark, withMark } from './names.ts';
import {
  carriesPieces,
  isOurFloatingIp,
  type OctaviaObserved,
  ourListeners,
  ourPools,
  type Pieces,
} from './observed.ts';
import { claimFloatingIp, giveUpFloatingIp, keepsFloatingIp } from './plan-floating-ip.ts';
import { planDetach, servesOthers } from './plan-pieces.ts';
import { planGroupRemoval } from './plan-security-group.ts';
import { isPending, lookedAt, type OctaviaPlan, waitFor } from './plan-wait.ts';
import { type OctaviaStep, stepOf } from './step.ts';
import { octaviaTags, tag, without } from './tags.ts';

const nothing: OctaviaPlan = { steps: [], refusals: [], waitMs: undefined };

/**
 * Pieces on others' load balancers and our floating IP first, then the load balancer, and when it is gone, what no trace would be left of otherwise. One that serves
 * others, too, stays, and is nobody's from then on.
 */
export function planRemoval(
  { pieces, service }: OctaviaObserved,
  retain: boolean,
  config: LoadBalancerConfig,
): OctaviaPlan {
  const { subject, own, hosts } = pieces;
  const busy = [own, ...hosts.filter((host) => carriesPieces(host, subject))].find((one) => one && isPending(one));
  if (busy) return waitFor(busy);
  const stays = retain || (own !== undefined && servesOthers(own, subject));
  const steps: OctaviaStep[] = hosts.flatMap((host) =>
    retain ? giveUpPieces(pieces, host, false, service) : planDetach(subject, host, false),
  );
  const floating = pieces.floatingIps.filter((one) => isOurFloatingIp(one, pieces));
  const kept = stays || keepsFloatingIp(pieces);
  const addresses = floating.map((one) =>
    // One that a person has put elsewhere serves something else now.
    kept || (one.portId !== undefined && one.portId !== own?.vipPortId)
      ? giveUpFloatingIp(pieces, one)
      : stepOf(subject, one.id, `delete floating IP ${one.address}`, { does: 'delete floating IP', id: one.id }),
  );
  if (own && stays) {
    steps.push(...(retain ? giveUpPieces(pieces, own, true, service) : planDetach(subject, own, true)));
    steps.push(
      ...addresses,
      ...(retain ? giveUpGroup(pieces) : planGroupRemoval(pieces)),
      giveUp(pieces, own, service),
    );
    return { ...nothing, steps };
  }
  if (own && pieces.adopted) {
    // Known by its address alone until now: what carries no mark of ours could not be found again without it.
    steps.push(
      ...floating
        .filter(({ description }) => markIn(description) === undefined)
        .map((one) => claimFloatingIp(subject, one)),
    );
  } else steps.push(...addresses);
  if (own) {
    if (!config.cascadeDelete) steps.push(...planDetach(subject, own, true));
    const summary = `delete load balancer ${own.name}`;
    const cascade = config.cascadeDelete;
    steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id, cascade }));
  }
  if (own && pieces.adopted) steps.push(...addresses);
  steps.push(...(retain ? giveUpGroup(pieces) : planGroupRemoval(pieces)));
  return lookedAt({ ...nothing, steps }, pieces);
}

/** What stays still has to reach its members: their group stays with it. */
function giveUpGroup({ subject, group }: Pieces): OctaviaStep[] {
  if (group === undefined) return [];
  const description = withMark(group.description.replace(/ ?\[[^\]]*\]$/, ''), retainedMark(subject.owner));
  const call = { does: 'update security group', id: group.id, description } as const;
  return [stepOf(subject, group.id, `give up security group ${group.name}, which stays`, call)];
}

/** Our tags go from the pieces. */
function giveUpPieces(
  { subject }: Pieces,
  one: LoadBalancer,
  isOwn: boolean,
  service: string | undefined,
): OctaviaStep[] {
  const after = (tags: readonly string[]) => retainedTags(tags, service);
  return [
    ...ourPools(one, subject, isOwn)
      .filter(({ tags }) => tags.some((known) => known.startsWith(`${ownerTags.service}=`)))
      .map(({ id, name, tags }) =>
        stepOf(subject, id, `give up pool ${name}`, {
          does: 'update pool',
          loadBalancer: one.id,
          id,
          change: { tags: after(tags) },
        }),
      ),
    ...ourListeners(one, subject, isOwn)
      .filter(({ tags }) => tags.some((known) => known.startsWith(`${ownerTags.service}=`)))
      .map(({ id, name, tags }) =>
        stepOf(subject, id, `give up listener ${name}`, {
          does: 'update listener',
          loadBalancer: one.id,
          id,
          change: { tags: after(tags) },
        }),
      ),
  ];
}

function giveUp({ subject }: Pieces, own: LoadBalancer, service: string | undefined): OctaviaStep {
  const summary = `give up load balancer ${own.name}, which stays`;
  const tags = [...retainedTags(own.tags, service), tag(ownerTags.cluster, subject.owner.cluster)];
  return stepOf(subject, own.id, summary, { does: 'update load balancer', id: own.id, tags });
}

function retainedTags(tags: readonly string[], service: string | undefined): string[] {
  const rest = without(tags, [
    ownerTags.cluster,
    ownerTags.service,
    ownerTags.serviceName,
    ownerTags.retained,
    octaviaTags.keepFloatingIp,
  ]);
  return [...rest, tag(ownerTags.retained, service ?? 'unknown')];
}
