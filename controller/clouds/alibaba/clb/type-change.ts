import { type Desire, type Found, nameOf, type Want } from '../../../engine/resource.ts';
import type { DesireInput } from '../../load-balancer-driver.ts';
import { allAsItStands } from '../../standing.ts';
import { isNetwork } from '../nlb/found.ts';
import { groupKeyOf, serversFor } from './desire.ts';
import { type Group, kindNames, type Servers } from './found.ts';

/**
 * Another type is another load balancer with another address. Until that is allowed, and while the other one would
 * serve no port, the one that stands serves on, and its servers follow the members. Pure.
 */
export function untilMoved(desire: Desire, { desired, own }: DesireInput, toNetwork: boolean): Desire {
  const held = own();
  const main = held.find(({ kind }) => kind === kindNames.balancer);
  const want = desire.wants.find(({ kind }) => kind === kindNames.balancer);
  if (main === undefined || want === undefined || want.leaveUnchanged || isNetwork(main.id) === toNetwork)
    return desire;
  const listener = toNetwork ? kindNames.networkListener : kindNames.listener;
  const isServing = desire.wants.some(({ kind }) => kind === listener);
  if (desired.mayChangeAddress && isServing) return desire;
  const [, ...parts] = allAsItStands(want, held);
  const servers = new Map(held.filter(({ body }) => isGroup(body)).map((one) => [nameOf(one), one.body as Servers]));
  return {
    ...desire,
    wants: [
      desired.mayChangeAddress ? { ...want, leaveUnchanged: true } : want,
      ...parts.map((part) => followed(part, servers.get(nameOf(part)))),
    ],
  };

  function followed({ leaveUnchanged, ...part }: Want, there: Servers | undefined): Want {
    // The key of a group of a network one has its protocol, too.
    const [key] = part.key.split('.');
    const port = desired.ports.find((one) => groupKeyOf(one, desired) === key);
    if (there === undefined || port === undefined) return { ...part, leaveUnchanged: true };
    const { name = part.key } = there as Partial<Group>;
    return { ...part, spec: { name, servers: serversFor(port, desired, there.servers) } };
  }
}

function isGroup(body: Found['body']): boolean {
  return typeof body === 'object' && body !== null && 'servers' in body;
}
