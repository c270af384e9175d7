import type { Kind } from '../../../engine/resource.ts';
import {
  namingMissing,
  type ServerActions,
  type ServerEdit,
  type ServerLookups,
  serverChanges,
  serversAfter,
} from '../servers.ts';
import { foundGroup, type Group, kindNames, type Server } from './found.ts';

export interface GroupSpec {
  readonly name: string;
  readonly servers: readonly Server[];
}

/** The most that one call takes. */
const atOnce = 20;
const actions: ServerActions = {
  add: 'AddVServerGroupBackendServers',
  weigh: 'SetVServerGroupAttribute',
  remove: 'RemoveVServerGroupBackendServers',
};

/** The servers behind the listeners of one node port. */
export function groupKind(lookups: ServerLookups): Kind<GroupSpec, Group> {
  const { client } = lookups;
  const sent = (servers: readonly Server[], description: string) =>
    JSON.stringify(
      servers.map(({ id, port, weight, other }) => ({
        ServerId: id,
        Port: String(port),
        Weight: String(weight),
        Type: other?.type ?? 'ecs',
        ...(other && { ServerIp: other.ip }),
        Description: description,
      })),
    );

  return {
    kind: kindNames.group,
    within: kindNames.balancer,
    retryCreate: 'afterSearch',
    compare: ({ body }, { name, servers }) => {
      const changes = serverChanges(name, body.servers, servers, atOnce, actions);
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { name, servers } }) => ({ body: { name, servers: servers.slice(0, atOnce), members: [] } }),
    async create({ spec: { name, servers } }, _inside, io) {
      const first = servers.slice(0, atOnce);
      const params = {
        LoadBalancerId: io.within,
        VServerGroupName: name,
        ...(first.length > 0 && { BackendServers: sent(first, name) }),
      };
      const creating = client.change('slb', 'CreateVServerGroup', params, io);
      const answer = await creating.catch(namingMissing(lookups, first, io));
      const id = answer.text('VServerGroupId');
      const parts = { id, within: io.within!, name, servers: first };
      return { id, found: [foundGroup(parts, io.owner, await client.region(io.signal))] };
    },
    async update(found, change, io) {
      const edit = change.body as ServerEdit;
      const params = { VServerGroupId: found.id, BackendServers: sent(edit.servers, edit.name) };
      const added = edit.action === actions.add ? edit.servers : [];
      await client.change('slb', edit.action, params, io).catch(namingMissing(lookups, added, io));
      const region = await client.region(io.signal);
      const parts = { id: found.id, within: found.within!, name: found.body.name };
      const servers = serversAfter(found.body.servers, edit);
      return { found: [{ ...found, body: foundGroup({ ...parts, servers }, undefined, region).body }] };
    },
    async remove({ id }, io) {
      await client.change('slb', 'DeleteVServerGroup', { VServerGroupId: id }, io);
      return {};
    },
  };
}
