import { randomUUID } from 'node:crypto';
import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import { FakeRefusal, markerPage, request_id } from './fake-api.ts';
import type { FakeEip } from './fake-balancing.ts';
import type { FakeProject } from './fake-project.ts';

const at = '2026-02-08T16:02:37Z';

/** `/v1/{project}/publicips/...`: made and deleted. */
export function answerEips(fake: FakeProject, [id]: readonly string[], call: FakeCall): FakeAnswer {
  const { eips } = fake.balancing;
  if (id === undefined && call.method === 'POST') {
    const one = makeEip(fake, call.body);
    const { type, alias, address, bandwidth } = one;
    const shown = { id: one.id, type, alias, public_ip_address: address, status: 'PENDING_CREATE', ip_version: 4 };
    return {
      status: 200,
      body: {
        publicip: { ...shown, tenant_id: fake.project, create_time: at, bandwidth_size: bandwidth['size'] ?? 0 },
      },
    };
  }
  const one = eips.get(id ?? '');
  if (one === undefined) throw new FakeRefusal(404, 'VPC.0504', `publicip ${id} could not be found.`, 'plain');
  if (call.method !== 'DELETE') throw new FakeRefusal(405, 'VPC.0001', call.method, 'plain');
  if (one.on !== '') throw new FakeRefusal(409, 'VPC.0510', `publicip ${id} is in use`, 'plain');
  eips.delete(one.id);
  return { status: 204 };
}

function makeEip({ balancing }: FakeProject, body: Json): FakeEip {
  const { publicip, bandwidth } = body as { readonly publicip?: Json; readonly bandwidth?: Json };
  const { type, alias = '' } = publicip ?? {};
  if (typeof type !== 'string' || bandwidth === undefined) throw new FakeRefusal(400, 'VPC.0501', 'invalid', 'plain');
  if (!/^[\w.-]{0,64}$/.test(String(alias))) throw new FakeRefusal(400, 'VPC.0501', 'alias is invalid', 'plain');
  const isWhole = bandwidth['share_type'] === 'WHOLE' && bandwidth['id'] !== undefined;
  const isPer = bandwidth['share_type'] === 'PER' && Number(bandwidth['size']) > 0 && bandwidth['name'] !== undefined;
  if (!isWhole && !isPer) throw new FakeRefusal(400, 'VPC.0502', 'bandwidth is invalid', 'plain');
  const id = randomUUID();
  const number = balancing.eips.size + 1;
  const address = `198.51.${100 + (number >> 8)}.${number % 256}`;
  const one: FakeEip = { id, address, type, alias: String(alias), description: '', bandwidth, on: '' };
  balancing.eips.set(id, one);
  return one;
}

/** `/v3/{project}/eip/publicips/...`: read, described and bound. */
export function answerEipsV3(fake: FakeProject, [id, action]: readonly string[], call: FakeCall): FakeAnswer {
  const { eips, loadbalancers } = fake.balancing;
  if (id === undefined) {
    const page = markerPage(
      'publicips',
      [...eips.values()].map((one) => shownOf(fake, one)),
      call,
    );
    const total = eips.size;
    return {
      ...page,
      body: { ...(page.body as Json), total_count: total, request_id, page_info: { current_count: total } },
    };
  }
  const one = eips.get(id);
  if (one === undefined) throw new FakeRefusal(404, 'EIP.7904', `publicip ${id} could not be found.`);
  const given = (call.body['publicip'] ?? {}) as Json;
  if (call.method === 'PUT') {
    const { alias, description } = given;
    if (alias !== undefined && !/^[\w.-]{0,64}$/.test(String(alias))) throw new FakeRefusal(400, 'EIP.7902', 'alias');
    one.alias = String(alias ?? one.alias);
    one.description = String(description ?? one.description);
  } else if (action === 'associate-instance') {
    const balancer = String(given['associate_instance_id']);
    if (given['associate_instance_type'] !== 'ELB' || !loadbalancers.has(balancer))
      throw new FakeRefusal(404, 'EIP.7905', `instance ${balancer} could not be found.`);
    const isFree = one.on === '' && ![...eips.values()].some((each) => each.on === balancer);
    if (!isFree && one.on !== balancer) throw new FakeRefusal(409, 'EIP.7907', 'already associated');
    one.on = balancer;
  } else if (action === 'disassociate-instance') {
    if (one.on === '') throw new FakeRefusal(409, 'EIP.7908', 'not associated');
    one.on = '';
  } else if (call.method !== 'GET') throw new FakeRefusal(405, 'EIP.7901', call.method);
  return { status: 200, body: { publicip: shownOf(fake, one), request_id } };
}

function shownOf({ balancing, project }: FakeProject, one: FakeEip): Json {
  const balancer = balancing.loadbalancers.get(one.on);
  const vnic = {
    private_ip_address: balancer?.['vip_address'],
    port_id: balancer?.['vip_port_id'],
    device_id: '',
    device_owner: 'neutron:LOADBALANCERV2',
    vpc_id: balancer?.['vpc_id'],
  };
  return {
    id: one.id,
    alias: one.alias,
    description: one.description,
    public_ip_address: one.address,
    ip_version: 4,
    project_id: project,
    status: one.on === '' ? 'DOWN' : 'ACTIVE',
    type: 'EIP',
    enterprise_project_id: '0',
    publicip_pool_name: one.type,
    created_at: at,
    updated_at: at,
    public_border_group: 'center',
    bandwidth: { id: one.id, size: one.bandwidth['size'] ?? 0, share_type: one.bandwidth['share_type'] },
    associate_instance_type: one.on === '' ? null : 'ELB',
    associate_instance_id: one.on === '' ? null : one.on,
    vnic: balancer === undefined ? null : vnic,
  };
}

/** `/v1/{project}/subnets` */
export function answerSubnets({ balancing }: FakeProject, call: FakeCall): FakeAnswer {
  const vpc = call.query.get('vpc_id');
  const all = balancing.subnets
    .filter((one) => vpc === null || one.vpc === vpc)
    .map((one) => ({
      id: one.id,
      name: one.name,
      cidr: one.cidr,
      vpc_id: one.vpc,
      neutron_network_id: one.id,
      description: '',
      neutron_subnet_id: one.neutron,
      status: 'ACTIVE',
      dhcp_enable: true,
      gateway_ip: '192.168.0.1',
    }));
  return markerPage('subnets', all, call);
}
