import { randomUUID } from 'node:crypto';
import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import type { FakeAccount, FakeBalancer } from './fake-account.ts';
import { FakeRefusal, invalid, notFound } from './fake-api.ts';
import { showRegion } from './fake-droplets.ts';

const path = /^[A-Za-z0-9][A-Za-z0-9.-]{0,254}$/;
const healthCheck = {
  protocol: 'http',
  port: 80,
  path: '/',
  check_interval_seconds: 10,
  response_timeout_seconds: 5,
  healthy_threshold: 5,
  unhealthy_threshold: 3,
};
const defaults = {
  type: 'REGIONAL',
  network: 'EXTERNAL',
  network_stack: 'IPV4',
  size_unit: 1,
  algorithm: 'round_robin',
  redirect_http_to_https: false,
  enable_proxy_protocol: false,
  enable_backend_keepalive: false,
  disable_lets_encrypt_dns_records: false,
  http_idle_timeout_seconds: 60,
  sticky_sessions: { type: 'none' },
  firewall: { allow: [], deny: [] },
  tag: '',
  project_id: '6929eef6-4e45-11ed-bdc3-0242ac120002',
};
/** What the former sizes are, and are shown as. */
const units: Readonly<Record<string, number>> = { 'lb-small': 1, 'lb-medium': 3, 'lb-large': 6 };
const entries = ['http', 'https', 'http2', 'http3', 'tcp', 'udp'];

/** What a request leaves: fields that it does not have are the default. */
function read(account: FakeAccount, body: Json, id: string, region: string): FakeBalancer['wire'] {
  const { name, forwarding_rules: rules, droplet_ids: ids, tag } = body;
  if (typeof name !== 'string' || !path.test(name)) throw invalid('name is invalid');
  if ([...account.balancers.values()].some((one) => one.id !== id && one.wire.name === name))
    throw invalid('name is not unique');
  if (!Array.isArray(rules) || rules.length === 0) throw invalid('forwarding_rules can not be empty');
  if (ids !== undefined && tag) throw invalid('droplet_ids and tag can not both be given');
  if (body['size'] !== undefined && body['size_unit'] !== undefined) throw invalid('size and size_unit are exclusive');
  const taken = new Set<string>();
  for (const rule of rules as readonly Json[]) {
    const { entry_protocol: entry, entry_port: port, target_port: target, certificate_id: certificate } = rule;
    if (!entries.includes(String(entry)) || !Number(port) || !Number(target))
      throw invalid('forwarding rule is invalid');
    const place = `${entry === 'udp' || entry === 'http3' ? 'udp' : 'tcp'} ${port}`;
    if (taken.has(place)) throw invalid(`forwarding rules have duplicate entry port ${port}`);
    taken.add(place);
    if (certificate && !account.certificates.has(String(certificate))) throw invalid('certificate not found');
    const isTls = entry === 'https' || entry === 'http2' || entry === 'http3';
    if (isTls && !certificate && !rule['tls_passthrough']) throw invalid('certificate_id is required');
  }
  const droplets = ((ids ?? []) as readonly unknown[]).map(Number);
  for (const droplet of droplets)
    if (account.droplets.get(droplet)?.region !== region) throw invalid(`droplet ids are invalid`);
  const rest = Object.fromEntries(Object.entries(body).filter(([key]) => !['region', 'tags', 'ip'].includes(key)));
  return {
    ...defaults,
    vpc_uuid: account.vpc,
    ...rest,
    name,
    droplet_ids: droplets,
    ...(typeof body['size'] === 'string' && { size: undefined, size_unit: units[body['size']] }),
    health_check: { ...healthCheck, ...(body['health_check'] as Json | undefined) },
    forwarding_rules: (rules as readonly Json[]).map((rule) => ({
      certificate_id: '',
      tls_passthrough: false,
      ...rule,
    })),
  };
}

export function createBalancer(account: FakeAccount, { body }: FakeCall): FakeAnswer {
  if (typeof body['region'] !== 'string') throw invalid('region is required');
  if (account.balancers.size >= account.maxBalancers) throw new FakeRefusal(403, 'Load Balancer limit exceeded');
  const id = randomUUID();
  const number = account.nextId();
  const now = account.now();
  const one: FakeBalancer = {
    id,
    createdAt: new Date(now).toISOString(),
    region: body['region'],
    status: 'new',
    wire: read(account, body, id, body['region']),
    tags: (body['tags'] ?? []) as string[],
    address: {
      ip: typeof body['ip'] === 'string' ? body['ip'] : `203.0.${(number >> 8) % 250}.${number % 250}`,
      ipv6: body['network_stack'] === 'DUALSTACK' ? `2001:db8:1b::${number.toString(16)}` : '',
    },
    activeAt: now + account.activeMs,
    busyUntil: now + account.activeMs,
  };
  account.balancers.set(id, one);
  return { status: 202, body: { load_balancer: showBalancer(account, one) } };
}

/** GET, PUT and DELETE of one. */
export function answerBalancer(account: FakeAccount, id: string, { method, body }: FakeCall): FakeAnswer {
  const one = account.balancers.get(id);
  if (one === undefined) throw notFound();
  if (method === 'GET') return { status: 200, body: { load_balancer: showBalancer(account, one) } };
  if (account.now() < one.busyUntil)
    throw new FakeRefusal(403, "Load Balancer can't be updated while it processes previous actions");
  if (method === 'DELETE') {
    account.balancers.delete(id);
    return { status: 204 };
  }
  if (method !== 'PUT') throw new FakeRefusal(405, method);
  const next = read(account, body, id, one.region);
  if (!account.mayResize && next['size_unit'] !== one.wire['size_unit']) throw invalid('size cannot be modified');
  one.wire = next;
  one.busyUntil = account.now() + account.busyMs;
  return { status: 200, body: { load_balancer: showBalancer(account, one) } };
}

export function showBalancer(account: FakeAccount, one: FakeBalancer): Json {
  const { id, wire, createdAt, region, address } = one;
  if (one.status === 'new' && account.now() >= one.activeAt) one.status = 'active';
  const { ip, ipv6 } = one.status === 'active' ? address : { ip: '', ipv6: '' };
  const shown = { id, ...wire, ip, ...(ipv6 !== '' && { ipv6 }), status: one.status, created_at: createdAt };
  return structuredClone({ ...shown, region: showRegion(region) });
}
