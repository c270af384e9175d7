import type { DesiredLoadBalancer } from '../clouds/load-balancers.ts';

/**
 * Drivers make a rule of each port with each source range, and a member of each port with each Node, before anything
 * compares them with a quota, so a Service could take all memory of the controller. Far above what is served: an
 * interface of AWS takes 1,000 rules. With few ports, the number of Nodes alone must not stop a Service that is served.
 */
const maxRules = 50_000;
const maxMembers = 200_000;
const fewPorts = 50;

/** What is too much for one load balancer; undefined: nothing. Pure. */
export function excessOf(desired: Pick<DesiredLoadBalancer, 'ports' | 'sourceRanges' | 'members'>) {
  const ports = desired.ports.length;
  const ranges = desired.sourceRanges.length;
  const members = desired.members.length;
  if (ports * ranges > maxRules) {
    const message = `${ports} ports with ${ranges} source ranges are ${ports * ranges} rules`;
    return { reason: 'InvalidSourceRanges', message: `${message}, expected at most ${maxRules}` } as const;
  }
  if (ports > fewPorts && ports * members > maxMembers) {
    const message = `spec.ports: ${ports} ports with ${members} members each`;
    return { reason: 'InvalidSpec', message: `${message}, expected at most ${maxMembers} members in all` } as const;
  }
  return undefined;
}
