import ipaddr from 'ipaddr.js';
import type { Kind } from '../../../engine/resource.ts';
import type { HetznerClient } from '../client.ts';
import { type Balancer, kindNames } from './balancer.ts';
import { act } from './calls.ts';

export interface NetworkSpec {
  readonly network: string;
  readonly ip: string | undefined;
  readonly subnet: string | undefined;
}

/** That a load balancer is in the private network. It can be in one. */
export function networkKind(client: HetznerClient): Kind<NetworkSpec, Balancer['networks'][number]> {
  return {
    kind: kindNames.network,
    within: kindNames.balancer,
    inline: true,
    retryCreate: 'atOnce',
    // A load balancer cannot be made with an address of one's choice.
    needsOwnCreate: ({ spec: { ip, subnet } }) => ip !== undefined || subnet !== undefined,
    compare({ body }, { ip, subnet }) {
      const isIn = (range: string) => ipaddr.parse(body.ip).match(ipaddr.parseCIDR(range));
      if (ip !== undefined && ip !== body.ip) return { replace: `${body.ip} to ${ip}`, order: 'deleteFirst' };
      if (subnet !== undefined && !isIn(subnet))
        return { replace: `${body.ip} is not in ${subnet}`, order: 'deleteFirst' };
      return { same: true };
    },
    create({ spec: { network, ip, subnet } }, _inside, io) {
      const body = { network: Number(network), ...(ip && { ip }), ...(!ip && subnet && { ip_range: subnet }) };
      return act(client, io.within!, 'attach_to_network', body, io);
    },
    remove: ({ body, within }, io) =>
      act(client, within!, 'detach_from_network', { network: Number(body.network) }, io),
  };
}
