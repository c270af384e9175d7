import type { FakeAnswer, FakeCall } from 'mooring/cloud-suite';

export const token = 'secret-token';

export interface FakeServer {
  readonly id: string;
  readonly name: string;
  status: 'on' | 'off';
  readonly region: string;
  readonly size: string;
  readonly privateIp: string;
  publicIp: string;
}
export interface FakeBalancer {
  readonly id: string;
  readonly name: string;
  labels: Readonly<Record<string, string>>;
  ports: readonly { readonly protocol: string; readonly port: number; readonly nodePort: number }[];
  servers: readonly string[];
  readonly address: string;
}

/** The API of the Example cloud, with everything in memory. */
export function createFakeApi() {
  const servers = new Map<string, FakeServer>();
  const balancers = new Map<string, FakeBalancer>();
  const calls: FakeCall[] = [];
  let last = 0;
  const api = { servers, balancers, calls, refuses: false, nextId, addServer, addBalancer, answer };

  function nextId(): number {
    last += 1;
    return last;
  }
  function addServer(name: string): FakeServer {
    const at = nextId();
    const [privateIp, publicIp] = [`10.0.0.${at}`, `198.51.100.${at}`];
    const server: FakeServer = {
      id: `srv-${at}`,
      name,
      status: 'on',
      region: 'north',
      size: 'small',
      privateIp,
      publicIp,
    };
    servers.set(server.id, server);
    return server;
  }
  function addBalancer(fields: Omit<FakeBalancer, 'id' | 'address'>): FakeBalancer {
    const at = nextId();
    const balancer: FakeBalancer = { ...fields, id: `b-${at}`, address: `203.0.113.${at % 250}` };
    balancers.set(balancer.id, balancer);
    return balancer;
  }
  function answer(call: FakeCall): FakeAnswer {
    calls.push(call);
    const { method, path, authorization, body } = call;
    const [, collection = '', id = ''] = path.split('/');
    if (api.refuses || authorization !== `Bearer ${token}`) return { status: 401, body: { error: 'who are you?' } };
    if (path === '/account') return { status: 200, body: { account: { id: 'account-1' } } };
    if (path === '/servers') return { status: 200, body: { servers: [...servers.values()] } };
    const server = servers.get(id);
    if (collection === 'servers' && server) return { status: 200, body: { server } };
    if (path === '/balancers' && method === 'GET') return { status: 200, body: { balancers: [...balancers.values()] } };
    const given = body as unknown as FakeBalancer;
    if (path === '/balancers') return { status: 201, body: { balancer: addBalancer(given) } };
    const balancer = balancers.get(id);
    if (collection !== 'balancers' || !balancer) return { status: 404, body: { error: `no ${path}` } };
    if (method === 'DELETE') balancers.delete(id);
    if (method === 'PUT') Object.assign(balancer, given);
    return { status: 200, body: { balancer } };
  }
  return api;
}
