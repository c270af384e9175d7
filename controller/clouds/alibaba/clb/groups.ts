import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import { alibaba } from '../../../../common/provider-id/alibaba.ts';
import type { Change, Found, Kind, WriteIo } from '../../../engine/resource.ts';
import { chunks } from '../../parallel.ts';
import type { AlibabaClient } from '../client.ts';
import { cloud } from '../fault.ts';
import { foundGroup, type Group, kindNames, type Server } from './found.ts';

export interface GroupSpec {
  readonly name: string;
  readonly servers: readonly Server[];
}

/** The most that one call takes. */
const serversAtOnce = 20;

type Edit = { readonly action: string; readonly servers: readonly Server[] };

/** The servers behind the listeners of one node port. */
export function groupKind(client: AlibabaClient): Kind<GroupSpec, Group> {
  const sent = (servers: readonly Server[], description: string) =>
    JSON.stringify(
      servers.map(({ id, port, weight }) => {
        return { ServerId: id, Port: String(port), Weight: String(weight), Type: 'ecs', Description: description };
      }),
    );

  /** The same error about the members that are no instances, where it is these that the cloud does not take. */
  async function refused(error: unknown, servers: readonly Server[], { signal }: WriteIo): Promise<unknown> {
    if (!isCloudError(error) || !['Invalid', 'NotFound'].includes(error.kind) || servers.length === 0) return error;
    const params = { InstanceIds: JSON.stringify(servers.map(({ id }) => id)) };
    const shown = await client.list({
      ...{ product: 'ecs', action: 'DescribeInstances', params, urgency: 'change', signal, perPage: 100 },
      ...{ paging: { by: 'token', size: 'MaxResults' }, items: ['Instances', 'Instance'] },
    });
    const good = new Set(shown.map((one) => one.text('InstanceId')));
    const region = await client.region(signal);
    const ghosts = servers.filter(({ id }) => !good.has(id));
    const subjects = ghosts.map(({ id }) => alibaba.print({ instanceId: id, region }));
    const { operation, cause } = error;
    const message = error.message.replace(`${cloud} ${operation}: `, '');
    return new CloudError({
      kind: ghosts.length > 0 ? 'Invalid' : error.kind,
      cloud,
      operation,
      message,
      subjects,
      cause,
    });
  }

  return {
    ...{ kind: kindNames.group, within: kindNames.balancer, again: 'look' },
    compare: ({ body }, { name, servers }) => {
      const changes = changesOf(name, body.servers, servers);
      return changes.length === 0 ? { same: true } : { changes };
    },
    fresh: ({ spec: { name, servers } }) => ({ body: { name, servers: servers.slice(0, serversAtOnce), members: [] } }),
    async create({ spec: { name, servers } }, _inside, io) {
      const first = servers.slice(0, serversAtOnce);
      const params = {
        ...{ LoadBalancerId: io.within, VServerGroupName: name },
        ...(first.length > 0 && { BackendServers: sent(first, name) }),
      };
      const { permit, signal } = io;
      const request = { product: 'slb', action: 'CreateVServerGroup', params, permit, signal } as const;
      const answer = await client.call(request).catch(async (error: unknown) => {
        throw await refused(error, first, io);
      });
      const id = answer.text('VServerGroupId');
      const parts = { id, within: io.within!, name, servers: first };
      return { id, found: [foundGroup(parts, io.owner, await client.region(signal))] };
    },
    async update(found, change, io) {
      const { action, servers } = change.body as Edit;
      const { permit, signal } = io;
      const params = { VServerGroupId: found.id, BackendServers: sent(servers, found.body.name) };
      await client.call({ product: 'slb', action, params, permit, signal }).catch(async (error: unknown) => {
        throw action.startsWith('Add') ? await refused(error, servers, io) : error;
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

function changesOf(name: string, there: readonly Server[], desired: readonly Server[]): Change[] {
  const same = (a: Server, b: Server) => a.id === b.id && a.port === b.port;
  const added = desired.filter((one) => !there.some((each) => same(one, each)));
  const removed = there.filter((one) => !desired.some((each) => same(one, each)));
  const weighed = desired.filter((one) => there.some((each) => same(one, each) && one.weight !== each.weight));
  const change = (what: string, phase: Change['phase'], action: string, servers: readonly Server[]) =>
    chunks(servers, serversAtOnce).map((some, at): Change => {
      const summary = `server group ${name}: ${what} ${some.map(({ id }) => id).join(', ')}`;
      return { what: `${what} ${at}`, phase, summary, body: { action, servers: some } satisfies Edit };
    });
  return [
    ...change('add', 'grow', 'AddVServerGroupBackendServers', added),
    ...change('weigh', 'set', 'SetVServerGroupAttribute', weighed),
    ...change('remove', 'shrink', 'RemoveVServerGroupBackendServers', removed),
  ];
}

function after(found: Found<Group>, { action, servers }: Edit, region: string): Found<Group> {
  const isTouched = (one: Server) => servers.some((each) => each.id === one.id && each.port === one.port);
  const rest = found.body.servers.filter((one) => !isTouched(one));
  const now = action.startsWith('Remove') ? rest : [...rest, ...servers];
  const parts = { id: found.id, within: found.within!, name: found.body.name, servers: now };
  return { ...found, body: foundGroup(parts, undefined, region).body };
}
