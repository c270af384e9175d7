import { randomUUID } from 'node:crypto';
import {
  type FakeBalancer,
  type FakeListener,
  type FakeMember,
  type FakePool,
  type Json,
  listenerFields,
  memberFields,
  monitorFields,
  OctaviaFault,
  poolFields,
  tagsOf,
  thing,
  timestamp,
} from './fake-octavia-model.ts';
import type { FakeOctavia } from './octavia-state.ts';
import type { FakeOpenStack } from './openstack-state.ts';

const layer4Refuses = [
  'allowed_cidrs',
  'timeout_client_data',
  'timeout_member_data',
  'timeout_member_connect',
  'timeout_tcp_inspect',
];

export function create(fake: FakeOpenStack, octavia: FakeOctavia, request: Json): FakeBalancer {
  const { listeners = [], pools: _, ...rest } = request as { listeners?: Json[]; pools?: Json[] } & Json;
  const provider = String(rest['provider'] ?? 'amphora');
  if (!octavia.providers.has(provider)) throw new OctaviaFault(400, `Provider '${provider}' is not enabled.`);
  if (provider === 'ovn' && rest['flavor_id'])
    throw new OctaviaFault(501, "Provider 'ovn' does not support a requested option: flavors");
  const subnetId =
    rest['vip_subnet_id'] ?? fake.subnets.find(({ networkId }) => networkId === rest['vip_network_id'])?.id;
  const subnet = fake.subnets.find(({ id }) => id === subnetId);
  const given = fake.ports.find(({ id }) => id === rest['vip_port_id']);
  if (!subnet && !given) throw new OctaviaFault(400, `Subnet ${String(subnetId)} not found.`);
  const address = given?.ips[0] ?? String(rest['vip_address'] ?? freeAddress(fake, subnet?.cidr ?? ''));
  if (!given && fake.ports.some(({ ips }) => ips.includes(address))) {
    throw new OctaviaFault(
      500,
      `Provider '${provider}' reports error: IP address ${address} already allocated in subnet ${subnet?.id}`,
    );
  }
  const made: FakeBalancer = {
    ...thing({
      name: '',
      description: '',
      flavor_id: null,
      availability_zone: null,
      vip_qos_policy_id: null,
      additional_vips: [],
      ...rest,
      provider,
      vip_address: address,
      vip_subnet_id: given?.subnetId ?? subnet?.id,
      vip_network_id: given?.networkId ?? subnet?.networkId,
      vip_port_id: given?.id ?? randomUUID(),
      tags: tagsOf(rest),
    }),
    listeners: [],
    pools: [],
    looksLeft: octavia.looks,
    becomes: octavia.nextBecomes,
  };
  for (const asked of listeners) {
    const pool = asked['default_pool'] as Json | undefined;
    const listener = listenerFor(octavia, made, asked);
    made.listeners.push(listener);
    if (!pool) continue;
    checkPool(made, pool);
    const monitor = pool['healthmonitor'] as Json | undefined;
    if (monitor) checkMonitor(made, monitor);
    const whole: FakePool = {
      ...thing(poolFields(pool)),
      members: membersFor(undefined, (pool['members'] as Json[] | undefined) ?? []),
      monitor: monitor && thing(monitorFields(monitor)),
    };
    listener.poolId = whole.id;
    made.pools.push(whole);
  }
  octavia.nextBecomes = 'ACTIVE';
  octavia.balancers.set(made.id, made);
  if (!given) {
    fake.ports.push({
      id: String(made.fields['vip_port_id']),
      name: `octavia-lb-${made.id}`,
      deviceId: `lb-${made.id}`,
      deviceOwner: 'Octavia',
      networkId: subnet?.networkId ?? '',
      subnetId: subnet?.id ?? '',
      ips: [address],
      status: 'DOWN',
    });
  }
  return made;
}

function freeAddress(fake: FakeOpenStack, cidr: string): string {
  const taken = new Set(fake.ports.flatMap(({ ips }) => ips));
  const six = cidr.includes(':');
  const prefix = six ? cidr.split('::')[0] : cidr.split('.').slice(0, 2).join('.');
  for (let n = 1; ; n += 1) {
    const address = six
      ? `${prefix}::${(0x100 + n).toString(16)}`
      : `${prefix}.${200 + Math.floor(n / 250)}.${n % 250}`;
    if (!taken.has(address)) return address;
  }
}

const transport = (protocol: unknown) => (protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP');

export function listenerFor(octavia: FakeOctavia, balancer: FakeBalancer, request: Json): FakeListener {
  checkListener(balancer, request, request);
  const { protocol, protocol_port: port } = request;
  if (protocol === 'SCTP' && octavia.minor < 23)
    throw new OctaviaFault(400, `Invalid input for field/attribute protocol. Value: '${protocol}'.`);
  const clash = balancer.listeners.find(
    ({ fields }) => fields['protocol_port'] === port && transport(fields['protocol']) === transport(protocol),
  );
  if (clash) {
    throw new OctaviaFault(
      409,
      `Another Listener on this Load Balancer is already using protocol ${String(clash.fields['protocol'])} and ` +
        `protocol_port ${String(port)}`,
    );
  }
  const fields = { ...listenerFields(request), allowed_cidrs: cidrsOf(request) };
  return { ...thing(fields), poolId: (request['default_pool_id'] as string | undefined) ?? null };
}

export function cidrsOf(request: Json): unknown {
  const cidrs = request['allowed_cidrs'] as string[] | undefined | null;
  return cidrs && cidrs.length > 0 ? cidrs : null;
}

export function checkListener(balancer: FakeBalancer, whole: Json, given: Json): void {
  const { protocol } = whole;
  const six = String(balancer.fields['vip_address']).includes(':');
  if (balancer.fields['provider'] === 'ovn') {
    const refused = layer4Refuses.find((name) => name in given);
    if (refused) throw new OctaviaFault(501, `Provider 'ovn' does not support a requested option: ${refused}`);
    if (!['TCP', 'UDP', 'SCTP'].includes(String(protocol))) {
      throw new OctaviaFault(
        501,
        `Provider 'ovn' does not support a requested option: OVN provider does not support ${String(protocol)} ` +
          'protocol',
      );
    }
  }
  for (const cidr of (given['allowed_cidrs'] as string[] | undefined | null) ?? []) {
    if (cidr.includes(':') !== six) {
      throw new OctaviaFault(
        400,
        `Validation failure: CIDR ${cidr} IP version incompatible with VIP ` +
          `${String(balancer.fields['vip_address'])} IP version.`,
      );
    }
  }
  const headers = Object.keys((given['insert_headers'] as object | undefined) ?? {});
  if (headers.length > 0 && !['HTTP', 'TERMINATED_HTTPS'].includes(String(protocol))) {
    throw new OctaviaFault(400, `insert-headers is not a valid option for a ${String(protocol)} protocol listener.`);
  }
  if (protocol === 'TERMINATED_HTTPS' && !whole['default_tls_container_ref']) {
    throw new OctaviaFault(
      400,
      'An SNI or default certificate container reference must be provided with TERMINATED_HTTPS listeners.',
    );
  }
}

export function checkPool(balancer: FakeBalancer, request: Json): void {
  const ovn = balancer.fields['provider'] === 'ovn';
  const sourceIpPort = request['lb_algorithm'] === 'SOURCE_IP_PORT';
  if (ovn !== sourceIpPort) {
    const who = ovn ? 'OVN' : 'Amphora';
    throw new OctaviaFault(
      501,
      `Provider '${ovn ? 'ovn' : 'amphora'}' does not support a requested option: ${who} provider does not support ` +
        `${String(request['lb_algorithm'])} algorithm.`,
    );
  }
}

export function checkMonitor(balancer: FakeBalancer, request: Json): void {
  if (balancer.fields['provider'] === 'ovn' && !['TCP', 'UDP-CONNECT'].includes(String(request['type']))) {
    throw new OctaviaFault(
      501,
      `Provider 'ovn' does not support a requested option: OVN provider does not support ${String(request['type'])} ` +
        'health monitor type.',
    );
  }
}

export const memberKey = (fields: Json) => `${String(fields['address'])} ${String(fields['protocol_port'])}`;

export function taken(request: Json): OctaviaFault {
  return new OctaviaFault(
    409,
    `Another member on this pool is already using ip ${String(request['address'])} on protocol_port ` +
      `${String(request['protocol_port'])}`,
  );
}

/** A batch: what is there by address and port is updated, and whatever it does not name is set back to its default. */
export function membersFor(pool: FakePool | undefined, requests: readonly Json[]): FakeMember[] {
  const seen = new Set<string>();
  return requests.map((request) => {
    if (seen.has(memberKey(request))) throw taken(request);
    seen.add(memberKey(request));
    if (request['address'] === '169.254.169.254')
      throw new OctaviaFault(400, '169.254.169.254 is not a valid option for member address');
    const there = pool?.members.find(({ fields }) => memberKey(fields) === memberKey(request));
    if (!there) return thing(memberFields(request));
    const { subnet_id: _, ...changes } = memberFields(request);
    const tags = 'tags' in request ? changes['tags'] : there.fields['tags'];
    const fields = { ...there.fields, ...changes, tags, updated_at: timestamp() };
    return { id: there.id, status: 'PENDING_UPDATE', fields };
  });
}
