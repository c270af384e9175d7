import { ownerTags } from '../../load-balancers.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import type { LoadBalancer } from './answer.ts';
import { leftMark, markIn, retainedMark, withMark } from './names.ts';
import {
  carriesPieces,
  isOurFloatingIp,
  type OctaviaObserved,
  ourListeners,
  ourPools,
  type Pieces,
} from './observed.ts';
import { claimFloatingIp, giveUpFloatingIp, isKept } from './plan-floating-ip.ts';
import { planDetach, planDoubles, planLeaving, servesOthers } from './plan-pieces.ts';
import { planGroupRemoval } from './plan-security-group.ts';
import { isPending, lookedAt, nothing, type OctaviaPlan, waitFor } from './plan-wait.ts';
import { type OctaviaStep, stepOf } from './step.ts';
import { octaviaTags, tag, without } from './tags.ts';

/** How soon a load balancer is looked at again that only an administrator can mend. */
const mendedByOthersMs = 60_000;

/**
 * Pieces on others' load balancers first, then the load balancer, its floating IP as soon as its end is certain, and when it is gone, the rest. One that serves
 * others, too, stays, and is nobody's from then on.
 */
export function planRemoval(
  { pieces, service }: OctaviaObserved,
  retain: boolean,
  config: LoadBalancerConfig,
): OctaviaPlan {
  const { subject, own, hosts, doubles } = pieces;
  const involved = [own, ...hosts.filter((host) => carriesPieces(host, subject)), ...doubles].filter(
    (one) => one !== undefined,
  );
  const floating = pieces.floatingIps.filter((one) => isOurFloatingIp(one, pieces));
  const others = own !== undefined && servesOthers(own, subject);
  const stays = retain || others;
  const ends = own?.status === 'PENDING_DELETE';
  const addresses = floating.map((one) =>
    // One that a person has put elsewhere serves something else now.
    retain || (others && !ends) || isKept(one) || (one.portId !== undefined && one.portId !== own?.vipPortId)
      ? giveUpFloatingIp(pieces, one, others && !retain && !isKept(one) ? leftMark : retainedMark)
      : stepOf(subject, one.id, `delete floating IP ${one.address}`, { does: 'delete floating IP', id: one.id }),
  );
  const busy = involved.find(isPending);
  // Neutron does not wait for Octavia. By its address alone an adopted one is known to be ours.
  if (busy) return { ...waitFor(busy), steps: ends && !pieces.adopted ? addresses : [] };
  // In ERROR Octavia takes nothing but a failover and the end of the whole.
  const broken = involved.find((one) => one.status !== 'ACTIVE' && (one !== own || retain || others));
  if (broken) return planMending(pieces, broken);
  const steps: OctaviaStep[] = hosts.flatMap((host) =>
    retain ? giveUpPieces(pieces, host, false, service) : planLeaving(pieces, host),
  );
  if (own && stays) {
    steps.push(...(retain ? giveUpPieces(pieces, own, true, service) : planDetach(subject, own, true)));
    steps.push(
      ...addresses,
      ...(retain ? giveUpGroup(pieces) : planGroupRemoval(pieces)),
      giveUp(pieces, own, service, retain),
    );
    return { ...nothing, steps };
  }
  if (own) {
    // Known by its address alone until now: what carries no mark of ours could not be found again without it.
    steps.push(
      ...floating
        .filter(({ description }) => markIn(description) === undefined)
        .map((one) => claimFloatingIp(subject, one)),
    );
    const cascade = config.cascadeDelete || own.status !== 'ACTIVE';
    if (!cascade) steps.push(...planDetach(subject, own, true));
    const summary = `delete load balancer ${own.name}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id, cascade }));
  }
  // After it, when nobody can come to use it any more.
  steps.push(
    ...addresses,
    ...planDoubles(subject, pieces),
    ...(retain ? giveUpGroup(pieces) : planGroupRemoval(pieces)),
  );
  return lookedAt({ ...nothing, steps }, pieces);
}

/** Before pieces can be taken off one that stays. */
function planMending({ subject, noFailover, restMs, own }: Pieces, broken: LoadBalancer): OctaviaPlan {
  if (broken !== own || noFailover || restMs > 0) return { ...nothing, waitMs: Math.max(restMs, mendedByOthersMs) };
  const summary = `fail over load balancer ${broken.name}, which is in ERROR`;
  const step = stepOf(subject, broken.id, summary, { does: 'fail over load balancer', id: broken.id });
  return { ...nothing, steps: [step] };
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

function giveUp({ subject }: Pieces, own: LoadBalancer, service: string | undefined, retain: boolean): OctaviaStep {
  const summary = `give up load balancer ${own.name}, which stays`;
  const tags = [...retainedTags(own.tags, service), tag(ownerTags.cluster, subject.owner.cluster)];
  // Nobody has asked that it stays: it does for those that use it.
  if (!retain) tags.push(tag(octaviaTags.leftToOthers, subject.owner.cluster));
  return stepOf(subject, own.id, summary, { does: 'update load balancer', id: own.id, tags });
}

function retainedTags(tags: readonly string[], service: string | undefined): string[] {
  const rest = without(tags, [ownerTags.cluster, ownerTags.service, ownerTags.serviceName, ownerTags.retained]);
  return [...rest, tag(ownerTags.retained, service ?? 'unknown')];
}
