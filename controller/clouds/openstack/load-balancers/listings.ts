import type { Urgency } from '../../urgency.ts';
import type { OpenStackClient, Query } from '../client.ts';
import { faultOf } from '../fault.ts';
import {
  readFloatingIp,
  readGroup,
  readListener,
  readLoadBalancer,
  readMember,
  readMonitor,
  readNodePort,
  readPool,
} from './answer.ts';

/** All of a collection that fit a query. Throws a CloudError. */
export type List = <Item>(
  what: Listing<Item>,
  query: Query,
  signal?: AbortSignal,
  urgency?: Urgency,
) => Promise<Item[]>;

export interface Listing<Item> {
  readonly service: 'load-balancer' | 'network';
  readonly path: string;
  readonly operation: string;
  readonly collection: string;
  readonly read: (json: unknown, operation: string) => Item;
  readonly fields?: readonly string[];
  /** Not every cloud has it. */
  readonly optional?: boolean;
}

function listing<Item>(
  service: Listing<Item>['service'],
  path: string,
  read: Listing<Item>['read'],
  fields?: readonly string[],
  shown = path,
): Listing<Item> {
  const collection = path.slice(path.lastIndexOf('/') + 1).replaceAll('-', '_');
  return { service, path, operation: `GET ${shown}`, collection, read, ...(fields ? { fields } : {}) };
}

export const listings = {
  loadBalancers: listing('load-balancer', '/lbaas/loadbalancers', readLoadBalancer),
  listeners: listing('load-balancer', '/lbaas/listeners', readListener),
  pools: listing('load-balancer', '/lbaas/pools', readPool),
  monitors: listing('load-balancer', '/lbaas/healthmonitors', readMonitor),
  members: (pool: string) =>
    listing('load-balancer', `/lbaas/pools/${pool}/members`, readMember, undefined, '/lbaas/pools/{id}/members'),
  floatingIps: {
    ...listing('network', '/floatingips', readFloatingIp, [
      ...['id', 'floating_ip_address', 'floating_network_id', 'port_id', 'description', 'tags'],
    ]),
    optional: true,
  },
  groups: listing('network', '/security-groups', readGroup, ['id', 'name', 'description', 'security_group_rules']),
  ports: listing('network', '/ports', readNodePort, [
    ...['id', 'device_id', 'fixed_ips', 'security_groups', 'port_security_enabled', 'revision_number'],
  ]),
} as const;

export function listsOf(client: OpenStackClient): List {
  return async function list<Item>(
    what: Listing<Item>,
    query: Query,
    signal?: AbortSignal,
    urgency: Urgency = 'need',
  ): Promise<Item[]> {
    const { service, path, operation, collection, read, fields = [], optional = false } = what;
    const asked: Query = [['limit', '1000'], ...query, ...fields.map((name) => ['fields', name] as const)];
    const { items, failure } = await client.list(
      { service, path, operation, query: asked, urgency, signal },
      collection,
    );
    // A Neutron without routers has no floating IPs.
    if (failure !== undefined && optional && faultOf(failure)?.type === 'HTTPNotFound') return [];
    if (failure !== undefined) throw failure;
    return items.map((item) => read(item, operation));
  };
}
