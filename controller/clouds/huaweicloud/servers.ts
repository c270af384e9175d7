import { isIP } from 'node:net';
import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import type { NodeAddress } from '../../../common/instance.ts';
import { huaweicloud } from '../../../common/provider-id/huaweicloud.ts';
import type { AnswerFields } from '../answer-fields.ts';
import { addressIn } from '../answer-values.ts';
import { distinctAddresses, type Machines, type Seen, seenById } from '../machines.ts';
import { inParallel } from '../parallel.ts';
import type { HuaweiClient } from './client.ts';
import { cloud, endlessPages, provedAbsent } from './fault.ts';

const path = '/v1/{project}/cloudservers';
/** The most that a page holds. */
const pageSize = 1000;
const namesAtOnce = 3;
/** States in which an ECS that still answers has no instance any more. */
const deleted = new Set(['DELETED', 'SOFT_DELETED']);

/** What a search for ECSs finds, complete; without a query all of the project. */
export async function searchServers(
  client: HuaweiClient,
  query: readonly (readonly [string, string])[],
  signal: AbortSignal | undefined,
): Promise<AnswerFields[]> {
  const servers = new Map<string, AnswerFields>();
  for (let page = 1; ; page += 1) {
    // The offset counts pages.
    const paging = Object.entries({ limit: String(pageSize), offset: String(page) });
    const request = { service: 'ecs', path: `${path}/detail`, query: [...query, ...paging], signal } as const;
    const found = (await client.call({ ...request, urgency: 'refresh' })).objects('servers');
    const before = servers.size;
    for (const server of found) servers.set(server.text('id'), server);
    if (found.length < pageSize) return [...servers.values()].filter((one) => !deleted.has(one.text('status')));
    if (servers.size === before) throw endlessPages('servers');
  }
}

/** The ECSs of one project, for one pass: the list is read at most once. */
export function createServers(client: HuaweiClient, region: string): Machines {
  let list: Promise<ReadonlyMap<string, Seen>> | undefined;

  const seenOf = (servers: readonly AnswerFields[]) =>
    seenById(
      servers,
      (one) => one.text('id'),
      (one) => readServer(one, region, 'list'),
    );
  function all(signal: AbortSignal | undefined): Promise<ReadonlyMap<string, Seen>> {
    list ??= searchServers(client, [], signal).then(seenOf);
    return list;
  }
  /** A Node of that name; its ECS is another name's where the Node is called by its address. */
  async function named(name: string, signal: AbortSignal | undefined): Promise<readonly Seen[]> {
    const isAddress = isIP(name) === 4;
    const found = await searchServers(client, [[isAddress ? 'ip_eq' : 'name', name]], signal);
    const seen = [...(await seenOf(found)).values()];
    return isAddress ? seen.map((one) => calledByAddress(one, name)) : seen;
  }

  return {
    holds: () => true,
    all: (_ids, signal) => all(signal),
    async named(names, signal) {
      // The cloud takes a name for a pattern, so one that says more than itself is looked for here.
      const isPlain = (name: string) => /^[\w-]+$/.test(name) || isIP(name) === 4;
      if (names.length > namesAtOnce || !names.every(isPlain)) {
        const seen = [...(await all(signal)).values()];
        return [
          ...seen,
          ...names.filter((name) => isIP(name) === 4).flatMap((name) => seen.map((one) => calledByAddress(one, name))),
        ];
      }
      return (await inParallel(namesAtOnce, names, (name) => named(name, signal))).flat();
    },
    async get(id, signal) {
      const request = { service: 'ecs', path: `${path}/${id}`, signal } as const;
      const answer = await client.call(request).catch((error: unknown) => {
        throw isCloudError(error) && error.kind === 'NotFound' ? provedAbsent(error, id) : error;
      });
      const server = answer.object('server');
      if (!deleted.has(server.text('status'))) return readServer(server, region, 'id');
      const message = `${id} is ${server.text('status')}`;
      throw new CloudError({ kind: 'NotFound', cloud, operation: 'lookup', message });
    },
  };
}

function calledByAddress(one: Seen, name: string): Seen {
  if (one.state !== 'found') return one;
  const has = one.instance.addresses.some(({ type, address }) => type === 'InternalIP' && address === name);
  return has ? { ...one, instance: { ...one.instance, name } } : one;
}

function readServer(server: AnswerFields, region: string, request: 'list' | 'id'): Seen {
  const id = server.text('id').toLowerCase();
  const status = server.text('status');
  const flavor = server.object('flavor');
  return {
    state: 'found',
    power: status === 'ACTIVE' ? 'running' : status === 'SHUTOFF' ? 'stopped' : 'changing',
    request,
    instance: {
      cloud,
      id,
      name: server.text('name'),
      incarnation: id,
      providerID: huaweicloud.print({ instanceId: id }),
      region,
      zone: server.text('OS-EXT-AZ:availability_zone'),
      type: flavor.optionalText('name') ?? flavor.text('id'),
      addresses: addressesOf(server),
    },
  };
}

/** Of each interface, the primary one first: the fixed ones, then the elastic ones. */
function addressesOf(server: AnswerFields): NodeAddress[] {
  const networks = server.object('addresses');
  const all = Object.keys(networks.json())
    .sort()
    .flatMap((vpc) => networks.objects(vpc))
    .sort(
      (one, other) => Number(other.optionalFlag('primary') ?? false) - Number(one.optionalFlag('primary') ?? false),
    );
  const of = (kind: 'fixed' | 'floating', type: 'InternalIP' | 'ExternalIP') =>
    all
      .filter((each) => (each.optionalText('OS-EXT-IPS:type') ?? 'fixed') === kind)
      .map((each) => ({ type, address: addressIn(each, 'addr') }));
  const hasAccess = server.optionalText('accessIPv4') !== undefined;
  return distinctAddresses([
    ...of('fixed', 'InternalIP'),
    ...of('floating', 'ExternalIP'),
    ...(hasAccess ? [{ type: 'ExternalIP' as const, address: addressIn(server, 'accessIPv4') }] : []),
  ]);
}
