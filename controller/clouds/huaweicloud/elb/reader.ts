import { type Found, identityOf, type Query, type Reader, type Reference } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { chunks, inParallel } from '../../parallel.ts';
import type { Urgency } from '../../urgency.ts';
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
import { elbPath } from './parts.ts';

interface Reading {
  readonly urgency: Urgency;
  readonly signal: AbortSignal | undefined;
}
type Filter = readonly (readonly [string, string])[];

const callsAtOnce = 4;
/** Of lists that take ids. */
const idsAtOnce = 50;
const eipPath = '/v3/{project}/eip/publicips';
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

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
    const shown = await eachOf(client, 'elb', `${elbPath}/loadbalancers`, 'loadbalancer', ids, reading);
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

  return {
    kinds: [kindNames.balancer, kindNames.bound, kindNames.listener, kindNames.pool, kindNames.monitor],
    all: (_cluster, { signal }) => all({ urgency: 'refresh', signal }),
    async of(query, { signal }) {
      const reading: Reading = { urgency: 'need', signal };
      const listed = query.search ? await all(reading) : [];
      // A list may lag behind a read by id.
      const ids = idsIn(query, kindNames.balancer);
      const read = await byIds(ids, reading);
      const newer = new Set(read.map(identityOf));
      const pools = new Set(read.map(({ id }) => id));
      const isOlder = (one: Found) =>
        newer.has(identityOf(one)) || ids.includes(one.within ?? one.id) || pools.has(one.within ?? '');
      return { found: [...read, ...listed.filter((one) => !isOlder(one))] };
    },
  };
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
  return listAndIds(client, kindNames.eip, 'eip', [eipPath, 'publicips', 'publicip'], foundEip);
}

export function createGroupReader(client: HuaweiClient): Reader {
  return listAndIds(client, kindNames.group, 'elb', [`${elbPath}/ipgroups`, 'ipgroups', 'ipgroup'], foundGroup);
}

/** One kind: a list of all, and a read of each id. */
function listAndIds(
  client: HuaweiClient,
  kind: string,
  service: Service,
  [path, collection, singular]: readonly [string, string, string],
  foundOf: (fields: AnswerFields) => Found,
): Reader {
  const list = async (reading: Reading) => (await client.list({ service, path, ...reading }, collection)).map(foundOf);
  return {
    kinds: [kind],
    all: (_cluster, { signal }) => list({ urgency: 'refresh', signal }),
    async of(query, { signal }) {
      const reading: Reading = { urgency: 'need', signal };
      const ids = idsIn(query, kind);
      const byId = (await eachOf(client, service, path, singular, ids, reading)).map(foundOf);
      const listed = query.search ? await list(reading) : [];
      return { found: [...byId, ...listed.filter(({ id }) => !ids.includes(id))] };
    },
  };
}

/** Those that are there: what is gone is known by a 404. */
async function eachOf(
  client: HuaweiClient,
  service: Service,
  path: string,
  singular: string,
  ids: readonly string[],
  reading: Reading,
): Promise<AnswerFields[]> {
  const read = await inParallel(callsAtOnce, ids, (id) => client.get({ service, path: `${path}/${id}`, ...reading }));
  return read.flatMap((one) => one?.object(singular) ?? []);
}

/** A record that users can write may name anything. */
function idsIn({ ids }: Query, kind: string): readonly string[] {
  return ids.filter((one) => one.kind === kind && isId.test(one.id)).map(({ id }) => id);
}
