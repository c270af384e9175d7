import type { Found, Reader, Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { type Reading, readerOf } from '../../list-reader.ts';
import { chunks, inParallel } from '../../parallel.ts';
import type { HuaweiClient, Service } from '../client.ts';
import {
  foundBalancer,
  foundEip,
  foundGroup,
  foundListener,
  foundMonitor,
  foundPool,
  kindNames,
  memberIn,
} from './found.ts';
import { elbPath, singularOf } from './parts.ts';

type Filter = readonly (readonly [string, string])[];

const callsAtOnce = 4;
/** Of lists that take ids. */
const idsAtOnce = 50;
const eipPath = '/v3/{project}/eip/publicips';
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Load balancers of the project, dedicated and shared, with their parts and the EIPs on them. */
export function createBalancerReader(client: HuaweiClient): Reader {
  const listOf = (collection: string, query: Filter, reading: Reading) =>
    client.list({ service: 'elb', path: `${elbPath}/${collection}`, query, ...reading }, collection);

  /** @param filter empty: everything in the project */
  async function partsOf(filter: Filter, reading: Reading): Promise<Found[]> {
    const [listeners, pools, members] = await Promise.all([
      listOf('listeners', filter, reading),
      listOf('pools', filter, reading),
      listOf('members', filter, reading),
    ]);
    const checks = pools.flatMap((one) => one.optionalText('healthmonitor_id') ?? []);
    const some = filter.length === 0 ? [[]] : chunks(checks, idsAtOnce);
    const monitors = await inParallel(callsAtOnce, some, (ids) =>
      listOf(
        'healthmonitors',
        ids.map((id) => ['id', id] as const),
        reading,
      ),
    );
    const ports = new Map(listeners.map((one) => [one.text('id'), one.number('protocol_port')]));
    const byId = new Map(members.map((one) => [one.text('id'), memberIn(one)]));
    const isIn = (one: AnswerFields) => one.optionalObjects('loadbalancers').length > 0;
    const found = pools.filter(isIn).map((one) => {
      const ids = one.optionalObjects('members').map((member) => member.text('id'));
      return foundPool(
        one,
        ids.flatMap((id) => byId.get(id) ?? []),
        undefined,
        ports,
      );
    });
    const keys = new Map(found.map(({ id, key }) => [id, key]));
    const shown = monitors.flat().flatMap((one) => {
      const key = keys.get(one.optionalObjects('pools')[0]?.text('id') ?? '');
      return key === undefined ? [] : [foundMonitor(one, key)];
    });
    return [...listeners.filter(isIn).map(foundListener), ...found, ...shown];
  }
  async function all(reading: Reading): Promise<Found[]> {
    const [balancers, parts] = await Promise.all([listOf('loadbalancers', [], reading), partsOf([], reading)]);
    return withProofs([...balancers.flatMap(foundBalancer), ...parts]);
  }
  async function byIds(ids: readonly string[], reading: Reading): Promise<Found[]> {
    const shown = await eachOf(client, 'elb', `${elbPath}/loadbalancers`, ids, reading);
    const found = shown.flatMap(foundBalancer);
    const there = found.filter(({ kind }) => kind === kindNames.balancer).map(({ id }) => id);
    const parts = await inParallel(callsAtOnce, chunks(there, idsAtOnce), (some) =>
      partsOf(
        some.map((id) => ['loadbalancer_id', id] as const),
        reading,
      ),
    );
    return withProofs([...found, ...parts.flat()]);
  }

  return readerOf({
    kinds: [kindNames.balancer, kindNames.bound, kindNames.listener, kindNames.pool, kindNames.monitor],
    ids: { [kindNames.balancer]: uuid },
    list: (_cluster, reading) => all(reading),
    byIds,
  });
}

/** What of ours it uses proves whose a load balancer is when its own marks are gone. */
function withProofs(found: readonly Found[]): Found[] {
  const used = new Map<string, Reference[]>();
  for (const { within = '', refs = [] } of found)
    for (const ref of refs)
      if (ref.kind === kindNames.eip || ref.kind === kindNames.group)
        used.set(within, [...(used.get(within) ?? []), { ...ref, loose: true }]);
  return found.map((one) => (one.kind === kindNames.balancer ? { ...one, refs: used.get(one.id) ?? [] } : one));
}

/** EIPs of the project: those of Services, and those that Services name. */
export function createEipReader(client: HuaweiClient): Reader {
  return listAndIds(client, kindNames.eip, 'eip', eipPath, foundEip);
}

export function createGroupReader(client: HuaweiClient): Reader {
  return listAndIds(client, kindNames.group, 'elb', `${elbPath}/ipgroups`, foundGroup);
}

/** One kind: a list of all, and a read of each id. */
function listAndIds(
  client: HuaweiClient,
  kind: string,
  service: Service,
  path: string,
  foundOf: (fields: AnswerFields) => Found,
): Reader {
  const collection = path.slice(path.lastIndexOf('/') + 1);
  return readerOf({
    kinds: [kind],
    ids: { [kind]: uuid },
    list: async (_cluster, reading) => (await client.list({ service, path, ...reading }, collection)).map(foundOf),
    byIds: async (ids, reading) => (await eachOf(client, service, path, ids, reading)).map(foundOf),
  });
}

/** Those that are there: what is gone is known by a 404. */
async function eachOf(
  client: HuaweiClient,
  service: Service,
  path: string,
  ids: readonly string[],
  reading: Reading,
): Promise<AnswerFields[]> {
  const read = await inParallel(callsAtOnce, ids, (id) => client.get({ service, path: `${path}/${id}`, ...reading }));
  return read.flatMap((one) => one?.object(singularOf(path)) ?? []);
}
