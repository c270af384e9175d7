import type { Json } from '../fake-http.ts';
import { datacentreOf, type FakeLocation, serverType } from './fake-catalog.ts';

export interface FakeServer {
  readonly id: number;
  readonly name: string;
  readonly created: string;
  readonly place: FakeLocation;
  status: string;
  ipv4: string | undefined;
  ipv6: string | undefined;
  privateNets: { network: number; ip: string; alias_ips: string[] }[];
  labels: Json;
}

/** @param datacentre as answers were before the API left it out */
export function showServer(server: FakeServer, balancers: readonly number[], datacentre: boolean): Json {
  const { id, name, created, place, status, ipv4, ipv6, privateNets, labels } = server;
  return {
    id,
    name,
    created,
    status,
    labels,
    server_type: serverType,
    location: place,
    ...(datacentre ? { datacenter: datacentreOf(place) } : {}),
    public_net: {
      ipv4:
        ipv4 === undefined
          ? null
          : { id: id + 1, ip: ipv4, blocked: false, dns_ptr: `static.${ipv4}.clients.your-server.de` },
      ipv6: ipv6 === undefined ? null : { id: id + 2, ip: ipv6, blocked: false, dns_ptr: [] },
      floating_ips: [],
      firewalls: [],
    },
    private_net: privateNets.map((net) => ({ ...net, mac_address: '86:00:ff:2a:7d:e1' })),
    image: null,
    iso: null,
    rescue_enabled: false,
    locked: false,
    backup_window: null,
    placement_group: null,
    outgoing_traffic: 123_456,
    ingoing_traffic: 123_456,
    included_traffic: 654_321,
    primary_disk_size: 40,
    protection: { delete: false, rebuild: false },
    volumes: [],
    load_balancers: balancers,
  };
}
