import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Http } from '../../../../common/process/http.ts';
import { HttpFailure } from '../../../../common/process/http.ts';
import { lets, shippedRules } from './access-rules.ts';
import { answerJson, answerText } from './answers.ts';
import { cinder } from './fake-cinder.ts';
import { neutron } from './fake-neutron.ts';
import { nova } from './fake-nova.ts';
import type { FakeCall, FakeOpenStack, FakeServer } from './openstack-state.ts';

export const password = 's3cr3t-of-k8s';

export const extensions: readonly string[] = [
  'extraroute',
  'extraroute-atomic',
  'allowed-address-pairs',
  'revision-if-match',
  'router',
  'security-group',
  'port-security',
  'standard-attr-revisions',
  'standard-attr-tag',
];

/**
 * Keystone v3, Nova and Neutron as far as nodes and routes need them, with their answers, faults and paging. On a
 * socket of its own.
 */
export async function startFakeOpenStack(): Promise<FakeOpenStack> {
  const server = createServer((request, response) => {
    void readBody(request).then((body) => handle(fake, request, body, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const fake = createFakeOpenStack(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return closed;
  });
  return fake;
}

/** The same without a socket; see `fakeHttp`. */
export function createFakeOpenStack(base = 'http://openstack.test', close = async () => {}): FakeOpenStack {
  return {
    authUrl: `${base}/identity`,
    calls: [],
    servers: new Map(),
    ports: [],
    networks: new Map(),
    externalNetworks: new Set(),
    subnets: [],
    routers: new Map(),
    extensions: [...extensions],
    maxRoutes: 30,
    maxAddressPairs: 10,
    flavors: new Map(),
    volumes: new Map(),
    revoked: new Set(),
    catalog: catalogOf(base, ['RegionOne']),
    pageSize: 1000,
    maxMicroversion: 93,
    tokenLifeMs: 3_600_000,
    tokens: 0,
    fault: undefined,
    accessRules: shippedRules(),
    more: [],
    close,
  };
}

/** Calls the fake without a socket. An answer that never ends is never given. */
export function fakeHttp(fake: FakeOpenStack): Http {
  return ({ method = 'GET', url, headers = {}, body = '', signal }) =>
    new Promise((resolve, reject) => {
      const fail = (kind: HttpFailure['kind'], message: string) => reject(new HttpFailure(kind, message));
      if (signal?.aborted) return fail('aborted', `request to ${url} was given up`);
      const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
      let status = 200;
      let answered: Record<string, string> = {};
      const response = {
        writeHead(code: number, given: Record<string, string> = {}) {
          status = code;
          answered = given;
        },
        end: (text = '') => resolve({ status, text, header: (name) => answered[name.toLowerCase()] ?? null }),
        destroy: () => fail('unreachable', 'socket hang up'),
      };
      const { pathname, search } = new URL(url);
      const request = { method, url: pathname + search, headers: lower };
      setImmediate(() => handle(fake, request, body, response as unknown as ServerResponse));
    });
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
    { type: 'load-balancer', name: 'octavia', endpoints: endpoints('/load-balancer') },
    { type: 'block-storage', name: 'cinder', endpoints: endpoints('/block-storage/v3') },
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

function handle(
  fake: FakeOpenStack,
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: string,
  response: ServerResponse,
): void {
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
  // Octavia tells its versions to everybody.
  const isOpen = service === 'load-balancer' && call.path === '/';
  if (!isOpen && !fake.accessRules.some((rule) => lets(rule, service, call.method, url.pathname))) {
    answerJson(response, 401, { error: { code: 401, title: 'Unauthorized', message: 'Token authorization failed' } });
    return;
  }
  if (fake.more.some((answer) => answer(call, response) === 'answered')) return;
  if (service === 'compute') nova(fake, call, response, url);
  else if (service === 'network') neutron(fake, call, response, url);
  else if (service === 'block-storage') cinder(fake, call, response, url);
  else answerText(response, 404, '404 page not found');
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

async function readBody(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
