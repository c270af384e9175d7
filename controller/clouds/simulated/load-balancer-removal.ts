import { ownerTags } from '../load-balancers.ts';
import { markAddresses } from './adoption.ts';
import type { LoadBalancer } from './load-balancer-answer.ts';
import { planDetach } from './load-balancer-pieces.ts';
import { type SimulatedPlan, waiting, waitMs } from './load-balancer-plan.ts';
import { type SimulatedStep, stepOf, type TagChange } from './load-balancer-step.ts';
import { ownListeners, ownPools, type SimulatedObserved, type Subject } from './observed.ts';

/** Pieces on others' load balancers first, then the load balancer, then, when it is gone, its addresses. */
export function planRemoval({ pieces, service }: SimulatedObserved, retain: boolean): SimulatedPlan {
  const { subject, own, hosts, addresses, unmarked } = pieces;
  if (!subject) return { steps: [], refusals: [], waitMs: undefined };
  if ([own, ...hosts].some((one) => one?.state === 'provisioning' && (retain || one !== own))) return waiting;
  if (retain && own?.state === 'deleting') return waiting;
  if (retain) return { steps: planGivingUp(subject, pieces, service ?? subject.name), refusals: [], waitMs: undefined };
  const left = hosts.filter(({ state }) => state !== 'deleting');
  const steps: SimulatedStep[] = [
    ...(unmarked ? markAddresses(subject, unmarked.addresses, service ?? subject.name) : []),
    ...left.flatMap((host) => planDetach(subject, host)),
  ];
  if (own && own.state !== 'deleting') {
    const summary = `delete load balancer ${own.name}`;
    steps.push(stepOf(subject, own.id, summary, { does: 'delete load balancer', id: own.id }));
  }
  for (const { id, ip, usedBy } of addresses) {
    // The cloud keeps an address while the load balancer goes.
    if (own?.state === 'deleting' && usedBy === own.id) continue;
    steps.push(stepOf(subject, id, `release address ${ip}`, { does: 'release address', id }));
  }
  return { steps, refusals: [], waitMs: own?.state === 'deleting' || left.length < hosts.length ? waitMs : undefined };
}

/** Our tags go, the load balancer's own last: until then the rest is still found. */
function planGivingUp(
  subject: Subject,
  { own, hosts, addresses }: SimulatedObserved['pieces'],
  service: string,
): SimulatedStep[] {
  const tags: TagChange = {
    [ownerTags.service]: null,
    [ownerTags.serviceName]: null,
    [ownerTags.retained]: service,
  };
  const retag = (one: LoadBalancer): SimulatedStep[] => [
    ...ownListeners(one, subject.owner).map(({ id, protocol, port }) =>
      stepOf(subject, id, `give up listener ${protocol} ${port} of ${one.name}`, {
        does: 'change listener',
        loadBalancer: one.id,
        id,
        change: { tags },
      }),
    ),
    ...ownPools(one, subject.owner).map(({ id, name }) =>
      stepOf(subject, id, `give up pool ${name} of ${one.name}`, {
        does: 'change pool',
        loadBalancer: one.id,
        id,
        change: { tags },
      }),
    ),
  ];
  const steps = [...hosts, ...(own ? [own] : [])].flatMap(retag);
  for (const { id, ip } of addresses) {
    steps.push(stepOf(subject, id, `give up address ${ip}`, { does: 'change address', id, tags }));
  }
  if (own) {
    const summary = `give up load balancer ${own.name}, which stays`;
    steps.push(stepOf(subject, own.id, summary, { does: 'change load balancer', id: own.id, tags }));
  }
  return steps;
}
