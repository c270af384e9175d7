import type { Refusal } from '../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredPort } from './load-balancers.ts';

export function unsupported(message: string): Refusal {
  return { reason: 'Unsupported', message };
}

/**
 * The ports that a load balancer for TCP and UDP to node ports can serve, and a refusal for each other one. Pure.
 *
 * @param needsNodePort false where members are reached by the port of a connection
 */
export function servedPorts(
  { ports }: Pick<DesiredLoadBalancer, 'ports'>,
  needsNodePort = true,
): { readonly served: DesiredPort[]; readonly refusals: Refusal[] } {
  const isServed = ({ protocol, nodePort }: DesiredPort) => protocol !== 'SCTP' && !(needsNodePort && nodePort === 0);
  const refusals = ports
    .filter((port) => !isServed(port))
    .map(({ protocol, port }) => ({
      ...unsupported(`spec.ports: ${protocol} ${port}, expected ${protocol === 'SCTP' ? 'TCP or UDP' : 'a node port'}`),
      ports: [{ port, protocol }],
    }));
  return { served: ports.filter(isServed), refusals };
}
