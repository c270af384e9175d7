import { CloudError } from '../../../../common/cloud-error.ts';
import type { Clock } from '../../../../common/process/clock.ts';
import type { ReadIo } from '../../../engine/resource.ts';
import { textsIn } from '../json.ts';
import type { Neutron } from './neutron.ts';

/** An address of a server. */
export interface ServerAddress {
  /** Id. */
  readonly server: string;
  readonly address: string;
}

export interface ServerAddresses {
  /**
   * Id of the subnet of the first of these addresses that a port of its server has: two networks of one project may
   * have one range. Kept for an hour.
   *
   * @throws CloudError `Invalid` where no port has any of them
   */
  subnetOf(near: readonly ServerAddress[], io: ReadIo): Promise<string>;
  /** Server by address, without those that two servers have. Throws a CloudError. */
  serversOf(addresses: readonly string[], io: ReadIo): Promise<ReadonlyMap<string, string>>;
}

const keepMs = 3_600_000;

export function createServerAddresses(neutron: Neutron, clock: Clock): ServerAddresses {
  const subnets = new Map<string, { readonly id: string; readonly atMs: number }>();
  const keyOf = ({ server, address }: ServerAddress) => `${server} ${address}`;
  const known = (near: readonly ServerAddress[]) => near.flatMap((one) => subnets.get(keyOf(one))?.id ?? [])[0];

  async function read(near: readonly ServerAddress[], io: ReadIo): Promise<void> {
    const servers = [...new Set(near.map(({ server }) => server))].map((id) => ['device_id', id] as const);
    const ports = servers.length === 0 ? [] : await neutron.list('ports', servers, ['fixed_ips'], io, 'change');
    const ips = ports.flatMap((port) => port.optionalObjects('fixed_ips'));
    const atMs = clock.monotonic();
    for (const one of near) {
      const id = ips.find((ip) => ip.text('ip_address') === one.address)?.optionalText('subnet_id');
      if (id !== undefined) subnets.set(keyOf(one), { id, atMs });
    }
  }

  return {
    async subnetOf(near, io) {
      const nowMs = clock.monotonic();
      for (const [key, { atMs }] of subnets) if (nowMs - atMs > keepMs) subnets.delete(key);
      if (known(near) === undefined) await read(near, io);
      const id = known(near);
      if (id !== undefined) return id;
      const addresses = near.map(({ address }) => address).join(', ');
      const why = `no port has any of the members' addresses ${addresses}`;
      const message = `no subnet for the VIP: name subnet-id in the cloud config; ${why}`;
      throw new CloudError({ kind: 'Invalid', cloud: 'openstack', operation: 'create load balancer', message });
    },
    async serversOf(addresses, io) {
      const ports = await neutron.list('ports', [], ['device_id', 'fixed_ips'], io);
      const servers = new Map(addresses.map((address) => [address, new Set<string>()]));
      for (const port of ports) {
        const server = port.optionalText('device_id');
        if (server === undefined) continue;
        for (const address of textsIn(port, 'fixed_ips', 'ip_address')) servers.get(address)?.add(server);
      }
      return new Map(
        [...servers].flatMap(([address, [one, ...more]]) => (one && more.length === 0 ? [[address, one]] : [])),
      );
    },
  };
}
