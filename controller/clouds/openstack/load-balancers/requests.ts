import type { Owner } from '../../load-balancers.ts';
import type { JsonObject } from '../json.ts';
import type { NewListener, NewLoadBalancer, NewMember, NewMonitor, NewPool, NewPort, StepCall } from './step.ts';
import { octaviaTags, ownerTagsOf, tag } from './tags.ts';

export interface Request {
  readonly service: 'load-balancer' | 'network';
  readonly method: 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly operation: string;
  readonly query?: readonly (readonly [string, string])[];
  readonly body?: JsonObject;
}

/** The ids that a request names and earlier steps have made. */
export interface Resolved {
  readonly owner: Owner;
  readonly pool: string;
  readonly subnetId: string | undefined;
  /** Of the VIP, where neither network, subnet nor port is named. */
  readonly vipSubnetId: string | undefined;
  readonly group: string;
}

const octavia = (method: Request['method'], kind: string, id: string | undefined, body?: JsonObject): Request => ({
  service: 'load-balancer',
  method,
  path: `/lbaas/${kind}${id === undefined ? '' : `/${id}`}`,
  operation: `${method} /lbaas/${kind}${id === undefined ? '' : '/{id}'}`,
  ...(body ? { body } : {}),
});

const neutron = (method: Request['method'], kind: string, id: string | undefined, body?: JsonObject): Request => ({
  service: 'network',
  method,
  path: `/${kind}${id === undefined ? '' : `/${id}`}`,
  operation: `${method} /${kind}${id === undefined ? '' : '/{id}'}`,
  ...(body ? { body } : {}),
});

/** The one mutating request of a step. */
export function requestOf(call: StepCall, resolved: Resolved): Request {
  const { owner } = resolved;
  switch (call.does) {
    case 'create load balancer':
      return octavia('POST', 'loadbalancers', undefined, { loadbalancer: loadBalancerBody(call.body, resolved) });
    case 'update load balancer':
      return octavia('PUT', 'loadbalancers', call.id, { loadbalancer: { tags: call.tags } });
    case 'fail over load balancer': {
      const request = octavia('PUT', 'loadbalancers', call.id);
      return { ...request, path: `${request.path}/failover`, operation: `${request.operation}/failover` };
    }
    case 'delete load balancer':
      return {
        ...octavia('DELETE', 'loadbalancers', call.id),
        ...(call.cascade ? { query: [['cascade', 'true']] } : {}),
      };
    case 'create pool':
      return octavia('POST', 'pools', undefined, {
        pool: { ...poolBody(call.pool), loadbalancer_id: call.loadBalancer },
      });
    case 'update pool': {
      const { algorithm, persistence, tags } = call.change;
      return octavia('PUT', 'pools', call.id, {
        pool: {
          ...(algorithm === undefined ? {} : { lb_algorithm: algorithm }),
          ...(persistence === undefined ? {} : { session_persistence: persistence && persistenceBody(persistence) }),
          ...(tags === undefined ? {} : { tags }),
        },
      });
    }
    case 'delete pool':
      return octavia('DELETE', 'pools', call.id);
    case 'update members':
      return members('PUT', resolved.pool, undefined, {
        members: call.members.map((one) => memberBody(one, resolved)),
      });
    case 'create member':
      return members('POST', resolved.pool, undefined, { member: memberBody(call.member, resolved) });
    case 'update member': {
      const { weight, monitor_port, name, tags } = memberBody(call.member, resolved);
      return members('PUT', call.pool, call.id, { member: { weight, monitor_port: monitor_port ?? null, name, tags } });
    }
    case 'delete member':
      return members('DELETE', call.pool, call.id);
    case 'create health monitor':
      return octavia('POST', 'healthmonitors', undefined, {
        healthmonitor: { ...monitorBody(call.monitor, owner), pool_id: resolved.pool },
      });
    case 'update health monitor': {
      const { type: _, tags: __, name: ___, http_method: ____, ...body } = monitorBody(call.monitor, owner);
      return octavia('PUT', 'healthmonitors', call.id, { healthmonitor: body });
    }
    case 'delete health monitor':
      return octavia('DELETE', 'healthmonitors', call.id);
    case 'create listener': {
      const place = { loadbalancer_id: call.loadBalancer, default_pool_id: resolved.pool };
      return octavia('POST', 'listeners', undefined, { listener: { ...listenerBody(call.listener), ...place } });
    }
    case 'update listener': {
      const { poolId, ...rest } = call.change;
      return octavia('PUT', 'listeners', call.id, {
        listener: { ...listenerFields(rest), ...(poolId === undefined ? {} : { default_pool_id: poolId }) },
      });
    }
    case 'delete listener':
      return octavia('DELETE', 'listeners', call.id);
    case 'create floating IP': {
      const { networkId, subnetId, address, portId, description } = call.body;
      return neutron('POST', 'floatingips', undefined, {
        floatingip: {
          floating_network_id: networkId,
          ...(subnetId === undefined ? {} : { subnet_id: subnetId }),
          ...(address === undefined ? {} : { floating_ip_address: address }),
          ...(portId === undefined ? {} : { port_id: portId }),
          description,
        },
      });
    }
    case 'update floating IP':
      return neutron('PUT', 'floatingips', call.id, {
        floatingip: {
          ...(call.portId === undefined ? {} : { port_id: call.portId }),
          ...(call.description === undefined ? {} : { description: call.description }),
        },
      });
    case 'delete floating IP':
      return neutron('DELETE', 'floatingips', call.id);
    case 'create security group':
      return neutron('POST', 'security-groups', undefined, {
        security_group: { name: call.name, description: call.description },
      });
    case 'update security group':
      return neutron('PUT', 'security-groups', call.id, { security_group: { description: call.description } });
    case 'delete security group':
      return neutron('DELETE', 'security-groups', call.id);
    case 'create security group rule': {
      const { ethertype, protocol, port, prefix } = call.rule;
      return neutron('POST', 'security-group-rules', undefined, {
        security_group_rule: {
          security_group_id: resolved.group,
          direction: 'ingress',
          ethertype,
          protocol,
          port_range_min: port,
          port_range_max: port,
          remote_ip_prefix: prefix,
        },
      });
    }
    case 'delete security group rule':
      return neutron('DELETE', 'security-group-rules', call.id);
    case 'update port':
      // Its groups are read right before, and sent with the revision that they had.
      return neutron('PUT', 'ports', call.id);
  }
}

function members(method: Request['method'], pool: string, id: string | undefined, body?: JsonObject): Request {
  const request = octavia(method, `pools/${pool}/members`, id, body);
  return { ...request, operation: `${method} /lbaas/pools/{id}/members${id === undefined ? '' : '/{id}'}` };
}

function loadBalancerBody(body: NewLoadBalancer, resolved: Resolved): JsonObject {
  const { networkId, subnetId } = body.placement;
  const placed = body.vipPortId !== undefined || networkId !== undefined || subnetId !== undefined;
  return {
    name: body.name,
    description: body.description,
    provider: body.provider,
    tags: body.tags,
    ...(body.flavorId === undefined ? {} : { flavor_id: body.flavorId }),
    ...(body.availabilityZone === undefined ? {} : { availability_zone: body.availabilityZone }),
    ...(body.vipPortId === undefined
      ? { ...(networkId && { vip_network_id: networkId }), ...(subnetId && { vip_subnet_id: subnetId }) }
      : { vip_port_id: body.vipPortId }),
    ...(placed ? {} : { vip_subnet_id: resolved.vipSubnetId }),
    ...(body.vipAddress === undefined ? {} : { vip_address: body.vipAddress }),
    ...(body.ports.length === 0 ? {} : { listeners: body.ports.map((port) => portBody(port, resolved)) }),
  };
}

function portBody({ listener, pool, members, monitor }: NewPort, resolved: Resolved): JsonObject {
  return {
    ...listenerBody(listener),
    default_pool: {
      ...poolBody(pool),
      members: members.map((one) => memberBody(one, resolved)),
      ...(monitor ? { healthmonitor: monitorBody(monitor, resolved.owner) } : {}),
    },
  };
}

function poolBody({ name, protocol, algorithm, persistence, persistenceTimeout, tags }: NewPool): JsonObject {
  return {
    name,
    protocol,
    lb_algorithm: algorithm,
    ...(persistence
      ? { session_persistence: persistenceBody({ type: persistence, timeout: persistenceTimeout }) }
      : {}),
    tags,
  };
}

function persistenceBody({
  type,
  timeout,
}: {
  readonly type: string;
  readonly timeout: number | undefined;
}): JsonObject {
  return { type, ...(timeout === undefined ? {} : { persistence_timeout: timeout }) };
}

function memberBody(
  { name, address, port, weight, monitorPort, subnetId, providerID }: NewMember,
  resolved: Resolved,
): JsonObject {
  const subnet = subnetId ?? resolved.subnetId;
  return {
    name,
    address,
    protocol_port: port,
    weight,
    ...(monitorPort === undefined ? {} : { monitor_port: monitorPort }),
    ...(subnet ? { subnet_id: subnet } : {}),
    tags: [tag(octaviaTags.providerId, providerID)],
  };
}

function monitorBody(
  { name, type, delay, timeout, maxRetries, maxRetriesDown, path }: NewMonitor,
  owner: Owner,
): JsonObject {
  return {
    name,
    type,
    delay,
    timeout,
    max_retries: maxRetries,
    max_retries_down: maxRetriesDown,
    ...(type === 'HTTP' ? { http_method: 'GET', url_path: path ?? '/', expected_codes: '200' } : {}),
    tags: ownerTagsOf(owner),
  };
}

function listenerBody({ name, protocol, port, ...rest }: NewListener): JsonObject {
  const { forwardedFor, allowedCidrs, ...fields } = rest;
  return {
    name,
    protocol,
    protocol_port: port,
    ...listenerFields({
      ...fields,
      ...(forwardedFor ? { forwardedFor } : {}),
      ...(allowedCidrs && allowedCidrs.length > 0 ? { allowedCidrs } : {}),
    }),
  };
}

function listenerFields(fields: Partial<Omit<NewListener, 'name' | 'protocol' | 'port'>>): JsonObject {
  const { connectionLimit, tlsRef, forwardedFor, timeouts, allowedCidrs, tags } = fields;
  return {
    ...(connectionLimit === undefined ? {} : { connection_limit: connectionLimit }),
    ...(tlsRef === undefined ? {} : { default_tls_container_ref: tlsRef }),
    ...(forwardedFor === undefined ? {} : { insert_headers: { 'X-Forwarded-For': String(forwardedFor) } }),
    ...(timeouts === undefined
      ? {}
      : {
          timeout_client_data: timeouts.clientData,
          timeout_member_connect: timeouts.memberConnect,
          timeout_member_data: timeouts.memberData,
          timeout_tcp_inspect: timeouts.tcpInspect,
        }),
    ...(allowedCidrs === undefined ? {} : { allowed_cidrs: allowedCidrs }),
    ...(tags === undefined ? {} : { tags }),
  };
}
