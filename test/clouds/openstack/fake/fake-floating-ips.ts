import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { answerJson, answerNeutronError, answerPage } from './answers.ts';
import type { FakeCall, FakeOpenStack } from './openstack-state.ts';

export interface FakeFloatingIp {
  readonly id: string;
  readonly address: string;
  readonly networkId: string;
  portId: string | null;
  description: string;
  tags: readonly string[];
  revision?: number;
}

export interface FakeGroupRule {
  readonly id: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface FakeGroup {
  readonly id: string;
  name: string;
  description: string;
  readonly rules: FakeGroupRule[];
}

/** Floating IPs and security groups of Neutron. */
export interface FakeEdge {
  readonly floatingIps: Map<string, FakeFloatingIp>;
  readonly groups: Map<string, FakeGroup>;
  /** An administrator's; 403 otherwise. */
  mayNameAddresses: boolean;
  /** Subnets without a free address. */
  readonly fullSubnets: Set<string>;
}

type Json = Readonly<Record<string, unknown>>;

export function addFloatingIps(fake: FakeOpenStack): FakeEdge {
  const edge: FakeEdge = { floatingIps: new Map(), groups: new Map(), mayNameAddresses: false, fullSubnets: new Set() };
  fake.more.push((call, response) => {
    if (call.service !== 'network') return undefined;
    const [, collection] = call.path.split('/');
    if (collection === 'floatingips') return floatingIps(fake, edge, call, response);
    if (collection === 'security-groups') return groups(fake, edge, call, response);
    return collection === 'security-group-rules' ? rules(edge, call, response) : undefined;
  });
  return edge;
}

export function floatingIpFor(fake: FakeOpenStack, edge: FakeEdge, fields: Partial<FakeFloatingIp>): FakeFloatingIp {
  const taken = new Set([...edge.floatingIps.values()].map(({ address }) => address));
  let host = 10;
  while (taken.has(`203.0.113.${host}`)) host += 1;
  const networkId = [...fake.externalNetworks][0] ?? '';
  const common = { id: randomUUID(), address: `203.0.113.${host}`, networkId, portId: null, description: '', tags: [] };
  const one: FakeFloatingIp = { ...common, ...fields };
  edge.floatingIps.set(one.id, one);
  return one;
}

/** Those of a port that is not there any more are attached to nothing. */
function json(fake: FakeOpenStack, one: FakeFloatingIp): Json {
  const port = fake.ports.find(({ id }) => id === one.portId);
  if (!port) one.portId = null;
  return {
    id: one.id,
    floating_ip_address: one.address,
    floating_network_id: one.networkId,
    port_id: one.portId,
    fixed_ip_address: port?.ips[0] ?? null,
    router_id: port ? 'router-1' : null,
    status: port ? 'ACTIVE' : 'DOWN',
    description: one.description,
    tags: one.tags,
    revision_number: one.revision ?? 0,
    project_id: 'p1',
  };
}

function floatingIps(fake: FakeOpenStack, edge: FakeEdge, call: FakeCall, response: ServerResponse): 'answered' {
  const { method, path, query } = call;
  const [, , id = ''] = path.split('/');
  const request = call.body === '' ? {} : (JSON.parse(call.body) as { floatingip: Json }).floatingip;
  const busy = (port: unknown, but?: string) =>
    [...edge.floatingIps.values()].some(
      (one) => one.portId === port && port !== null && port !== undefined && one.id !== but,
    );
  const conflict = () =>
    answerNeutronError(
      response,
      409,
      'FloatingIPPortAlreadyAssociated',
      `Cannot associate floating IP with port ${String(request['port_id'])}, as that fixed IP already has a floating ` +
        'IP on external network.',
    );
  if (id === '' && method === 'GET') {
    const items = [...edge.floatingIps.values()].map((one) => json(fake, one)).filter(matching(query));
    answerPage(
      fake.pageSize,
      response,
      new URL(`http://neutron${path}?${query}`),
      'floatingips',
      items as Record<string, unknown>[],
    );
    return 'answered';
  }
  if (id === '') {
    if (request['floating_ip_address'] && !edge.mayNameAddresses) {
      const message = '(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy';
      return answerNeutronError(response, 403, 'PolicyNotAuthorized', message);
    }
    if (edge.fullSubnets.has(String(request['subnet_id']))) {
      return answerNeutronError(
        response,
        409,
        'IpAddressGenerationFailure',
        'No more IP addresses available on network.',
      );
    }
    if (!fake.externalNetworks.has(String(request['floating_network_id']))) {
      return answerNeutronError(
        response,
        400,
        'BadRequest',
        `Network ${String(request['floating_network_id'])} is not a valid external network`,
      );
    }
    for (const one of edge.floatingIps.values()) json(fake, one);
    if (busy(request['port_id'])) return conflict();
    const made = floatingIpFor(fake, edge, {
      networkId: String(request['floating_network_id']),
      portId: (request['port_id'] as string | undefined) ?? null,
      description: String(request['description'] ?? ''),
      ...(request['floating_ip_address'] ? { address: String(request['floating_ip_address']) } : {}),
    });
    return answerJson(response, 201, { floatingip: json(fake, made) });
  }
  const one = edge.floatingIps.get(id);
  if (!one) return answerNeutronError(response, 404, 'FloatingIPNotFound', `Floating IP ${id} could not be found`);
  if (method === 'DELETE') {
    edge.floatingIps.delete(id);
    response.writeHead(204, {});
    response.end('');
    return 'answered';
  }
  if (method === 'PUT') {
    if (busy(request['port_id'], id)) return conflict();
    const asked = /^revision_number=(\d+)$/.exec(String(call.headers['if-match'] ?? ''))?.[1];
    if (asked !== undefined && Number(asked) !== (one.revision ?? 0)) {
      const message = `Constrained to ${asked}, but current revision is ${one.revision ?? 0}`;
      return answerNeutronError(response, 412, 'RevisionNumberConstraintFailed', message);
    }
    one.revision = (one.revision ?? 0) + 1;
    if ('port_id' in request) one.portId = request['port_id'] as string | null;
    if ('description' in request) one.description = String(request['description']);
  }
  return answerJson(response, 200, { floatingip: json(fake, one) });
}

function ruleJson(group: FakeGroup, { id, fields }: FakeGroupRule): Json {
  return {
    id,
    security_group_id: group.id,
    remote_ip_prefix: null,
    remote_group_id: null,
    protocol: null,
    port_range_min: null,
    port_range_max: null,
    ...fields,
  };
}

function groupJson(group: FakeGroup): Json {
  const { id, name, description } = group;
  return {
    id,
    name,
    description,
    stateful: true,
    tags: [],
    security_group_rules: group.rules.map((rule) => ruleJson(group, rule)),
  };
}

function groups(fake: FakeOpenStack, edge: FakeEdge, call: FakeCall, response: ServerResponse): 'answered' {
  const { method, path, query } = call;
  const [, , id = ''] = path.split('/');
  const request = call.body === '' ? {} : (JSON.parse(call.body) as { security_group: Json }).security_group;
  if (id === '' && method === 'GET') {
    const items = [...edge.groups.values()].map(groupJson).filter(matching(query));
    answerPage(
      fake.pageSize,
      response,
      new URL(`http://neutron${path}?${query}`),
      'security_groups',
      items as Record<string, unknown>[],
    );
    return 'answered';
  }
  if (id === '') {
    const egress = (ethertype: string) => ({ id: randomUUID(), fields: { direction: 'egress', ethertype } });
    const made: FakeGroup = {
      id: randomUUID(),
      name: String(request['name']),
      description: String(request['description'] ?? ''),
      rules: [egress('IPv4'), egress('IPv6')],
    };
    edge.groups.set(made.id, made);
    return answerJson(response, 201, { security_group: groupJson(made) });
  }
  const one = edge.groups.get(id);
  if (!one) return answerNeutronError(response, 404, 'SecurityGroupNotFound', `Security group ${id} does not exist`);
  if (method === 'DELETE') {
    if (fake.ports.some(({ securityGroups = [] }) => securityGroups.includes(id))) {
      return answerNeutronError(response, 409, 'SecurityGroupInUse', `Security Group ${id} in use.`);
    }
    edge.groups.delete(id);
    response.writeHead(204, {});
    response.end('');
    return 'answered';
  }
  if (method === 'PUT' && 'description' in request) one.description = String(request['description']);
  return answerJson(response, 200, { security_group: groupJson(one) });
}

/** What Neutron takes for the same rule. */
function ruleKey(fields: Json): string {
  const { remote_ip_prefix: prefix, protocol } = fields;
  const isAnywhere = prefix === '0.0.0.0/0' || prefix === '::/0';
  const number = { tcp: '6', udp: '17', sctp: '132' }[String(protocol)] ?? protocol;
  const names = ['direction', 'ethertype', 'port_range_min', 'port_range_max', 'remote_group_id'];
  const rest = [...names, 'remote_address_group_id'].map((name) => fields[name]);
  return [...rest, number, isAnywhere ? null : prefix].join();
}

function rules(edge: FakeEdge, call: FakeCall, response: ServerResponse): 'answered' {
  const [, , id = ''] = call.path.split('/');
  if (call.method === 'DELETE') {
    for (const group of edge.groups.values()) {
      const at = group.rules.findIndex((rule) => rule.id === id);
      if (at < 0) continue;
      group.rules.splice(at, 1);
      response.writeHead(204, {});
      response.end('');
      return 'answered';
    }
    return answerNeutronError(response, 404, 'SecurityGroupRuleNotFound', `Security group rule ${id} does not exist`);
  }
  // Several in one call are made together, or none of them.
  const { security_group_rule: single, security_group_rules: several } = JSON.parse(call.body) as Record<
    string,
    Json
  > & {
    readonly security_group_rules?: readonly Json[];
  };
  const asked = (several ?? [single ?? {}]).map(({ security_group_id: groupId, ...fields }) => ({
    group: edge.groups.get(String(groupId)),
    groupId,
    fields,
  }));
  for (const { group, groupId, fields } of asked) {
    if (!group) {
      const message = `Security group ${String(groupId)} does not exist`;
      return answerNeutronError(response, 404, 'SecurityGroupNotFound', message);
    }
    const same = group.rules.find((rule) => ruleKey(rule.fields) === ruleKey(fields));
    if (same) {
      const message = `Security group rule already exists. Rule id is ${same.id}.`;
      return answerNeutronError(response, 409, 'SecurityGroupRuleExists', message);
    }
  }
  const made = asked.map(({ group, fields }) => {
    const rule: FakeGroupRule = { id: randomUUID(), fields };
    group!.rules.push(rule);
    return ruleJson(group!, rule);
  });
  return answerJson(response, 201, several ? { security_group_rules: made } : { security_group_rule: made[0] });
}

function matching(query: URLSearchParams): (item: Json) => boolean {
  const names = [...new Set(query.keys())].filter((name) => !['fields', 'limit', 'marker'].includes(name));
  return (item) => names.every((name) => query.getAll(name).includes(String(item[name])));
}
