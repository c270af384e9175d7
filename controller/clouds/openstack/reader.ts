import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { AnswerFields } from '../answer-fields.ts';
import type { Lookup } from '../cloud.ts';
import type { InstanceReader, Listed, Named } from '../lookup-pass.ts';
import { inParallel } from '../parallel.ts';
import type { Urgency } from '../urgency.ts';
import { addressesOf, type ServerPorts } from './addresses.ts';
import type { OpenStackClient, Query } from './client.ts';
import type { NetworkingOptions } from './config.ts';
import type { Flavors } from './flavors.ts';
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
  /** It ended the list early. */
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

  /** One that cannot be read is left out: the request by its id tells why. */
  async function listServers(query: Query, urgency: Urgency, signal: AbortSignal | undefined): Promise<ServerList> {
    const servers = new Map<string, Server>();
    try {
      const request = { service: 'compute', path: '/servers/detail', query, urgency, signal } as const;
      for await (const page of client.pages(request, 'servers')) {
        for (const server of page.flatMap(readable)) servers.set(server.id, server);
      }
    } catch (error) {
      if (!isCloudError(error)) throw error;
      return { servers, failure: error };
    }
    return { servers, failure: undefined };
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
    try {
      const answer = (await client.get({ service: 'compute', path: `/servers/${id}`, signal })).object('server');
      const server = readServer(answer);
      if (server.id !== id) throw answer.wrong('id', 'the id that was asked for');
      return server;
    } catch (error) {
      if (isCloudError(error) && error.kind === 'NotFound') return { state: 'absent' };
      return unknown(error);
    }
  }

  return {
    async list(ids, signal) {
      const { servers, failure } = await allServers(signal);
      const rest: Listed = failure === undefined ? { state: 'missing' } : unknown(failure);
      const answers = new Map<string, Listed>(ids.map((id) => [id, rest]));
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
        else if (same.length > 1) answers.set(name, unknown(several(name, same)));
        else if (same[0] === undefined)
          answers.set(name, unknown(nameError('NotFound', `no server is called ${name}`)));
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

function several(name: string, servers: readonly Server[]): CloudError {
  return nameError('Conflict', `several servers are called ${name}: ${servers.map(({ id }) => id).join(', ')}`);
}

function nameError(kind: 'Conflict' | 'NotFound', message: string): CloudError {
  return new CloudError({ kind, cloud: 'openstack', operation: 'GET /servers/detail', message });
}

function readable(item: AnswerFields): Server[] {
  try {
    return [readServer(item)];
  } catch {
    return [];
  }
}
