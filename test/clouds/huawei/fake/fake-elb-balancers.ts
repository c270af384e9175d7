import { randomUUID } from 'node:crypto';
import type { Json } from '../../fake-http.ts';
import { bad, FakeRefusal } from './fake-api.ts';
import { type FakeBalancing, firstOf, type Wire } from './fake-balancing.ts';
import type { FakeProject } from './fake-project.ts';

const at = '2026-02-08T16:02:37Z';

/** A dedicated one, which is all that the newer API makes. */
export function makeBalancer(fake: FakeProject, body: Json): Wire {
  const { guaranteed = true, availability_zone_list: zones, vip_subnet_cidr_id: subnet } = body;
  if (guaranteed !== true) throw bad('guaranteed can only be true');
  if (!Array.isArray(zones) || zones.length === 0) throw bad('availability_zone_list is required');
  return added(fake, String(subnet ?? ''), { ...body, guaranteed: true });
}

/** A shared one, in the words of the older API. */
export function makeShared(fake: FakeProject, body: Json): Json {
  const { vip_subnet_id: subnet, provider = 'vlb', ...fields } = body;
  if (provider !== 'vlb') throw bad('provider is invalid');
  if ('tags' in body) throw bad('tags are unknown');
  const made = added(fake, String(subnet ?? ''), { ...fields, guaranteed: false });
  const { id, name, description, vip_address, vip_port_id } = made;
  return {
    id,
    name,
    description,
    vip_address,
    vip_port_id,
    vip_subnet_id: subnet,
    provider,
    listeners: [],
    pools: [],
    tenant_id: fake.project,
    project_id: fake.project,
    admin_state_up: true,
    tags: [],
    publicips: [],
    operating_status: 'ONLINE',
    provisioning_status: 'ACTIVE',
    created_at: at,
    updated_at: at,
  };
}

function added({ balancing, project }: FakeProject, subnet: string, fields: Json): Wire {
  const place = balancing.subnets.find(({ neutron }) => neutron === subnet);
  if (place === undefined) throw new FakeRefusal(404, 'ELB.8904', `subnet ${subnet} could not be found.`);
  const used = balancing.loadbalancers.size;
  const made: Wire = {
    id: randomUUID(),
    name: '',
    description: '',
    provider: 'vlb',
    admin_state_up: true,
    project_id: project,
    provisioning_status: 'ACTIVE',
    operating_status: 'ONLINE',
    created_at: at,
    updated_at: at,
    tags: [],
    vip_address: `192.168.${200 + (used >> 8)}.${(used % 250) + 1}`,
    vip_port_id: randomUUID(),
    vpc_id: place.vpc,
    ip_target_enable: false,
    l4_flavor_id: randomUUID(),
    l7_flavor_id: randomUUID(),
    enterprise_project_id: '0',
    availability_zone_list: [],
    elb_virsubnet_ids: [],
    ...fields,
    vip_subnet_cidr_id: subnet,
  };
  balancing.loadbalancers.set(made.id, made);
  return made;
}

export function showBalancer({ listeners, pools, eips }: FakeBalancing, one: Wire): Json {
  const idsOf = (all: ReadonlyMap<string, Wire>) =>
    [...all.values()].filter((each) => firstOf(each, 'loadbalancers') === one.id).map(({ id }) => ({ id }));
  const on = [...eips.values()].filter((each) => each.on === one.id);
  return {
    ...one,
    listeners: idsOf(listeners),
    pools: idsOf(pools),
    eips: on.map(({ id, address }) => ({ eip_id: id, eip_address: address, ip_version: 4 })),
    publicips: on.map(({ id, address }) => ({ publicip_id: id, publicip_address: address, ip_version: 4 })),
  };
}

/** With everything on it; an EIP stays, on nothing. */
export function deleteBalancer(balancing: FakeBalancing, one: Wire, isForced: boolean): void {
  const { listeners, pools, members, healthmonitors, loadbalancers, eips } = balancing;
  const isOn = (each: Wire) => firstOf(each, 'loadbalancers') === one.id;
  const parts = [...listeners.values(), ...pools.values()].filter(isOn);
  if (parts.length > 0 && !isForced) throw new FakeRefusal(409, 'ELB.8907', `${one.id} still has listeners or pools`);
  for (const { id } of parts) {
    listeners.delete(id);
    pools.delete(id);
    for (const each of members.values()) if (each.pool === id) members.delete(each.id);
    for (const each of healthmonitors.values()) if (firstOf(each, 'pools') === id) healthmonitors.delete(each.id);
  }
  for (const each of eips.values()) if (each.on === one.id) each.on = '';
  loadbalancers.delete(one.id);
}
