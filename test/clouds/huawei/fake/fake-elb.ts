import { randomUUID } from 'node:crypto';
import type { FakeAnswer, FakeCall, Json } from '../../fake-http.ts';
import { absent, bad, FakeRefusal, markerPage, request_id } from './fake-api.ts';
import { type FakeBalancing, firstOf, type Wire } from './fake-balancing.ts';
import { deleteBalancer, makeBalancer, makeShared, showBalancer } from './fake-elb-balancers.ts';
import { answerMembers } from './fake-elb-members.ts';
import type { FakeProject } from './fake-project.ts';

const singular = {
  loadbalancers: 'loadbalancer',
  listeners: 'listener',
  pools: 'pool',
  healthmonitors: 'healthmonitor',
  ipgroups: 'ipgroup',
  members: 'member',
} as const;
type Collection = keyof typeof singular;

const at = '2026-02-08T16:02:37Z';
const inUse = (message: string) => new FakeRefusal(409, 'ELB.8907', message);
const refs = (...ids: readonly string[]) => ids.map((id) => ({ id }));

/** `/v3/{project}/elb/...` */
export function answerElb(fake: FakeProject, rest: readonly string[], call: FakeCall): FakeAnswer {
  const [collection, id, action, last] = rest as readonly [Collection, string?, string?, string?];
  const { balancing } = fake;
  const name = singular[collection];
  if (name === undefined) throw new FakeRefusal(404, 'APIGW.0101', 'The API does not exist');
  const body = (call.body[name] ?? {}) as Json;
  if (id === undefined && call.method === 'GET') return listed(fake, collection, call);
  if (id === undefined && call.method === 'POST') {
    const made = make(fake, collection, body);
    return { status: 201, body: { [name]: shownOf(fake, collection, made), request_id } };
  }
  const one = balancing[collection].get(id ?? '');
  if (one === undefined) throw absent(name, id ?? '');
  if (collection === 'pools' && action === 'members') return answerMembers(fake, one, last, call);
  if (call.method === 'GET') return { status: 200, body: { [name]: shownOf(fake, collection, one), request_id } };
  if (call.method === 'PUT') {
    change(balancing, collection, one, body);
    return { status: 200, body: { [name]: shownOf(fake, collection, one), request_id } };
  }
  if (call.method === 'DELETE') {
    remove(fake, collection, one, action);
    return { status: 204 };
  }
  throw new FakeRefusal(405, 'ELB.8901', call.method);
}

/** `/v2/{project}/elb/loadbalancers`: the only API that makes shared ones. */
export function answerElbV2(fake: FakeProject, [collection, id]: readonly string[], call: FakeCall): FakeAnswer {
  if (collection !== 'loadbalancers' || id !== undefined || call.method !== 'POST')
    throw new FakeRefusal(404, 'APIGW.0101', 'The API does not exist');
  return { status: 201, body: { loadbalancer: makeShared(fake, (call.body['loadbalancer'] ?? {}) as Json) } };
}

function listed(fake: FakeProject, collection: Collection, call: FakeCall): FakeAnswer {
  const wanted = (name: string) => call.query.getAll(name);
  const inside = (one: Wire) => (one['loadbalancers'] ?? []) as readonly Wire[];
  const balancers = wanted('loadbalancer_id');
  const isIn = (one: Wire) => {
    const owner = collection === 'members' ? fake.balancing.pools.get(String(one['pool'])) : one;
    return balancers.length === 0 || (owner !== undefined && inside(owner).some(({ id }) => balancers.includes(id)));
  };
  const ids = wanted('id');
  const all = [...fake.balancing[collection].values()]
    .filter((one) => (ids.length === 0 || ids.includes(one.id)) && isIn(one))
    .map((one) => shownOf(fake, collection, one));
  const page = markerPage(collection, all, call);
  const items = (page.body as Json)[collection] as readonly Json[];
  const next = items.length === 0 ? {} : { next_marker: items.at(-1)?.['id'] };
  return { ...page, body: { ...(page.body as Json), page_info: { current_count: items.length, ...next }, request_id } };
}

function shownOf({ balancing }: FakeProject, collection: Collection, one: Wire): Json {
  const { listeners, members, healthmonitors } = balancing;
  const idsOf = (all: ReadonlyMap<string, Wire>, isIt: (each: Wire) => boolean) =>
    refs(...[...all.values()].filter(isIt).map(({ id }) => id));
  if (collection === 'loadbalancers') return showBalancer(balancing, one);
  if (collection === 'members') return Object.fromEntries(Object.entries(one).filter(([name]) => name !== 'pool'));
  if (collection === 'pools') {
    const [check] = idsOf(healthmonitors, (each) => firstOf(each, 'pools') === one.id);
    return {
      ...one,
      members: idsOf(members, (each) => each['pool'] === one.id),
      healthmonitor_id: check?.id ?? '',
      listeners: idsOf(listeners, (each) => each['default_pool_id'] === one.id),
    };
  }
  if (collection === 'ipgroups')
    return { ...one, listeners: idsOf(listeners, (each) => (each['ipgroup'] as Json)?.['ipgroup_id'] === one.id) };
  return one;
}

function make(fake: FakeProject, collection: Collection, body: Json): Wire {
  const { balancing, project } = fake;
  if (collection === 'loadbalancers') return makeBalancer(fake, body);
  if (collection === 'members') throw new FakeRefusal(405, 'ELB.8901', 'POST');
  const common = { id: randomUUID(), name: '', description: '', project_id: project, created_at: at, updated_at: at };
  const { loadbalancer_id: balancer, pool_id: pool, ...fields } = body as Record<string, never>;
  const makers: Record<Exclude<Collection, 'loadbalancers' | 'members'>, () => Wire> = {
    listeners() {
      const there = balancing.loadbalancers.get(balancer ?? '');
      if (there === undefined) throw absent('loadbalancer', String(balancer));
      checkListener(balancing, there, body);
      return {
        ...common,
        admin_state_up: true,
        connection_limit: -1,
        http2_enable: false,
        sni_container_refs: [],
        tags: [],
        insert_headers: {},
        loadbalancers: refs(there.id),
        default_pool_id: '',
        keepalive_timeout: 300,
        ...fields,
      };
    },
    pools() {
      if (!balancing.loadbalancers.has(balancer ?? '')) throw absent('loadbalancer', String(balancer));
      if (!['TCP', 'UDP', 'HTTP', 'HTTPS'].includes(String(body['protocol']))) throw bad('protocol is invalid');
      checkPool(body);
      const persistence = body['session_persistence'] ?? null;
      return {
        ...common,
        admin_state_up: true,
        ip_version: 'v4',
        vpc_id: '',
        type: '',
        ...fields,
        session_persistence: persistence,
        loadbalancers: refs(String(balancer)),
      };
    },
    healthmonitors() {
      const there = balancing.pools.get(pool ?? '');
      if (there === undefined) throw absent('pool', String(pool));
      if ([...balancing.healthmonitors.values()].some((one) => firstOf(one, 'pools') === there.id))
        throw inUse('the pool has a health monitor already');
      checkMonitor(there, body);
      const { description: _, ...base } = common;
      return {
        ...base,
        admin_state_up: true,
        max_retries_down: 3,
        monitor_port: null,
        url_path: '/',
        http_method: 'GET',
        expected_codes: '200',
        ...fields,
        pools: refs(there.id),
      };
    },
    ipgroups: () => {
      const { ip_list = [] } = fields;
      return { ...common, enterprise_project_id: '0', ...fields, ip_list };
    },
  };
  const made = makers[collection]();
  balancing[collection].set(made.id, made);
  return made;
}

function checkListener({ listeners, pools, ipgroups }: FakeBalancing, balancer: Wire, body: Json): void {
  const { protocol, protocol_port: port, default_pool_id: pool, ipgroup } = body;
  const isShared = balancer['guaranteed'] === false;
  const allowed = ['TCP', 'UDP', 'HTTP', isShared ? 'TERMINATED_HTTPS' : 'HTTPS'];
  if (!allowed.includes(String(protocol))) throw bad(`protocol ${protocol} is invalid`);
  if (String(protocol).endsWith('HTTPS') && !body['default_tls_container_ref'])
    throw bad('default_tls_container_ref is required');
  const same = [...listeners.values()].some(
    (one) =>
      firstOf(one, 'loadbalancers') === balancer.id &&
      one['protocol_port'] === port &&
      (one['protocol'] === 'UDP') === (protocol === 'UDP'),
  );
  if (same) throw inUse(`Load Balancer ${balancer.id} already has a listener with protocol_port of ${port}.`);
  if (pool !== undefined && !pools.has(String(pool))) throw absent('pool', String(pool));
  const group = (ipgroup as Json | undefined)?.['ipgroup_id'];
  if (group !== undefined && !ipgroups.has(String(group))) throw absent('ipgroup', String(group));
}

function checkPool(body: Json): void {
  const algorithm = body['lb_algorithm'];
  if (algorithm !== undefined && !['ROUND_ROBIN', 'LEAST_CONNECTIONS', 'SOURCE_IP'].includes(String(algorithm)))
    throw bad(`lb_algorithm ${algorithm} is invalid`);
}

function checkMonitor(pool: Wire, body: Json): void {
  const type = body['type'];
  const fits = pool['protocol'] === 'UDP' ? type === 'UDP_CONNECT' : ['TCP', 'HTTP', 'HTTPS'].includes(String(type));
  if (type !== undefined && !fits) throw bad(`type ${type} does not match the pool`);
  const [delay, timeout, retries] = ['delay', 'timeout', 'max_retries'].map((name) => body[name] ?? 1);
  if (![delay, timeout].every((one) => Number(one) >= 1 && Number(one) <= 50) || Number(retries) > 10)
    throw bad('delay, timeout or max_retries is out of range');
}

/** What is an object is merged. */
function change(balancing: FakeBalancing, collection: Collection, one: Wire, body: Json): void {
  const fixed = { listeners: ['protocol', 'protocol_port'], pools: ['protocol'], loadbalancers: ['guaranteed'] };
  for (const name of (fixed as Record<string, string[]>)[collection] ?? [])
    if (name in body) throw bad(`${name} cannot be changed`);
  if (collection === 'pools') checkPool(body);
  if (collection === 'healthmonitors') checkMonitor(balancing.pools.get(firstOf(one, 'pools'))!, body);
  for (const [name, value] of Object.entries(body)) {
    const before = one[name];
    const isMerged = name === 'ipgroup' && typeof value === 'object' && value !== null;
    one[name] = isMerged ? { ...(before as object), ...value } : value;
  }
}

function remove(fake: FakeProject, collection: Collection, one: Wire, how: string | undefined): void {
  const { balancing } = fake;
  if (collection === 'loadbalancers') {
    deleteBalancer(balancing, one, how === 'force-elb');
    return;
  }
  if (collection === 'listeners' && how !== 'force' && !fake.deletesUsedListeners && one['default_pool_id'])
    throw inUse(`listener ${one.id} is in use by pool ${one['default_pool_id']}`);
  if (collection === 'pools') {
    for (const each of balancing.listeners.values())
      if (each['default_pool_id'] === one.id) each['default_pool_id'] = '';
    const parts = [...balancing.members.values()].filter((each) => each.pool === one.id);
    const checks = [...balancing.healthmonitors.values()].filter((each) => firstOf(each, 'pools') === one.id);
    if (how !== 'delete-cascade' && parts.length + checks.length > 0) throw inUse(`pool ${one.id} has members`);
    for (const { id } of parts) balancing.members.delete(id);
    for (const { id } of checks) balancing.healthmonitors.delete(id);
  }
  if (collection === 'ipgroups')
    for (const each of balancing.listeners.values())
      if ((each['ipgroup'] as Json | undefined)?.['ipgroup_id'] === one.id) throw inUse(`ipgroup ${one.id} is in use`);
  balancing[collection].delete(one.id);
}
