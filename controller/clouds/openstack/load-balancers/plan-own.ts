import type { Refusal } from '../../load-balancers.ts';
import { keys } from './annotations.ts';
import type { LoadBalancer } from './answer.ts';
import { addressOf, carriesPieces, type Pieces } from './observed.ts';
import { tagsFor } from './plan-create.ts';
import { planFailed } from './plan-failed.ts';
import { namedRefusal, planAddress, planKeeping } from './plan-floating-ip.ts';
import { planDoubles, planLeaving, planPieces } from './plan-pieces.ts';
import { planSecurityGroup } from './plan-security-group.ts';
import { isPending, type OctaviaPlan, waitFor } from './plan-wait.ts';
import { type OctaviaStep, stepOf } from './step.ts';
import { octaviaTags, sameTags, tagValue } from './tags.ts';
import type { Wanted } from './wanted.ts';

/** What brings our own load balancer up to date: its pieces, its address, the security group, its tags. */
export function planOwn(wanted: Wanted, pieces: Pieces, own: LoadBalancer): OctaviaPlan {
  const { desired, subject, settings } = wanted;
  const marks = planKeeping(wanted, pieces);
  // Neutron does not wait for Octavia.
  if (isPending(own)) return { ...waitFor(own), steps: marks };
  if (own.status !== 'ACTIVE') {
    const plan = planFailed(wanted, pieces, own);
    return { ...plan, steps: [...marks, ...plan.steps] };
  }
  const refusals: Refusal[] = [];
  if (settings.namedId !== undefined && settings.namedId !== own.id) refusals.push(foreignId(settings.namedId));
  if (desired.address !== undefined) {
    const refusal = namedRefusal(wanted, pieces);
    const shown = addressOf(own, pieces);
    if (refusal && shown !== desired.address) refusals.push(refusal);
  }
  const steps: OctaviaStep[] = [];
  const inside = planPieces(wanted, own, true, true);
  const address = planAddress(wanted, pieces, own);
  steps.push(...inside.steps, ...address.steps);
  for (const host of pieces.hosts) if (!isPending(host)) steps.push(...planLeaving(pieces, host));
  steps.push(...planSecurityGroup(wanted, pieces, own));

  // The address is certain once the steps to it are done.
  const vip = address.steps.length > 0 ? undefined : address.vip;
  const tags = tagsFor(wanted, own, vip);
  const named = tagValue(tags, octaviaTags.hostname) !== tagValue(own.tags, octaviaTags.hostname);
  if (pieces.adopted ? steps.length > 0 || named : !sameTags(tags, own.tags)) {
    const summary = pieces.adopted
      ? `tag load balancer ${own.name} as of ${desired.service}`
      : `tags of load balancer ${own.name}: ${tagChange(own.tags, tags)}`;
    const retag = stepOf(subject, own.id, summary, { does: 'update load balancer', id: own.id, tags });
    // Whose it is comes before any other change, where it stands what has become of it after them.
    if (pieces.adopted) steps.unshift(retag);
    else steps.push(retag);
  }
  const seen = new Set<string>();
  const told = [...refusals, ...inside.refusals, ...address.refusals].filter(
    ({ message }) => !seen.has(message) && seen.add(message),
  );
  steps.push(...marks, ...planDoubles(subject, pieces));
  const busy = [...pieces.hosts.filter((host) => carriesPieces(host, subject)), ...pieces.doubles].find(isPending);
  return { steps, refusals: told, waitMs: busy && waitFor(busy).waitMs };
}

function tagChange(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
  const removed = before.filter((one) => !after.includes(one)).map((one) => `-${one}`);
  return [...added, ...removed].join(', ');
}

export function foreignId(id: string): Refusal {
  const message = `${keys.loadBalancerId}: ${JSON.stringify(id)} is not its own load balancer; to use that one, name it in mooring.dev/load-balancer-id, otherwise take the annotation away`;
  return { reason: 'Unsupported', message };
}
