import { randomUUID } from 'node:crypto';
import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import { absent, bad, FakeRefusal, request_id } from './fake-api.ts';
import { firstOf, type Wire } from './fake-balancing.ts';
import type { FakeProject } from './fake-project.ts';
import type { FakeServer } from './fake-server.ts';

/** `/v3/{project}/elb/pools/{pool}/members/...` */
export function answerMembers(fake: FakeProject, pool: Wire, action: string | undefined, call: FakeCall): FakeAnswer {
  const { members } = fake.balancing;
  const mine = [...members.values()].filter((one) => one.pool === pool.id);
  const shown = ({ pool: _, ...one }: Wire & { readonly pool: string }): Json => one;
  if (action === undefined && call.method === 'GET')
    return { status: 200, body: { members: mine.map(shown), page_info: { current_count: mine.length }, request_id } };
  const sent = (call.body['members'] ?? []) as readonly Json[];
  if (call.method !== 'POST' || sent.length === 0 || sent.length > 200) throw bad('members is invalid');
  if (action === 'batch-add') {
    // All of it, or nothing.
    const made = sent.map((one) => newMember(fake, pool, one));
    for (const one of made) {
      if (mine.some((each) => each['address'] === one['address'] && each['protocol_port'] === one['protocol_port']))
        throw new FakeRefusal(409, 'ELB.8907', `member ${one['address']} already exists`);
      members.set(one.id, one);
    }
    return {
      status: 201,
      body: { members: made.map((one) => ({ ...batched(one), ret_status: 'successful' })), request_id },
    };
  }
  const named = sent.map(({ id }) => {
    const one = members.get(String(id));
    if (one?.pool !== pool.id) throw absent('member', String(id));
    return one;
  });
  if (action === 'batch-update')
    for (const [at, one] of named.entries()) if ('weight' in sent[at]!) one['weight'] = sent[at]!['weight'];
  if (action === 'batch-delete') for (const { id } of named) members.delete(id);
  const states = named.map((one) =>
    action === 'batch-delete' ? { id: one.id, ret_status: 'successful' } : updated(one),
  );
  return { status: 200, body: { members: states, request_id } };
}

/** Without what an answer to many does not tell. */
function batched(one: Wire & { readonly pool: string }): Json {
  const { pool: _, ip_version: _version, ...rest } = one;
  return rest;
}

function updated({ id, name, admin_state_up, address, protocol_port, weight, subnet_cidr_id }: Wire): Json {
  return { id, name, admin_state_up, address, protocol_port, weight, subnet_cidr_id };
}

function newMember({ balancing, servers, project }: FakeProject, pool: Wire, body: Json) {
  const { address, protocol_port: port, subnet_cidr_id: subnet, weight = 1, name = '' } = body;
  const balancer = balancing.loadbalancers.get(firstOf(pool, 'loadbalancers'));
  if (subnet === undefined && balancer?.['ip_target_enable'] !== true) throw bad('subnet_cidr_id is required');
  if (subnet !== undefined && !balancing.subnets.some(({ neutron }) => neutron === subnet))
    throw absent('subnet', String(subnet));
  if (!(Number(port) >= 1 && Number(port) <= 65_535)) throw bad('protocol_port is invalid');
  const isOf = (one: FakeServer) => one.address === address || one.further?.includes(String(address));
  // What is in no subnet is an address, of no ECS.
  const server = subnet === undefined ? undefined : [...servers.values()].find(isOf);
  return {
    id: randomUUID(),
    pool: pool.id,
    name,
    address,
    protocol_port: port,
    weight,
    project_id: project,
    admin_state_up: subnet === undefined || server !== undefined,
    ip_version: 'v4',
    operating_status: 'NO_MONITOR',
    status: [],
    member_type: subnet === undefined ? 'ip' : 'instance',
    instance_id: server?.id ?? '',
    ...(subnet !== undefined && { subnet_cidr_id: subnet }),
    created_at: '2026-02-08T16:02:37Z',
    updated_at: '2026-02-08T16:02:37Z',
  };
}
