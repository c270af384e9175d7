import type { Change, Kind } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import { settleMs } from '../clb/balancers.ts';
import { kindNames, type Server, type Servers, type Tags } from '../clb/found.ts';
import { mark, tag, tagList } from '../clb/tags.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { cloud } from '../fault.ts';
import type { Place } from '../place.ts';
import {
  refusedServers,
  type ServerActions,
  type ServerEdit,
  type ServerLookups,
  serverChanges,
  serversAfter,
} from '../servers.ts';
import { differing, send } from './calls.ts';
import { foundNetworkGroup, foundServers, type NetworkGroup } from './found.ts';

export interface NetworkGroupSpec {
  readonly name: string;
  readonly tags: Tags;
  /** `TCP`, `UDP` or `TCPSSL`: it cannot be changed, and stands in the key. */
  readonly protocol: string;
  /** In the wire's fields, only those that were chosen. */
  readonly fields: Params;
  /** Only for the create. */
  readonly atCreation: Params;
}

export interface ServersSpec {
  readonly name: string;
  readonly servers: readonly Server[];
}

/** The most that one call takes. */
const atOnce = 40;
const actions: ServerActions = {
  add: 'AddServersToServerGroup',
  weigh: 'UpdateServerGroupServersAttribute',
  remove: 'RemoveServersFromServerGroup',
};

/** The servers of a listener: what it asks of them, and how connections are spread. */
export function networkGroupKind(
  client: AlibabaClient,
  place: Place,
  clusterId: string,
): Kind<NetworkGroupSpec, NetworkGroup> {
  const shown = (wire: Readonly<Record<string, unknown>>) =>
    foundNetworkGroup(answerFields(wire, { cloud, operation: 'CreateServerGroup' }), clusterId);
  /** What is written under one name is shown under another. */
  const asShown = ({ HealthCheckConfig: HealthCheck, ...fields }: Params) => ({ ...fields, HealthCheck });
  return {
    kind: kindNames.networkGroup,
    locks: true,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body, owner }, { name, tags, fields }) {
      const changes: Change[] = [];
      const news = differing(body.wire, asShown(fields));
      const summary = `server group ${name}: ${news.join(', ')}`;
      if (news.length > 0) changes.push({ what: 'set', phase: 'set', summary, body: fields });
      const missing = Object.entries(tags).filter(([key, value]) => body.tags[key] !== value);
      if (owner !== undefined && missing.length > 0)
        changes.push({
          what: 'tags',
          phase: 'set',
          summary: `server group ${name}: tags ${missing.map(([key]) => key)}`,
          body: Object.fromEntries(missing),
        });
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec: { name, tags, protocol, fields, atCreation } }, _inside, io) {
      const wire = { ServerGroupName: name, Protocol: protocol, ServerGroupType: 'Instance', ...atCreation, ...fields };
      const params = { ...wire, VpcId: await place.vpc(io.signal), Tag: tagList(tags) };
      const { answer, ...job } = await send(client, 'CreateServerGroup', params, io);
      const id = answer.text('ServerGroupId');
      return { id, found: [shown({ ...asShown(wire), ServerGroupId: id, Tags: tagList(tags) })], ...job };
    },
    async update(found, { what, body }, io) {
      if (what === 'tags') {
        await tag(client, 'servergroup', found.id, body as Tags, io);
        return {};
      }
      const params = { ServerGroupId: found.id, ...(body as Params) };
      const { answer: _, ...job } = await send(client, 'UpdateServerGroupAttribute', params, io);
      const wire = { ...found.body.wire, ...asShown(body as Params) };
      return { found: [{ ...found, body: { ...found.body, wire } }], ...job };
    },
    async remove({ id }, io) {
      const { answer: _, ...job } = await send(client, 'DeleteServerGroup', { ServerGroupId: id }, io);
      return job;
    },
    mark: (found, as, want, io) => mark(client, 'servergroup', found, as, want, io),
  };
}

/** `Ecs`, `Eni`, ... */
function typeOf({ type }: Pick<NonNullable<Server['other']>, 'type'> = { type: 'ecs' }): string {
  return type[0]!.toUpperCase() + type.slice(1);
}

type NamedEdit = { readonly edit: ServerEdit; readonly name: string };

/** What is in a group: it goes with the group. */
export function serversKind(lookups: ServerLookups): Kind<ServersSpec, Servers> {
  const { client } = lookups;
  async function change(group: string, edit: ServerEdit, name: string, io: Parameters<typeof send>[3]) {
    const removes = edit.action === actions.remove;
    const sent = edit.servers.map(({ id, port, weight, other }) => ({
      ServerId: id,
      ServerType: typeOf(other),
      Port: port,
      ...(other && { ServerIp: other.ip }),
      ...(!removes && { Weight: weight, Description: name }),
    }));
    const params = { ServerGroupId: group, Servers: sent };
    const { answer: _, ...job } = await send(client, edit.action, params, io).catch(async (error: unknown) => {
      throw edit.action === actions.add ? await refusedServers(lookups, error, edit.servers, io) : error;
    });
    return job;
  }
  return {
    kind: kindNames.servers,
    within: kindNames.networkGroup,
    retryCreate: 'afterSearch',
    compare({ body }, { name, servers }) {
      const changes = serverChanges(`server group ${name}`, body.servers, servers, atOnce, actions).map((one) => {
        return { ...one, body: { edit: one.body as ServerEdit, name } satisfies NamedEdit };
      });
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { servers } }) => ({ body: { servers: servers.slice(0, atOnce), members: [] } }),
    async create({ key, spec: { name, servers } }, _inside, io) {
      const first = servers.slice(0, atOnce);
      const job = await change(io.within!, { action: actions.add, servers: first }, name, io);
      const found = foundServers({ id: io.within!, key }, first, await client.region(io.signal));
      return { id: found.id, found: [found], ...job };
    },
    async update(found, { body }, io) {
      const { edit, name } = body as NamedEdit;
      const job = await change(found.within!, edit, name, io);
      const servers = serversAfter(found.body.servers, edit);
      const now = foundServers({ id: found.within!, key: found.key }, servers, await client.region(io.signal));
      return { found: [now], ...job };
    },
  };
}
