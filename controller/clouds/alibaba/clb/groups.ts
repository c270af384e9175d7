import type { Found, Kind } from '../../../engine/resource.ts';
import {
  refusedServers,
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
      const changes = serverChanges(`server group ${name}`, body.servers, servers, atOnce, actions);
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
      const { permit, signal } = io;
      const request = { product: 'slb', action: 'CreateVServerGroup', params, permit, signal } as const;
      const answer = await client.call(request).catch(async (error: unknown) => {
        throw await refusedServers(lookups, error, first, io);
      });
      const id = answer.text('VServerGroupId');
      const parts = { id, within: io.within!, name, servers: first };
      return { id, found: [foundGroup(parts, io.owner, await client.region(signal))] };
    },
    async update(found, change, io) {
      const { action, servers } = change.body as ServerEdit;
      const { permit, signal } = io;
      const params = { VServerGroupId: found.id, BackendServers: sent(servers, found.body.name) };
      await client.call({ product: 'slb', action, params, permit, signal }).catch(async (error: unknown) => {
        throw action.startsWith('Add') ? await refusedServers(lookups, error, servers, io) : error;
      });
      const region = await client.region(signal);
      return { found: [after(found, { action, servers }, region)] };
    },
    async remove({ id }, { permit, signal }) {
      const params = { VServerGroupId: id };
      await client.call({ product: 'slb', action: 'DeleteVServerGroup', params, permit, signal });
      return {};
    },
  };
}

function after(found: Found<Group>, edit: ServerEdit, region: string): Found<Group> {
  const servers = serversAfter(found.body.servers, edit);
  const parts = { id: found.id, within: found.within!, name: found.body.name, servers };
  return { ...found, body: foundGroup(parts, undefined, region).body };
}
