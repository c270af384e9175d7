import { isCloudError } from '../../../../common/cloud-error.ts';
import type { Kind, WriteIo } from '../../../engine/resource.ts';
import { groupName, networkKinds } from './network-kinds.ts';
import type { Neutron } from './neutron.ts';
import { foundMember, foundPort, type GroupMember, readPort, type ServerPort } from './security-group.ts';

export interface GroupMemberSpec {
  /** As it was last read. */
  readonly port: ServerPort;
}

/**
 * The group of a Service on a port of one of its members. All groups of a port are written together: what several
 * Services ask for at once goes as one write, which holds only for the revision that it was made from.
 */
export function groupMemberKind(neutron: Neutron): Kind<GroupMemberSpec | undefined, GroupMember> {
  async function write(
    port: ServerPort,
    edit: (groups: readonly string[]) => readonly string[],
    io: WriteIo,
  ): Promise<ServerPort> {
    const { id, revision } = port;
    const fields = { security_groups: edit(port.groups) };
    const [after] = await neutron.change({ method: 'PUT', collection: 'ports', id, fields, revision }, io);
    return readPort(after!);
  }

  async function change(
    port: ServerPort,
    edit: (groups: readonly string[]) => readonly string[],
    io: WriteIo,
  ): Promise<ServerPort> {
    if (port.revision !== undefined) {
      try {
        return await write(port, edit, io);
      } catch (error) {
        if (!isCloudError(error) || error.kind !== 'Stale') throw error;
      }
    }
    // Another change came first, or nothing counts the changes: as it is now.
    return write(readPort(await neutron.get('ports', port.id, io)), edit, io);
  }

  return {
    kind: networkKinds.member,
    retryCreate: 'atOnce',
    compare: () => ({ same: true }),
    lane: (item) => `port ${'want' in item ? item.want.key : item.found.body.port.id}`,
    async createMany(wants, io) {
      const { port } = wants[0]!.want.spec!;
      const added = wants.map(({ owner, idOf }) => ({ owner, group: idOf(groupName) }));
      const ids = new Set(added.map(({ group }) => group));
      const now = await change(port, (groups) => [...groups.filter((one) => !ids.has(one)), ...ids], io);
      return { found: [foundPort(now), ...added.map(({ owner, group }) => foundMember({ group, port: now }, owner))] };
    },
    async removeMany(found, io) {
      const { port } = found[0]!.body;
      const ids = new Set(found.map(({ body }) => body.group));
      const now = await change(port, (groups) => groups.filter((one) => !ids.has(one)), io);
      return { found: [foundPort(now)] };
    },
  };
}

/** Only read. */
export const serverPortKind: Kind = {
  kind: networkKinds.serverPort,
  retryCreate: 'atOnce',
  compare: () => ({ same: true }),
};
