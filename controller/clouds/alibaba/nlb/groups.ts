import type { Kind, WriteIo } from '../../../engine/resource.ts';
import { answerFields } from '../../answer-fields.ts';
import { settleMs } from '../clb/balancers.ts';
import { kindNames, type Server, type Servers, type Tags } from '../clb/found.ts';
import { mark, tag, tagChanges, tagList } from '../clb/tags.ts';
import type { AlibabaClient, Params } from '../client.ts';
import { cloud } from '../fault.ts';
import type { Place } from '../place.ts';
import {
  namingMissing,
  type ServerActions,
  type ServerEdit,
  type ServerLookups,
  serverChanges,
  serversAfter,
} from '../servers.ts';
import { differing, jobIn, send } from './calls.ts';
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
    compare(found, { name, tags, fields }) {
      const what = `server group ${name}`;
      const changes = tagChanges(found, tags, what);
      const news = differing(found.body.wire, asShown(fields));
      const summary = `${what}: ${news.join(', ')}`;
      if (news.length > 0) changes.push({ what: 'set', phase: 'set', summary, body: fields });
      return changes.length === 0 ? { same: true } : { changes };
    },
    async create({ spec: { name, tags, protocol, fields, atCreation } }, _inside, io) {
      const wire = { ServerGroupName: name, Protocol: protocol, ServerGroupType: 'Instance', ...atCreation, ...fields };
      const params = { ...wire, VpcId: await place.vpc(io.signal), Tag: tagList(tags) };
      const answer = await client.change('nlb', 'CreateServerGroup', params, io);
      const id = answer.text('ServerGroupId');
      return { id, found: [shown({ ...asShown(wire), ServerGroupId: id, Tags: tagList(tags) })], ...jobIn(answer) };
    },
    async update(found, { what, body }, io) {
      if (what === 'tags') return tag(client, 'servergroup', found.id, body as Tags, io);
      const params = { ServerGroupId: found.id, ...(body as Params) };
      const job = await send(client, 'UpdateServerGroupAttribute', params, io);
      const wire = { ...found.body.wire, ...asShown(body as Params) };
      return { found: [{ ...found, body: { ...found.body, wire } }], ...job };
    },
    remove: ({ id }, io) => send(client, 'DeleteServerGroup', { ServerGroupId: id }, io),
    mark: (found, as, want, io) => mark(client, 'servergroup', found, as, want, io),
  };
}

/** `Ecs`, `Eni`, ... */
function typeOf({ type }: Pick<NonNullable<Server['other']>, 'type'> = { type: 'ecs' }): string {
  return type[0]!.toUpperCase() + type.slice(1);
}

/** What is in a group: it goes with the group. */
export function serversKind(lookups: ServerLookups): Kind<ServersSpec, Servers> {
  const { client } = lookups;
  function change(group: string, { action, name, servers }: ServerEdit, io: WriteIo) {
    const sent = servers.map(({ id, port, weight, other }) => ({
      ServerId: id,
      ServerType: typeOf(other),
      Port: port,
      ...(other && { ServerIp: other.ip }),
      ...(action !== actions.remove && { Weight: weight, Description: name }),
    }));
    const added = action === actions.add ? servers : [];
    const params = { ServerGroupId: group, Servers: sent };
    return send(client, action, params, io).catch(namingMissing(lookups, added, io));
  }
  return {
    kind: kindNames.servers,
    within: kindNames.networkGroup,
    retryCreate: 'afterSearch',
    compare({ body }, { name, servers }) {
      const changes = serverChanges(name, body.servers, servers, atOnce, actions);
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { servers } }) => ({ body: { servers: servers.slice(0, atOnce), members: [] } }),
    async create({ key, spec: { name, servers } }, _inside, io) {
      const first = servers.slice(0, atOnce);
      const job = await change(io.within!, { action: actions.add, name, servers: first }, io);
      const found = foundServers({ id: io.within!, key }, first, await client.region(io.signal));
      return { id: found.id, found: [found], ...job };
    },
    async update(found, { body }, io) {
      const edit = body as ServerEdit;
      const job = await change(found.within!, edit, io);
      const servers = serversAfter(found.body.servers, edit);
      const now = foundServers({ id: found.within!, key: found.key }, servers, await client.region(io.signal));
      return { found: [now], ...job };
    },
  };
}
