import type { ServerResponse } from 'node:http';
import { answerJson, answerPage } from './answers.ts';
import {
  checkListener,
  checkMonitor,
  checkPool,
  cidrsOf,
  create,
  listenerFor,
  memberKey,
  membersFor,
  taken,
} from './fake-octavia-create.ts';
import {
  balancerJson,
  checkTag,
  createdJson,
  type FakeBalancer,
  type FakePool,
  type Json,
  listenerJson,
  memberFields,
  memberJson,
  monitorFields,
  monitorJson,
  OctaviaFault,
  persistenceOf,
  poolFields,
  poolJson,
  statusJson,
  tagsOf,
  thing,
  timestamp,
} from './fake-octavia-model.ts';
import { look, mutable, readyAtMs, work } from './fake-octavia-work.ts';
import type { FakeOctavia } from './octavia-state.ts';
import type { FakeCall, FakeOpenStack } from './openstack-state.ts';

/** Puts Octavia into a fake OpenStack. */
export function addOctavia(fake: FakeOpenStack): FakeOctavia {
  const octavia: FakeOctavia = {
    balancers: new Map(),
    minor: 26,
    providers: new Set(['amphora', 'octavia']),
    looks: 1,
    takes: undefined,
    nextBecomes: 'ACTIVE',
    mayFailOver: false,
    breakDown(id) {
      const one = octavia.balancers.get(id);
      if (one === undefined) throw new Error(`no load balancer ${id}`);
      one.status = 'ERROR';
    },
    settle() {
      for (const one of [...octavia.balancers.values()]) {
        one.looksLeft = 0;
        one.readyAtMs = undefined;
        look(fake, octavia, one);
      }
    },
  };
  fake.more.push((call, response) => {
    if (call.service !== 'load-balancer') return undefined;
    try {
      return handle(fake, octavia, call, response);
    } catch (error) {
      if (!(error instanceof OctaviaFault)) throw error;
      const faultcode = error.status < 500 ? 'Client' : 'Server';
      return answerJson(response, error.status, { faultcode, faultstring: error.message, debuginfo: null });
    }
  });
  return octavia;
}

function handle(fake: FakeOpenStack, octavia: FakeOctavia, call: FakeCall, response: ServerResponse): 'answered' {
  const { method, path, query } = call;
  if (path === '/') {
    const versions = Array.from({ length: octavia.minor + 1 }, (_, n) => ({
      id: `v2.${n}`,
      status: n === octavia.minor ? 'CURRENT' : 'SUPPORTED',
      links: [{ href: 'http://octavia/v2', rel: 'self' }],
    }));
    return answerJson(response, 200, { versions });
  }
  const [, , collection = '', id = '', below = '', member = ''] = path.split('/');
  const body = call.body === '' ? {} : (JSON.parse(call.body, checkTag) as Record<string, Json>);
  const one = (name: string): Json => body[name] ?? {};
  const page = (items: readonly Json[]): 'answered' => {
    const url = new URL(`http://octavia/v2.0${path}?${query}`);
    answerPage(
      fake.pageSize,
      response,
      url,
      collection === 'pools' && below !== '' ? below : collection,
      items.filter(matching(query)) as Record<string, unknown>[],
    );
    return 'answered';
  };
  const answer = (status: number, name?: string, json?: Json): 'answered' => {
    if (name !== undefined) return answerJson(response, status, { [name]: json });
    response.writeHead(status, {});
    response.end('');
    return 'answered';
  };
  // It ends by time, with or without reads.
  if (octavia.takes) for (const each of [...octavia.balancers.values()]) look(fake, octavia, each);
  const balancers = [...octavia.balancers.values()];
  const change = (balancer: FakeBalancer) => {
    if (balancer.status !== 'ACTIVE') {
      throw new OctaviaFault(409, `Load Balancer ${balancer.id} is immutable and cannot be updated.`);
    }
    work(octavia, balancer, 'PENDING_UPDATE');
  };
  const find = <T extends { readonly id: string }>(
    kind: string,
    of: (balancer: FakeBalancer) => readonly T[],
    wanted = id,
  ) => {
    for (const balancer of balancers) {
      const found = of(balancer).find((piece) => piece.id === wanted);
      if (found) return { balancer, found };
    }
    throw new OctaviaFault(404, `${kind} ${wanted} not found.`);
  };
  const poolOf = (wanted = id) => find('Pool', ({ pools }) => pools, wanted);
  const update = (piece: { status: string; fields: Record<string, unknown> }, changes: Json) => {
    piece.status = 'PENDING_UPDATE';
    Object.assign(piece.fields, changes, 'tags' in changes ? { tags: tagsOf(changes) } : {}, {
      updated_at: timestamp(),
    });
  };

  switch (
    `${method} ${collection}${id === '' ? '' : '/id'}${below === '' ? '' : `/${below}`}${member === '' ? '' : '/id'}`
  ) {
    case 'GET loadbalancers':
      for (const balancer of balancers) look(fake, octavia, balancer);
      return page([...octavia.balancers.values()].map(balancerJson));
    case 'GET loadbalancers/id': {
      const balancer = octavia.balancers.get(id);
      if (balancer) look(fake, octavia, balancer);
      const { found } = find('Load Balancer', (each) => (octavia.balancers.has(each.id) ? [each] : []));
      return answer(200, 'loadbalancer', balancerJson(found));
    }
    case 'GET loadbalancers/id/status': {
      const { found } = find('Load Balancer', (each) => [each]);
      look(fake, octavia, found);
      return answer(200, 'statuses', { loadbalancer: statusJson(found) });
    }
    case 'POST loadbalancers': {
      const made = create(fake, octavia, one('loadbalancer'));
      made.readyAtMs = octavia.takes && readyAtMs(octavia.takes, made);
      return answer(201, 'loadbalancer', createdJson(made));
    }
    case 'PUT loadbalancers/id': {
      const { found } = find('Load Balancer', (each) => [each]);
      mutable(found);
      work(octavia, found, 'PENDING_UPDATE');
      update(found, one('loadbalancer'));
      return answer(200, 'loadbalancer', balancerJson(found));
    }
    case 'PUT loadbalancers/id/failover': {
      const { found } = find('Load Balancer', (each) => [each]);
      if (!octavia.mayFailOver) throw new OctaviaFault(403, 'Policy does not allow this request to be performed.');
      if (found.fields['provider'] === 'ovn')
        throw new OctaviaFault(
          501,
          "Provider 'ovn' does not support a requested action: This provider does not support failing over load " +
            'balancers.',
        );
      work(octavia, found, 'PENDING_UPDATE');
      return answer(202);
    }
    case 'DELETE loadbalancers/id': {
      const { found } = find('Load Balancer', (each) => [each]);
      if (!['ACTIVE', 'ERROR'].includes(found.status)) {
        throw new OctaviaFault(409, `Invalid state ${found.status} of loadbalancer resource ${id}`);
      }
      if (query.get('cascade') !== 'true' && found.listeners.length + found.pools.length > 0) {
        throw new OctaviaFault(400, `Validation failure: Cannot delete Load Balancer ${id} - it has children`);
      }
      work(octavia, found, 'PENDING_DELETE');
      found.becomes = 'DELETED';
      return answer(204);
    }
    case 'GET listeners':
      return page(balancers.flatMap((balancer) => balancer.listeners.map((each) => listenerJson(balancer, each))));
    case 'POST listeners': {
      const request = one('listener');
      const { found: balancer } = find('Load Balancer', (each) => [each], String(request['loadbalancer_id']));
      const made = listenerFor(octavia, balancer, request);
      change(balancer);
      balancer.listeners.push(made);
      return answer(201, 'listener', listenerJson(balancer, made));
    }
    case 'PUT listeners/id': {
      const { balancer, found } = find('Listener', ({ listeners }) => listeners);
      const { default_pool_id: pool, ...changes } = one('listener');
      checkListener(balancer, { ...found.fields, ...changes }, changes);
      if (pool !== undefined && pool !== null) poolOf(String(pool));
      change(balancer);
      update(found, { ...changes, ...('allowed_cidrs' in changes ? { allowed_cidrs: cidrsOf(changes) } : {}) });
      if (pool !== undefined) found.poolId = pool as string | null;
      return answer(200, 'listener', listenerJson(balancer, found));
    }
    case 'DELETE listeners/id': {
      const { balancer, found } = find('Listener', ({ listeners }) => listeners);
      change(balancer);
      balancer.listeners.splice(balancer.listeners.indexOf(found), 1);
      return answer(204);
    }
    case 'GET pools':
      return page(balancers.flatMap((balancer) => balancer.pools.map((each) => poolJson(balancer, each))));
    case 'POST pools': {
      const request = one('pool');
      // As the releases up to Octavia 11 fail here.
      if ('members' in request || 'healthmonitor' in request)
        throw new OctaviaFault(500, "'dict' object has no attribute '_sa_instance_state'");
      const { found: balancer } = find('Load Balancer', (each) => [each], String(request['loadbalancer_id']));
      checkPool(balancer, request);
      change(balancer);
      const made: FakePool = { ...thing(poolFields(request)), members: [], monitor: undefined };
      balancer.pools.push(made);
      return answer(201, 'pool', poolJson(balancer, made));
    }
    case 'GET pools/id': {
      const { balancer, found } = poolOf();
      return answer(200, 'pool', poolJson(balancer, found));
    }
    case 'PUT pools/id': {
      const { balancer, found } = poolOf();
      const changes = one('pool');
      checkPool(balancer, { ...found.fields, ...changes });
      change(balancer);
      update(found, {
        ...changes,
        ...('session_persistence' in changes
          ? { session_persistence: persistenceOf(changes['session_persistence']) }
          : {}),
      });
      return answer(200, 'pool', poolJson(balancer, found));
    }
    case 'DELETE pools/id': {
      const { balancer, found } = poolOf();
      change(balancer);
      balancer.pools.splice(balancer.pools.indexOf(found), 1);
      for (const listener of balancer.listeners) if (listener.poolId === id) listener.poolId = null;
      return answer(204);
    }
    case 'GET pools/id/members':
      return page(poolOf().found.members.map(memberJson));
    case 'PUT pools/id/members': {
      const { balancer, found } = poolOf();
      const requests = (body['members'] ?? []) as unknown as readonly Json[];
      if (requests.length + found.members.length === 0) return answer(202);
      const made = membersFor(found, requests);
      change(balancer);
      found.status = 'PENDING_UPDATE';
      found.fields['updated_at'] = timestamp();
      found.members = made;
      return answer(202);
    }
    case 'POST pools/id/members': {
      const { balancer, found } = poolOf();
      const request = one('member');
      if (found.members.some((each) => memberKey(each.fields) === memberKey(request))) throw taken(request);
      change(balancer);
      const made = thing(memberFields(request));
      found.members.push(made);
      found.fields['updated_at'] = timestamp();
      return answer(201, 'member', memberJson(made));
    }
    case 'PUT pools/id/members/id': {
      const { balancer, found } = poolOf();
      const each = found.members.find((known) => known.id === member);
      if (!each) throw new OctaviaFault(404, `Member ${member} not found.`);
      change(balancer);
      update(each, one('member'));
      found.fields['updated_at'] = timestamp();
      return answer(200, 'member', memberJson(each));
    }
    case 'DELETE pools/id/members/id': {
      const { balancer, found } = poolOf();
      const at = found.members.findIndex((known) => known.id === member);
      if (at < 0) throw new OctaviaFault(404, `Member ${member} not found.`);
      change(balancer);
      found.members.splice(at, 1);
      found.fields['updated_at'] = timestamp();
      return answer(204);
    }
    case 'GET healthmonitors':
      return page(
        balancers.flatMap(({ pools }) =>
          pools.flatMap((pool) => (pool.monitor ? [monitorJson(pool, pool.monitor)] : [])),
        ),
      );
    case 'POST healthmonitors': {
      const request = one('healthmonitor');
      const { balancer, found } = poolOf(String(request['pool_id']));
      checkMonitor(balancer, request);
      if (found.monitor) throw new OctaviaFault(409, 'This pool already has a health monitor');
      change(balancer);
      found.monitor = thing(monitorFields(request));
      return answer(201, 'healthmonitor', monitorJson(found, found.monitor));
    }
    case 'GET healthmonitors/id':
    case 'PUT healthmonitors/id':
    case 'DELETE healthmonitors/id': {
      const pool = balancers.flatMap(({ pools }) => pools).find(({ monitor }) => monitor?.id === id);
      if (!pool?.monitor) throw new OctaviaFault(404, `Health Monitor ${id} not found.`);
      const { balancer } = poolOf(pool.id);
      if (method === 'GET') return answer(200, 'healthmonitor', monitorJson(pool, pool.monitor));
      change(balancer);
      if (method === 'DELETE') {
        pool.monitor = undefined;
        return answer(204);
      }
      update(pool.monitor, one('healthmonitor'));
      return answer(200, 'healthmonitor', monitorJson(pool, pool.monitor));
    }
    default:
      throw new OctaviaFault(404, `No such thing: ${method} ${path}`);
  }
}

/** `tags` names all tags required, separated by commas. Other names are equalities; links have names of their own. */
function matching(query: URLSearchParams): (item: Json) => boolean {
  const links: Readonly<Record<string, string>> = {
    load_balancer_id: 'loadbalancers',
    loadbalancer_id: 'loadbalancers',
  };
  const names = [...new Set(query.keys())].filter((name) => !['fields', 'limit', 'marker'].includes(name));
  return (item) =>
    names.every((name) => {
      const value = query.get(name) ?? '';
      if (name === 'tags') return value.split(',').every((tag) => (item['tags'] as string[]).includes(tag));
      const link = links[name];
      if (link !== undefined) return (item[link] as { id: string }[]).some(({ id }) => id === value);
      return String(item[name]) === value;
    });
}
