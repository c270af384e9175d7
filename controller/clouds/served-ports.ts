import type { Refusal } from '../engine/resource.ts';
import type { DesiredLoadBalancer, DesiredPort, Protocol } from './load-balancers.ts';

export function unsupported(message: string): Refusal {
  return { reason: 'Unsupported', message };
}

/**
 * The ports that a load balancer for these protocols to node ports can serve, and a refusal for each other one. Pure.
 *
 * @param needsNodePort false where members are reached by the port of a connection
 */
export function servedPorts(
  { ports }: Pick<DesiredLoadBalancer, 'ports'>,
  needsNodePort = true,
  protocols: readonly Protocol[] = ['TCP', 'UDP'],
): { readonly served: DesiredPort[]; readonly refusals: Refusal[] } {
  const isServed = ({ protocol, nodePort }: DesiredPort) =>
    protocols.includes(protocol) && !(needsNodePort && nodePort === 0);
  const refusals = ports
    .filter((port) => !isServed(port))
    .map(({ protocol, port }) => {
      const expected = protocols.includes(protocol) ? 'a node port' : protocols.join(' or ');
      const refusal = unsupported(`spec.ports: ${protocol} ${port}, expected ${expected}`);
      return { ...refusal, ports: [{ port, protocol }] };
    });
  return { served: ports.filter(isServed), refusals };
}
