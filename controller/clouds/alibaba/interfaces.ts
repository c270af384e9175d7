import { canonical } from '../ip-address.ts';
import { chunks, inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import { callsAtOnce } from './balancer-reads.ts';
import type { Server } from './clb/found.ts';
import type { AlibabaClient } from './client.ts';
import type { Place } from './place.ts';

export type Interfaces = ReturnType<typeof createInterfaces>;

/** The most that one call takes. */
const addressesAtOnce = 100;
/** Those that are attached. */
const Status = 'InUse';

/** Network interfaces of the VPC. */
export function createInterfaces(client: Pick<AlibabaClient, 'list'>, place: Pick<Place, 'vpc'>) {
  return {
    /** Those with these private IPv4 addresses, as `podOf` reads them. Complete, or throws a CloudError. */
    async of(
      addresses: readonly string[],
      signal?: AbortSignal,
      urgency?: Urgency,
    ): Promise<ReadonlyMap<string, string>> {
      const VpcId = await place.vpc(signal);
      const lists = await inParallel(callsAtOnce, chunks(addresses, addressesAtOnce), (some) =>
        client.list({
          product: 'ecs',
          action: 'DescribeNetworkInterfaces',
          params: { VpcId, Status, PrivateIpAddress: some },
          urgency,
          signal,
          items: ['NetworkInterfaceSets', 'NetworkInterfaceSet'],
        }),
      );
      const asked = new Set(addresses);
      return new Map(
        lists.flat().flatMap((one) =>
          (one.optionalObject('PrivateIpSets')?.optionalObjects('PrivateIpSet') ?? [])
            .map((each) => canonical(each.text('PrivateIpAddress')))
            .filter((ip) => asked.has(ip))
            .map((ip) => [ip, `${one.text('NetworkInterfaceId')}/${ip}`] as const),
        ),
      );
    },
  };
}

/** A pod as a server, from the providerID of its member. */
export function podOf(providerID: string): Pick<Server, 'id' | 'other'> | undefined {
  const [, id, ip] = /^(eni-[0-9a-z]+)\/([\d.]+)$/.exec(providerID) ?? [];
  return id === undefined || ip === undefined ? undefined : { id, other: { type: 'eni', ip } };
}
