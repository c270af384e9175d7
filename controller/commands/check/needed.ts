import type { Loops } from '../../app/options/loops.ts';
import type { CheckResult, CloudHalf } from '../../clouds/cloud.ts';

/**
 * Which halves of the clouds a run with these loops works with.
 *
 * @param cloudRoutes `--configure-cloud-routes` with a `--cluster-cidr`
 */
export function halvesIn(loops: Loops, cloudRoutes: boolean): ReadonlySet<CloudHalf> {
  const halves = new Set<CloudHalf>();
  if (loops.node || loops.lifecycle) halves.add('nodes');
  if (loops.route && cloudRoutes) halves.add('routes');
  if (loops.service) halves.add('load balancers');
  return halves;
}

/** What only halves need that do not run may fail. */
export function isNeeded({ neededFor }: CheckResult, halves: ReadonlySet<CloudHalf>): boolean {
  return neededFor === undefined || neededFor.some((half) => halves.has(half));
}
