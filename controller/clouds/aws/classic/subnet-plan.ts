import type { Refusal } from '../../load-balancers.ts';
import { chooseSubnets } from '../subnets.ts';
import type { ClassicLoadBalancer } from './classic-load-balancer.ts';
import type { ClassicPieces } from './observed.ts';
import type { Wanted } from './plan.ts';
import { type ClassicStep, stepOf } from './step.ts';

/** Attaches what is new before it detaches what is not wanted; where one is attached in a zone that has one, AWS exchanges them by itself. */
export function planSubnets(
  { settings, subject, config }: Wanted,
  { subnets, facts }: ClassicPieces,
  balancer: ClassicLoadBalancer,
): { readonly steps: readonly ClassicStep[]; readonly refusals: readonly Refusal[] } {
  if (subnets === undefined || settings.subnets === undefined) return { steps: [], refusals: [] };
  const internal = balancer.scheme === 'internal';
  const choice = chooseSubnets(subnets, {
    internal,
    named: settings.subnets,
    ipv6: false,
    fallback: config.subnetId,
    isCluster: (tags) => facts.isCluster(tags),
  });
  // It goes on where it stands.
  if ('problem' in choice)
    return { steps: [], refusals: [{ reason: 'Unsupported', message: `subnets: ${choice.problem}` }] };
  const wanted = choice.subnets.map(({ id }) => id);
  const missing = wanted.filter((id) => !balancer.subnets.includes(id));
  const extra = balancer.subnets.filter((id) => !wanted.includes(id));
  const steps: ClassicStep[] = [];
  if (missing.length > 0) {
    const summary = `attach ${balancer.name} to ${missing.join(', ')}`;
    steps.push(stepOf(subject, summary, { does: 'attach subnets', subnets: missing }));
  }
  if (extra.length > 0) {
    const summary = `detach ${balancer.name} from ${extra.join(', ')}`;
    steps.push(stepOf(subject, summary, { does: 'detach subnets', subnets: extra }));
  }
  return { steps, refusals: [] };
}
