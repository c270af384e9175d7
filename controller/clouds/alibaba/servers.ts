import { isCloudError } from '../../../common/cloud-error.ts';
import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type { Change, ReadIo } from '../../engine/resource.ts';
import { memberChanges } from '../member-changes.ts';
import { chunks } from '../parallel.ts';
import type { Server } from './clb/found.ts';
import type { AlibabaClient } from './client.ts';
import { describeInstances } from './instances.ts';
import type { Interfaces } from './interfaces.ts';

/** Actions that change the servers of a group. */
export type ServerActions = Readonly<Record<'add' | 'weigh' | 'remove', string>>;

export interface ServerEdit {
  readonly action: string;
  /** Of the group. */
  readonly name: string;
  readonly servers: readonly Server[];
}

/** One interface may be there with several addresses. */
function isSame(a: Server, b: Server): boolean {
  return a.id === b.id && a.port === b.port && a.other?.ip === b.other?.ip;
}

/** @param name of the group. @param atOnce the most that one call takes */
export function serverChanges(
  name: string,
  there: readonly Server[],
  desired: readonly Server[],
  atOnce: number,
  actions: ServerActions,
): Change[] {
  const change = (does: keyof ServerActions) => (servers: readonly Server[], at: number) => {
    const summary = `server group ${name}: ${does} ${servers.map(({ id, other }) => other?.ip || id).join(', ')}`;
    return { what: `${does} ${at}`, summary, body: { action: actions[does], name, servers } satisfies ServerEdit };
  };
  const isThere = (one: Server) => there.some((each) => isSame(one, each));
  const isWeighed = (one: Server) => there.some((each) => isSame(one, each) && one.weight !== each.weight);
  const added = desired.filter((one) => !isThere(one));
  const removed = there.filter((one) => !desired.some((each) => isSame(one, each)));
  const weighed = chunks(desired.filter(isWeighed), atOnce).map(change('weigh'));
  return [
    ...memberChanges({ added, removed, count: there.length, atOnce }, change('add'), change('remove')),
    ...weighed.map((one): Change => ({ ...one, phase: 'set' })),
  ];
}

export function serversAfter(there: readonly Server[], { action, servers }: ServerEdit): readonly Server[] {
  const isTouched = (one: Server) => servers.some((each) => isSame(one, each));
  const rest = there.filter((one) => !isTouched(one));
  return action.startsWith('Remove') ? rest : [...rest, ...servers];
}

export interface ServerLookups {
  readonly client: AlibabaClient;
  readonly interfaces: Interfaces;
}

/** For `catch`: the same error about those of the new members that do not exist, where the cloud does not take them. */
export function namingMissing(lookups: ServerLookups, added: readonly Server[], io: ReadIo) {
  return async (error: unknown): Promise<never> => {
    if (!isCloudError(error) || !['Invalid', 'NotFound'].includes(error.kind) || added.length === 0) throw error;
    const pods = added.filter(({ other }) => other !== undefined);
    const nodes = added.filter(({ other }) => other === undefined);
    const subjects = [...(await missingPods(lookups, pods, io)), ...(await missingNodes(lookups, nodes, io))];
    throw error.with({ kind: subjects.length > 0 ? 'Invalid' : error.kind, subjects });
  };
}

async function missingNodes({ client }: ServerLookups, servers: readonly Server[], { signal }: ReadIo) {
  if (servers.length === 0) return [];
  const params = { InstanceIds: JSON.stringify(servers.map(({ id }) => id)) };
  const shown = await describeInstances(client, params, 'change', signal);
  const good = new Set(shown.map((one) => one.text('InstanceId')));
  const region = await client.region(signal);
  return servers.filter(({ id }) => !good.has(id)).map(({ id }) => alibaba.print({ instanceId: id, region }));
}

async function missingPods({ interfaces }: ServerLookups, servers: readonly Server[], { signal }: ReadIo) {
  if (servers.length === 0) return [];
  const addresses = servers.map(({ other }) => other!.ip);
  const shown = new Set((await interfaces.of(addresses, signal, 'change')).values());
  return servers.map(({ id, other }) => `${id}/${other!.ip}`).filter((one) => !shown.has(one));
}
