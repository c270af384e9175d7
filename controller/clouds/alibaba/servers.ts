import { isCloudError } from '../../../common/cloud-error.ts';
import { alibaba } from '../../../common/provider-id/alibaba.ts';
import type { Change, ReadIo } from '../../engine/resource.ts';
import { memberChanges } from '../member-changes.ts';
import { chunks } from '../parallel.ts';
import type { Server } from './clb/found.ts';
import type { AlibabaClient } from './client.ts';
import type { Interfaces } from './interfaces.ts';

/** Actions that change the servers of a group. */
export type ServerActions = Readonly<Record<'add' | 'weigh' | 'remove', string>>;

export interface ServerEdit {
  readonly action: string;
  readonly servers: readonly Server[];
}

/** One interface may be there with several addresses. */
function isSame(a: Server, b: Server): boolean {
  return a.id === b.id && a.port === b.port && a.other?.ip === b.other?.ip;
}

/** @param what for people. @param atOnce the most that one call takes */
export function serverChanges(
  what: string,
  there: readonly Server[],
  desired: readonly Server[],
  atOnce: number,
  actions: ServerActions,
): Change[] {
  const change = (does: keyof ServerActions) => (servers: readonly Server[], at: number) => {
    const summary = `${what}: ${does} ${servers.map(({ id, other }) => other?.ip || id).join(', ')}`;
    return { what: `${does} ${at}`, summary, body: { action: actions[does], servers } satisfies ServerEdit };
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

/** The same error about the members that do not exist, where it is these that the cloud does not take. */
export async function refusedServers(
  lookups: ServerLookups,
  error: unknown,
  servers: readonly Server[],
  io: ReadIo,
): Promise<unknown> {
  if (!isCloudError(error) || !['Invalid', 'NotFound'].includes(error.kind) || servers.length === 0) return error;
  const pods = servers.filter(({ other }) => other !== undefined);
  const nodes = servers.filter(({ other }) => other === undefined);
  const subjects = [...(await missingPods(lookups, pods, io)), ...(await missingNodes(lookups, nodes, io))];
  return error.with({ kind: subjects.length > 0 ? 'Invalid' : error.kind, subjects });
}

async function missingNodes({ client }: ServerLookups, servers: readonly Server[], { signal }: ReadIo) {
  if (servers.length === 0) return [];
  const params = { InstanceIds: JSON.stringify(servers.map(({ id }) => id)) };
  const shown = await client.list({
    product: 'ecs',
    action: 'DescribeInstances',
    params,
    urgency: 'change',
    signal,
    perPage: 100,
    paging: { by: 'token', size: 'MaxResults' },
    items: ['Instances', 'Instance'],
  });
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
