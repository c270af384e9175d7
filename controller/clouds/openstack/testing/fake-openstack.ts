import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface FakeServer {
  readonly id: string;
  readonly name?: string;
  /** Left out of the answer when undefined. */
  readonly status?: string | undefined;
  readonly taskState?: string | null;
  readonly zone?: string;
  readonly flavor?: { readonly id: string; readonly name: string };
  readonly accessIPv4?: string;
  readonly accessIPv6?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly addresses?: Readonly<Record<string, readonly { addr: string; type: 'fixed' | 'floating' }[]>>;
}

export interface FakePort {
  readonly id: string;
  readonly deviceId: string;
  readonly networkId: string;
  readonly status?: string;
  readonly ips: readonly string[];
  readonly subports?: readonly string[];
}

export interface FakeCall {
  readonly method: string;
  /** `identity`, `compute` or `network`. */
  readonly service: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Answers a call in place of the fake's own answer; undefined leaves it to the fake. */
export type Fault = (call: FakeCall, response: ServerResponse) => 'answered' | undefined;

export interface FakeOpenStack {
  /** For `auth-url`. */
  readonly authUrl: string;
  readonly calls: FakeCall[];
  readonly servers: Map<string, FakeServer>;
  readonly ports: FakePort[];
  readonly networks: Map<string, string>;
  readonly flavors: Map<string, string>;
  /** Tokens that are refused though they were issued. */
  readonly revoked: Set<string>;
  catalog: unknown;
  pageSize: number;
  /** Nova's newest microversion, minor number. */
  maxMicroversion: number;
  tokenLifeMs: number;
  /** How many tokens were issued. */
  tokens: number;
  fault: Fault | undefined;
  close(): Promise<void>;
}

export const password = 's3cr3t-of-k8s';

/** Keystone v3, Nova and Neutron as far as nodes need them: wire-true answers, faults and paging. */
export async function startFakeOpenStack(): Promise<FakeOpenStack> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => handle(fake, request, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: FakeOpenStack = {
    authUrl: `${base}/identity`,
    calls: [],
    servers: new Map(),
    ports: [],
    networks: new Map(),
    flavors: new Map(),
    revoked: new Set(),
    catalog: catalogOf(base, ['RegionOne']),
    pageSize: 1000,
    maxMicroversion: 93,
    tokenLifeMs: 3_600_000,
    tokens: 0,
    fault: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return fake;
}

export function catalogOf(base: string, regions: readonly string[]): unknown {
  const endpoints = (path: string) =>
    regions.flatMap((region) =>
      ['public', 'internal'].map((kind) => ({
        id: `${region}-${kind}`,
        interface: kind,
        region,
        region_id: region,
        url: base + path,
      })),
    );
  return [
    { type: 'compute', name: 'nova', endpoints: endpoints('/compute/v2.1/') },
    { type: 'network', name: 'neutron', endpoints: endpoints('/network') },
  ];
}

export function uuid(n: number): string {
  return `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

export function active(n: number, more: Partial<FakeServer> = {}): FakeServer {
  return {
    id: uuid(n),
    name: `node-${n}`,
    status: 'ACTIVE',
    zone: 'nova',
    flavor: { id: 'f1', name: 'm1.small' },
    addresses: { 'k8s-net': [{ addr: `10.20.0.${n % 250}`, type: 'fixed' }] },
    ...more,
  };
}

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): 'answered' {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
  return 'answered';
}

export function answerText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): 'answered' {
  response.writeHead(status, { 'content-type': 'text/html', ...headers });
  response.end(text);
  return 'answered';
}

/** A fault as Nova words it. */
export function answerNovaFault(
  response: ServerResponse,
  status: number,
  name: string,
  message: string,
  headers: Record<string, string> = {},
): 'answered' {
  return answerJson(response, status, { [name]: { code: status, message } }, headers);
}

function handle(fake: FakeOpenStack, request: IncomingMessage, body: string, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://fake');
  const [, service = '', ...rest] = url.pathname.split('/');
  const call: FakeCall = {
    method: request.method ?? 'GET',
    service,
    path: `/${rest.slice(service === 'identity' ? 0 : 1).join('/')}`,
    query: url.searchParams,
    headers: request.headers,
    body,
  };
  fake.calls.push(call);
  if (fake.fault?.(call, response) === 'answered') return;
  if (service === 'identity') {
    keystone(fake, call, response);
    return;
  }
  const token = String(request.headers['x-auth-token'] ?? '');
  if (!token.startsWith('token-') || fake.revoked.has(token)) {
    answerJson(response, 401, {
      error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
    });
    return;
  }
  if (service === 'compute') nova(fake, call, response, url);
  else neutron(fake, call, response, url);
}

function keystone(fake: FakeOpenStack, { method, path, body }: FakeCall, response: ServerResponse): void {
  if (method !== 'POST' || path !== '/v3/auth/tokens') {
    answerText(response, 404, '404 page not found');
    return;
  }
  if (!body.includes(password)) {
    answerJson(response, 401, {
      error: { code: 401, title: 'Unauthorized', message: 'The request you have made requires authentication.' },
    });
    return;
  }
  fake.tokens += 1;
  const now = Date.now();
  const token = {
    methods: ['password'],
    user: { id: 'u1', name: 'k8s', domain: { id: 'default', name: 'Default' } },
    project: { id: 'p1', name: 'k8s', domain: { id: 'default', name: 'Default' } },
    issued_at: new Date(now).toISOString(),
    expires_at: new Date(now + fake.tokenLifeMs).toISOString(),
    catalog: fake.catalog,
  };
  answerJson(response, 201, { token }, { 'x-subject-token': `token-${fake.tokens}` });
}

function nova(fake: FakeOpenStack, { path, query, headers }: FakeCall, response: ServerResponse, url: URL): void {
  const asked = String(headers['openstack-api-version'] ?? 'compute 2.1').replace('compute 2.', '');
  const minor = Number(asked);
  if (minor > fake.maxMicroversion) {
    const message = `Version 2.${minor} is not supported by the API. Minimum is 2.1 and maximum is 2.${fake.maxMicroversion}.`;
    answerNovaFault(response, 406, 'computeFault', message);
    return;
  }
  if (path === '/servers/detail') {
    const name = query.get('name');
    const hits = [...fake.servers.values()]
      .filter((server) => name === null || new RegExp(name, 'i').test(server.name ?? ''))
      .map((server) => serverJson(server, minor));
    answerPage(fake, response, url, 'servers', hits);
    return;
  }
  if (path === '/flavors') {
    answerPage(
      fake,
      response,
      url,
      'flavors',
      [...fake.flavors].map(([id, name]) => ({ id, name, links: [] })),
    );
    return;
  }
  const [, collection, id = ''] = path.split('/');
  if (collection === 'servers') {
    const server = fake.servers.get(id);
    if (server === undefined) answerNovaFault(response, 404, 'itemNotFound', `Instance ${id} could not be found.`);
    else answerJson(response, 200, { server: serverJson(server, minor) });
    return;
  }
  const name = collection === 'flavors' ? fake.flavors.get(id) : undefined;
  if (name === undefined) answerNovaFault(response, 404, 'itemNotFound', `Flavor ${id} could not be found.`);
  else answerJson(response, 200, { flavor: { id, name, ram: 2048, vcpus: 1, disk: 20 } });
}

function serverJson(server: FakeServer, minor: number): Record<string, unknown> {
  const { flavor } = server;
  const addresses = Object.fromEntries(
    Object.entries(server.addresses ?? {}).map(([network, list]) => [
      network,
      list.map(({ addr, type }) => ({
        addr,
        version: addr.includes(':') ? 6 : 4,
        'OS-EXT-IPS:type': type,
        'OS-EXT-IPS-MAC:mac_addr': 'fa:16:3e:00:00:01',
      })),
    ]),
  );
  return {
    id: server.id,
    name: server.name ?? 'unnamed',
    ...(server.status === undefined ? {} : { status: server.status }),
    'OS-EXT-STS:task_state': server.taskState ?? null,
    'OS-EXT-STS:vm_state': 'active',
    'OS-EXT-AZ:availability_zone': server.zone ?? '',
    hostId: '2091634baaccdc4c5a1d57069c833e402921df696b7f970791b12ec6',
    accessIPv4: server.accessIPv4 ?? '',
    accessIPv6: server.accessIPv6 ?? '',
    metadata: server.metadata ?? {},
    addresses,
    ...(flavor === undefined
      ? {}
      : {
          flavor:
            minor >= 47
              ? { original_name: flavor.name, vcpus: 1, ram: 2048, disk: 20, ephemeral: 0, swap: 0, extra_specs: {} }
              : { id: flavor.id, links: [{ rel: 'bookmark', href: `http://nova/flavors/${flavor.id}` }] },
        }),
  };
}

function neutron(fake: FakeOpenStack, { path, query }: FakeCall, response: ServerResponse, url: URL): void {
  const matches = (name: string, value: string) => !query.has(name) || query.getAll(name).includes(value);
  const trimmed = (item: Record<string, unknown>) => {
    const fields = query.getAll('fields');
    return Object.fromEntries(Object.entries(item).filter(([key]) => fields.length === 0 || fields.includes(key)));
  };
  if (path === '/ports') {
    const ports = fake.ports
      .filter((port) => matches('device_id', port.deviceId) && matches('id', port.id))
      .map((port) => ({
        id: port.id,
        device_id: port.deviceId,
        network_id: port.networkId,
        status: port.status ?? 'ACTIVE',
        fixed_ips: port.ips.map((ip) => ({ subnet_id: 's1', ip_address: ip })),
        ...(port.subports === undefined
          ? {}
          : {
              trunk_details: {
                trunk_id: 't1',
                sub_ports: port.subports.map((id) => ({ port_id: id, segmentation_id: 7 })),
              },
            }),
      }));
    answerPage(fake, response, url, 'ports', ports.map(trimmed));
    return;
  }
  if (path === '/networks') {
    const networks = [...fake.networks]
      .filter(([id]) => matches('id', id))
      .map(([id, name]) => ({ id, name, mtu: 1450 }));
    answerPage(fake, response, url, 'networks', networks.map(trimmed));
    return;
  }
  answerJson(response, 404, {
    NeutronError: { type: 'HTTPNotFound', message: 'The resource could not be found.', detail: '' },
  });
}

/** One page from `marker` on, as all three services link them; the link names a host that only exists inside the cloud. */
function answerPage(
  fake: FakeOpenStack,
  response: ServerResponse,
  url: URL,
  name: string,
  items: readonly Record<string, unknown>[],
): void {
  const marker = url.searchParams.get('marker');
  const from = marker === null ? 0 : items.findIndex(({ id }) => id === marker) + 1;
  const limit = Math.min(fake.pageSize, Number(url.searchParams.get('limit') ?? fake.pageSize));
  const page = items.slice(from, from + limit);
  const next = new URL(url.href);
  next.host = 'inside.cloud:8774';
  const last = page.at(-1)?.['id'];
  const more = from + page.length < items.length && typeof last === 'string';
  if (more) next.searchParams.set('marker', last);
  answerJson(response, 200, {
    [name]: page,
    ...(more ? { [`${name}_links`]: [{ rel: 'next', href: next.href }] } : {}),
  });
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
