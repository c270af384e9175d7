import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { Lookup } from '../cloud.ts';
import type { InstanceReader, Listed, Named } from '../lookup-pass.ts';
import { inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import { addressesOf, type ServerPorts } from './addresses.ts';
import type { OpenStackClient, Query } from './client.ts';
import type { NetworkingOptions } from './config.ts';
import type { Flavors } from './flavors.ts';
import { objectOf } from './json.ts';
import { portsOf } from './ports.ts';
import { isTerminal, labelValue, powerOf, readServer, type Server } from './server.ts';

export interface ReaderOptions {
  readonly client: OpenStackClient;
  readonly flavors: Flavors;
  readonly region: string | undefined;
  /** With the region where this cloud writes it. */
  providerIDOf(serverId: string): string;
  readonly networking: NetworkingOptions;
  /** Whether the machines of this cloud boot with the server id as SMBIOS UUID. */
  readonly tellsUuid: boolean;
}

export const hostIdLabel = 'topology.openstack.org/host-id';
const callsAtOnce = 4;
/** Up to so many names are searched one by one. */
const namesAtOnce = 5;

type Seen = Exclude<Lookup, { readonly state: 'absent' }>;
interface ServerList {
  readonly servers: ReadonlyMap<string, Server>;
  /** Servers of the answer that lack a field, by id. */
  readonly unreadable: ReadonlyMap<string, CloudError>;
  readonly failure: CloudError | undefined;
}

/**
 * Reads servers of one project and region, for one pass: the list of all servers is read at most once.
 *
 * `absent` is Nova's own 404 (`itemNotFound`) to `GET /servers/{id}` and nothing else; a 404 without that body may be a
 * proxy's. A server that a list leaves out is only a suspect. Addresses and type belong to the answer: where Neutron or
 * the flavour cannot be read, the server is `unknown` rather than found with a part of its facts.
 */
export function createReader({
  client,
  flavors,
  region,
  providerIDOf,
  networking,
  tellsUuid,
}: ReaderOptions): InstanceReader {
  let everything: Promise<ServerList> | undefined;

  async function listServers(query: Query, urgency: Urgency, signal: AbortSignal | undefined): Promise<ServerList> {
    const request = {
      service: 'compute',
      path: '/servers/detail',
      operation: 'GET /servers/detail',
      query,
      urgency,
      signal,
    } as const;
    const { items, failure } = await client.list(request, 'servers');
    const servers = new Map<string, Server>();
    const unreadable = new Map<string, CloudError>();
    for (const item of items) {
      const server = readServer(item);
      if (!('lacks' in server)) servers.set(server.id, server);
      else if (server.id !== undefined) unreadable.set(server.id, lacking(server.id, server.lacks, request.operation));
    }
    return { servers, unreadable, failure };
  }

  function allServers(signal: AbortSignal | undefined): Promise<ServerList> {
    everything ??= listServers([['limit', '1000']], 'refresh', signal);
    return everything;
  }

  /** The servers with what Neutron and the flavours add; a failure there is each server's own answer. */
  async function complete(
    servers: readonly Server[],
    request: 'list' | 'id',
    signal: AbortSignal | undefined,
  ): Promise<Map<string, Seen>> {
    const alive = servers.filter(({ status }) => !isTerminal(status));
    const answers = new Map<string, Seen>();
    for (const { id, status } of servers) {
      if (isTerminal(status)) answers.set(id, { state: 'gone', terminalState: status, incarnation: id });
    }
    if (alive.length === 0) return answers;
    try {
      const ports = await portsOf(
        client,
        alive.map(({ id }) => id),
        signal,
      );
      await inParallel(callsAtOnce, alive, async (server) => {
        answers.set(server.id, await found(server, ports.get(server.id)!, request, signal));
      });
    } catch (error) {
      for (const { id } of alive) answers.set(id, unknown(error));
    }
    return answers;
  }

  async function found(
    server: Server,
    ports: ServerPorts,
    request: 'list' | 'id',
    signal: AbortSignal | undefined,
  ): Promise<Seen> {
    let type: string | undefined;
    try {
      type = await flavors.typeOf(server, signal);
    } catch (error) {
      return unknown(error);
    }
    const zone = labelValue(server.zone);
    const hostId = labelValue(server.hostId);
    return {
      state: 'found',
      power: powerOf(server),
      request,
      instance: {
        cloud: 'openstack',
        id: server.id,
        providerID: providerIDOf(server.id),
        incarnation: server.id,
        name: server.name,
        ...(zone === undefined ? {} : { zone }),
        ...(region === undefined ? {} : { region }),
        ...(type === undefined ? {} : { type }),
        addresses: addressesOf(server, ports, networking),
        ...(tellsUuid && server.smbiosUuid !== undefined ? { smbiosUuid: server.smbiosUuid } : {}),
        ...(hostId === undefined ? {} : { labels: { [hostIdLabel]: hostId } }),
        tags: server.metadata,
      },
    };
  }

  async function getServer(id: string, signal: AbortSignal | undefined): Promise<Server | Lookup> {
    const operation = 'GET /servers/{id}';
    try {
      const body = objectOf(await client.get({ service: 'compute', path: `/servers/${id}`, operation, signal }));
      const server = readServer(body?.['server']);
      if ('lacks' in server) return { state: 'unknown', error: lacking(id, server.lacks, operation) };
      if (server.id !== id) return { state: 'unknown', error: lacking(id, 'the id that was asked for', operation) };
      return server;
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return { state: 'absent' };
      return unknown(error);
    }
  }

  return {
    async list(ids, signal) {
      const { servers, unreadable, failure } = await allServers(signal);
      const answers = new Map<string, Listed>();
      for (const id of ids) {
        const error = unreadable.get(id) ?? failure;
        answers.set(id, error === undefined ? { state: 'missing' } : { state: 'unknown', error });
      }
      const desired = ids.flatMap((id) => servers.get(id) ?? []);
      for (const [id, lookup] of await complete(desired, 'list', signal)) answers.set(id, lookup);
      return answers;
    },

    async get(ids, signal) {
      const answers = new Map<string, Lookup>();
      const servers: Server[] = [];
      await inParallel(callsAtOnce, ids, async (id) => {
        const answer = await getServer(id, signal);
        if ('state' in answer) answers.set(id, answer);
        else servers.push(answer);
      });
      for (const [id, lookup] of await complete(servers, 'id', signal)) answers.set(id, lookup);
      return answers;
    },

    async byName(names, signal) {
      const answers = new Map<string, Named>();
      const hits = new Map<string, Server>();
      const search = async (name: string, list: ServerList) => {
        // Nova's match is a regular expression of the database, in some without regard to case.
        const same = [...list.servers.values()].filter((server) => server.name === name && !isTerminal(server.status));
        if (list.failure !== undefined) answers.set(name, unknown(list.failure));
        else if (same.length > 1) answers.set(name, several(name, same));
        else if (same[0] === undefined) answers.set(name, noInstance(name));
        else hits.set(name, same[0]);
      };
      if (names.length > namesAtOnce) {
        const list = await allServers(signal);
        for (const name of names) await search(name, list);
      } else {
        await inParallel(callsAtOnce, names, async (name) => {
          const pattern = `^${name.replace(/[.\\+*?()|[\]{}^$]/g, '\\$&')}$`;
          await search(name, await listServers([['name', pattern]], 'need', signal));
        });
      }
      const lookups = await complete([...new Set(hits.values())], 'list', signal);
      for (const [name, { id }] of hits) answers.set(name, lookups.get(id)!);
      return answers;
    },
  };
}

function unknown(error: unknown): Lookup & { state: 'unknown' } {
  if (isCloudError(error)) return { state: 'unknown', error };
  const message = error instanceof Error ? error.message : String(error);
  return {
    state: 'unknown',
    error: new CloudError({ kind: 'Unavailable', cloud: 'openstack', operation: 'lookup', message, cause: error }),
  };
}

function lacking(id: string, field: string, operation: string): CloudError {
  const message = `server ${id}: the answer lacks ${field}`;
  return new CloudError({ kind: 'Invalid', cloud: 'openstack', operation, message });
}

function several(name: string, servers: readonly Server[]): Named {
  const message = `several servers are called ${name}: ${servers.map(({ id }) => id).join(', ')}`;
  const operation = 'GET /servers/detail';
  return { state: 'unknown', error: new CloudError({ kind: 'Conflict', cloud: 'openstack', operation, message }) };
}

function noInstance(name: string): Named {
  const operation = 'GET /servers/detail';
  const message = `no server is called ${name}`;
  return { state: 'unknown', error: new CloudError({ kind: 'NotFound', cloud: 'openstack', operation, message }) };
}
