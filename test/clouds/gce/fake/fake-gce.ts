import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { compute_v1 } from '@googleapis/compute';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../../../common/process/clock.ts';
import { type Http, HttpFailure } from '../../../../common/process/http.ts';
import { type FakeAnswer, type FakeCall, FakeRefusal, filtered, notFound, pageOf } from './fake-api.ts';
import { createBalancing, type FakeBalancing } from './fake-balancing.ts';
import { createIdentity, type FakeIdentity } from './fake-identity.ts';
import { createOperations, type FakeOperations } from './fake-operations.ts';
import { permissionsOf } from './fake-permissions.ts';
import { partialResponse } from './partial-response.ts';

type Vm = compute_v1.Schema$Instance;
type Route = compute_v1.Schema$Route;

interface FakeVm {
  wire: Vm;
  readonly createdAt: number;
  deletedAt: number | undefined;
}

/** One project of Compute Engine, as far as Mooring uses it. */
export interface FakeGce {
  readonly calls: FakeCall[];
  readonly identity: FakeIdentity;
  readonly operations: FakeOperations;
  readonly balancing: FakeBalancing;
  readonly routes: Map<string, Route>;
  readonly disks: compute_v1.Schema$Disk[];
  readonly project: string;
  /** What links begin with. */
  api: string;
  /** Zones whose VMs no list shows. */
  readonly unreachable: Set<string>;
  /** Permissions that calls have needed. */
  readonly used: Set<string>;
  /** All that the credential has. Undefined: everything. */
  granted: ReadonlySet<string> | undefined;
  /** Permissions that `testIamPermissions` does not tell. */
  readonly denied: Set<string>;
  /** Lists show what was so long ago; requests by name show what is. */
  lagMs: number;
  maxRoutes: number;
  /** Answers instead of the API. */
  fault: ((call: FakeCall) => FakeAnswer | undefined) | undefined;
  readonly http: Http;
  addVm(name: string, more?: Vm & { readonly in?: string }): Vm;
  vm(zone: string, name: string): FakeVm | undefined;
  deleteVm(zone: string, name: string): void;
  nextId(): string;
  answer(call: FakeCall): Promise<FakeAnswer>;
}

export const zones = ['us-central1-a', 'us-central1-b', 'europe-west1-d'] as const;
export const network = 'default';

export function createFakeGce(clock: Clock, project = 'proj'): FakeGce {
  let last = 4_000_000_000_000_000_000n;
  const vms: FakeVm[] = [];
  const identity = createIdentity(clock);
  const nextId = () => String(++last);
  const operations = createOperations(clock, nextId);
  const balancing = createBalancing({
    operations,
    project,
    zones,
    nextId,
    api: () => fake.api,
    isInstance: (path) => standing(path.split('/')[1]!, path.split('/').at(-1)!) !== undefined,
  });

  function standing(zone: string, name: string): FakeVm | undefined {
    return vms.find(({ wire, deletedAt }) => deletedAt === undefined && wire.name === name && zoneOf(wire) === zone);
  }
  /** Those that a list shows, in the order of zones and names. */
  function listed(): Vm[] {
    const at = clock.now() - fake.lagMs;
    return vms
      .filter(({ createdAt, deletedAt }) => createdAt <= at && (deletedAt === undefined || deletedAt > at))
      .map(({ wire }) => wire)
      .sort((a, b) => (`${zoneOf(a)}/${a.name}` < `${zoneOf(b)}/${b.name}` ? -1 : 1));
  }

  function aggregated({ query }: FakeCall): object {
    const isPartial = query.get('returnPartialSuccess') === 'true';
    if (fake.unreachable.size > 0 && !isPartial) throw new FakeRefusal(503, 'backendError', 'Backend Error');
    const reached = listed().filter((vm) => !fake.unreachable.has(zoneOf(vm)));
    const page = pageOf(filtered(reached, query.get('filter')), query);
    const items = zones.map((zone) => {
      const instances = page.items.filter((vm) => zoneOf(vm) === zone);
      const code = fake.unreachable.has(zone) ? 'UNREACHABLE' : 'NO_RESULTS_ON_PAGE';
      const message = `There are no results for scope 'zones/${zone}' on this page.`;
      const warning = { code, message, data: [{ key: 'scope', value: `zones/${zone}` }] };
      return [`zones/${zone}`, instances.length > 0 ? { instances } : { warning }] as const;
    });
    const unreachables = [...fake.unreachable].map((zone) => `projects/${project}/zones/${zone}`);
    return {
      kind: 'compute#instanceAggregatedList',
      items: Object.fromEntries(items),
      ...page.next,
      ...(unreachables.length > 0 ? { unreachables } : {}),
    };
  }

  /** Of each zone, and of each region its replicated ones. */
  function aggregatedDisks({ query }: FakeCall): object {
    const reached = fake.disks.filter((one) => !fake.unreachable.has(String(one.zone).split('/').at(-1)!));
    const page = pageOf(filtered(reached, query.get('filter')), query);
    const groups = Map.groupBy(page.items, placeOfDisk);
    const unreachables = [...fake.unreachable].map((zone) => `projects/${project}/zones/${zone}`);
    return {
      kind: 'compute#diskAggregatedList',
      items: Object.fromEntries([...groups].map(([place, disks]) => [place, { disks }])),
      ...page.next,
      ...(unreachables.length > 0 ? { unreachables } : {}),
    };
  }

  function disk({ method }: FakeCall, place: string, name: string | undefined): object {
    const found = fake.disks.find((one) => one.name === name && placeOfDisk(one) === place);
    if (method === 'GET' && found !== undefined) return found;
    throw notFound(`projects/${project}/${place}/disks/${name ?? ''}`);
  }

  function zonal(zone: string, [collection, name]: readonly string[], { query }: FakeCall): object {
    if (!zones.some((one) => one === zone))
      throw new FakeRefusal(400, 'invalid', `Invalid value for field 'zone': '${zone}'. Unknown zone.`);
    if (collection !== 'instances') throw notFound(`projects/${project}/zones/${zone}/${collection}`);
    if (fake.unreachable.has(zone)) throw new FakeRefusal(503, 'backendError', 'Backend Error');
    if (name !== undefined) {
      const found = standing(zone, name);
      if (found === undefined) throw notFound(`projects/${project}/zones/${zone}/instances/${name}`);
      return found.wire;
    }
    const here = listed().filter((vm) => zoneOf(vm) === zone);
    const page = pageOf(filtered(here, query.get('filter')), query);
    return { kind: 'compute#instanceList', ...(page.items.length > 0 ? { items: page.items } : {}), ...page.next };
  }

  function showRoute(route: Route): Route {
    const [, zone = '', name = ''] = /\/zones\/([^/]+)\/instances\/([^/]+)$/.exec(route.nextHopInstance ?? '') ?? [];
    if (zone === '' || standing(zone, name) !== undefined) return route;
    const warning = { code: 'NEXT_HOP_INSTANCE_NOT_FOUND', message: `Next hop instance '${name}' was not found.` };
    return { ...route, warnings: [warning] };
  }
  function insertRoute(body: Route): object {
    const { name = '', destRange, nextHopInstance, network: of } = body;
    const path = `projects/${project}/global/routes/${name}`;
    if (!name || !/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name))
      throw new FakeRefusal(400, 'invalid', `Invalid value for field 'resource.name': '${name}'.`);
    if (!destRange || !nextHopInstance || !of)
      throw new FakeRefusal(400, 'required', "Required field 'resource' not specified");
    if (fake.routes.has(name) || operations.isPending(path))
      throw new FakeRefusal(409, 'alreadyExists', `The resource '${path}' already exists`);
    if (fake.routes.size >= fake.maxRoutes)
      throw new FakeRefusal(403, 'quotaExceeded', `Quota 'ROUTES' exceeded.  Limit: ${fake.maxRoutes}.0 globally.`);
    // A partial URL is one of this project.
    const pathOf = (url: string) => /projects\/.*$/.exec(url)?.[0] ?? `projects/${project}/${url}`;
    const link = (url: string) => `${fake.api}/${pathOf(url)}`;
    const id = nextId();
    return operations.start('insert', path, () => {
      const links = { network: link(of), nextHopInstance: link(nextHopInstance), selfLink: `${fake.api}/${path}` };
      fake.routes.set(name, { ...body, ...links, destRange: shownRange(destRange), kind: 'compute#route', id });
    });
  }
  function global([collection, name]: readonly string[], { method, query, text }: FakeCall) {
    if (collection !== 'routes') throw notFound(`projects/${project}/global/${collection}/${name ?? ''}`);
    if (method === 'POST') return insertRoute(JSON.parse(text));
    const path = `projects/${project}/global/routes/${name}`;
    if (name === undefined) {
      const page = pageOf(filtered([...fake.routes.values()].map(showRoute), query.get('filter')), query);
      return { kind: 'compute#routeList', ...(page.items.length > 0 ? { items: page.items } : {}), ...page.next };
    }
    const route = fake.routes.get(name);
    if (route === undefined) throw notFound(path);
    if (method === 'DELETE') return operations.start('delete', path, () => fake.routes.delete(name));
    return showRoute(route);
  }

  async function operation(scope: string, [collection, name, verb]: readonly string[], { method }: FakeCall) {
    if (collection !== 'operations' || name === undefined || (verb !== 'wait' && method !== 'GET')) return undefined;
    return operations.read(name, `${project}/${scope}`, verb === 'wait');
  }
  async function route(call: FakeCall): Promise<object> {
    const [, , , collection, of = '', scope, ...rest] = call.path.split('/');
    if (collection !== 'projects') throw new FakeRefusal(404, 'notFound', 'Not Found');
    if (of !== project && of !== '881234567890') throw notFound(`projects/${of}`);
    if (scope === undefined) return { kind: 'compute#project', id: '881234567890', name: project };
    if (scope === 'aggregated' && rest[0] === 'instances') return aggregated(call);
    if (scope === 'aggregated' && rest[0] === 'disks') return aggregatedDisks(call);
    if ((scope === 'zones' || scope === 'regions') && rest[1] === 'disks')
      return disk(call, `${scope}/${rest[0]}`, rest[2]);
    if (scope === 'aggregated' && rest[0] === 'instanceGroups') return balancing.aggregatedGroups(call);
    const [place, below] = scope === 'global' ? [scope, rest] : [`${scope}/${rest[0]}`, rest.slice(1)];
    const found = (await operation(place, below, call)) ?? balancing.answer(call, place, below);
    if (found !== undefined) return found;
    if (scope === 'global') return global(rest, call);
    if (scope === 'zones' && rest.length === 0) {
      const regions = `${fake.api}/projects/${project}/regions`;
      const all = zones.map((name) => ({ name, region: `${regions}/${regionOf(name)}` }));
      return { items: filtered(all, call.query.get('filter')) };
    }
    if (scope === 'zones') return zonal(rest[0]!, rest.slice(1), call);
    throw notFound(`projects/${project}/${scope}`);
  }
  function testPermissions({ text }: FakeCall): FakeAnswer {
    const { permissions } = JSON.parse(text) as { readonly permissions: readonly string[] };
    const granted = permissions.filter((one) => !fake.denied.has(one) && fake.granted?.has(one) !== false);
    return { status: 200, body: granted.length > 0 ? { permissions: granted } : {} };
  }

  const fake: FakeGce = {
    calls: [],
    identity,
    operations,
    balancing,
    routes: new Map(),
    disks: [],
    project,
    unreachable: new Set(),
    denied: new Set(),
    used: new Set(),
    granted: undefined,
    api: 'https://www.googleapis.com/compute/v1',
    lagMs: 0,
    maxRoutes: 250,
    fault: undefined,
    nextId,
    vm: standing,
    addVm(name, { in: zone = zones[0], ...more } = {}) {
      const id = nextId();
      const number = Number(BigInt(id) % 60_000n);
      const path = `${fake.api}/projects/${project}/zones/${zone}`;
      const wire: Vm = {
        kind: 'compute#instance',
        id,
        name,
        zone: path,
        status: 'RUNNING',
        canIpForward: true,
        machineType: `${path}/machineTypes/e2-standard-4`,
        selfLink: `${path}/instances/${name}`,
        networkInterfaces: [
          {
            name: 'nic0',
            network: `${fake.api}/projects/${project}/global/networks/${network}`,
            networkIP: `10.128.${number >> 8}.${number % 256}`,
            accessConfigs: [{ type: 'ONE_TO_ONE_NAT', natIP: `203.0.${number >> 8}.${number % 256}` }],
          },
        ],
        ...more,
      };
      vms.push({ wire, createdAt: clock.now(), deletedAt: undefined });
      return wire;
    },
    deleteVm(zone, name) {
      const found = standing(zone, name);
      if (found) found.deletedAt = clock.now();
      balancing.dropInstance(`zones/${zone}/instances/${name}`);
    },
    async answer(call) {
      fake.calls.push(call);
      operations.settle();
      try {
        const instead = fake.fault?.(call) ?? identity.answer(call);
        if (instead !== undefined) return instead;
        if (!identity.isValid(call.headers['authorization']?.replace('Bearer ', '') ?? ''))
          throw new FakeRefusal(401, 'authError', 'Invalid Credentials');
        for (const one of permissionsOf(call, balancing.addressType)) {
          fake.used.add(one);
          if (fake.granted?.has(one) === false)
            throw new FakeRefusal(403, 'forbidden', `Required '${one}' permission for 'projects/${project}'`);
        }
        if (call.path === `/v1/projects/${project}:testIamPermissions`) return testPermissions(call);
        return { status: 200, body: partialResponse(await route(call), call.query.get('fields')) };
      } catch (error) {
        if (!(error instanceof FakeRefusal)) throw error;
        return error.answer;
      }
    },
    async http({ url, method = 'GET', headers = {}, body, signal }) {
      if (signal?.aborted) throw new HttpFailure('aborted', 'given up');
      const { pathname: path, searchParams: query, host } = new URL(url);
      const { status, ...rest } = await fake.answer({
        method,
        path,
        query,
        text: body ?? '',
        headers: { ...headers, host },
      });
      return { status, header: (name) => rest.headers?.[name.toLowerCase()] ?? null, text: textOf(rest.body) };
    },
  };
  return fake;
}

/** IPv6 is shown with all of its groups: `fd00:10:1:0:0:0:0:0/64`. */
function shownRange(range: string): string {
  const [address = '', bits] = range.split('/');
  return range.includes(':') ? `${ipaddr.IPv6.parse(address).toNormalizedString()}/${bits}` : range;
}

const zoneOf = ({ zone }: Vm) => String(zone).split('/').at(-1)!;
const placeOfDisk = ({ zone, region }: compute_v1.Schema$Disk) =>
  zone ? `zones/${zone.split('/').at(-1)}` : `regions/${String(region).split('/').at(-1)}`;
const regionOf = (zone: string) => zone.replace(/-[^-]*$/, '');

function textOf(body: unknown): string {
  return body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
}

export interface ListeningFake {
  /** `http://host:port` */
  readonly url: string;
  close(): Promise<void>;
}

/** The fake behind a socket. */
export async function listen(fake: FakeGce): Promise<ListeningFake> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://fake');
      const headers = request.headers as Readonly<Record<string, string>>;
      const text = Buffer.concat(chunks).toString();
      const answer = await fake.answer({ method: request.method ?? 'GET', path, query, text, headers });
      response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
      response.end(textOf(answer.body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}
