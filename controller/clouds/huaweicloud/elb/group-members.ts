import { everyService, type Found, type Kind, type Reader, type Want } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import type { HuaweiClient } from '../client.ts';
import { searchServers } from '../servers.ts';
import { settleMs } from './parts.ts';

const kind = 'security group member';

function found(server: string, cluster: string): Found {
  const body = undefined;
  return { kind, id: server, key: server, owner: { cluster, service: everyService }, status: 'ready', body };
}

/** That an ECS is in the group of `[Vpc] security-group-id`, with all its interfaces. */
export function groupMemberKind(client: HuaweiClient, group: string): Kind {
  return {
    kind,
    retryCreate: 'atOnce',
    settleMs,
    merge: () => undefined,
    compare: () => ({ same: true }),
    // Nothing tells who has put it there, so it stays as long as its ECS.
    usedBy: () => ['its ECS'],
    async create({ key }, _inside, { owner: { cluster }, permit, signal }) {
      const path = `/v2.1/{project}/servers/${key}/action`;
      const body = { addSecurityGroup: { name: group } };
      await client.send({ service: 'ecs', path, method: 'POST', body, permit, signal });
      return { id: key, found: [found(key, cluster)] };
    },
  };
}

export function createGroupMemberReader(client: HuaweiClient, group: string): Reader {
  const isIn = (server: AnswerFields) =>
    server.optionalObjects('security_groups').some((one) => one.optionalText('id') === group);
  async function list(cluster: string, signal: AbortSignal | undefined): Promise<Found[]> {
    const servers = await searchServers(client, [], signal);
    return servers.filter(isIn).map((one) => found(one.text('id').toLowerCase(), cluster));
  }
  return {
    kinds: [kind],
    all: (cluster, { signal }) => list(cluster, signal),
    of: async ({ owner, search, ids }, { signal }) => {
      const isAsked = search || ids.some((one) => one.kind === kind);
      return { found: isAsked ? await list(owner.cluster, signal) : [] };
    },
  };
}

/** @param servers ids of members */
export function membershipsOf(servers: readonly string[]): Want[] {
  return servers.map((key) => ({ kind, key, spec: undefined, summary: `security group of ECS ${key}` }));
}
