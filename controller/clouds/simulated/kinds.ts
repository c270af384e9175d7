import { CloudError, isCloudError } from '../../../common/cloud-error.ts';
import { simulated } from '../../../common/provider-id/simulated.ts';
import type { Answer, Change, Comparison, Found, Kind, Owner, PointsAt, Want, WriteIo } from '../../engine/resource.ts';
import type { ApiRequest, JsonApi } from '../json-api.ts';
import { ownerTags } from '../load-balancers.ts';
import { cloud, refusalOf } from './fault.ts';
import { foundAddress, foundAll, kinds, type Part, tagsFor } from './found.ts';
import {
  type Address,
  families,
  type Listener,
  type LoadBalancer,
  type Pool,
  readAddress,
  readLoadBalancer,
} from './load-balancer-answer.ts';
import { differenceOf, type MemberSets } from './member-sets.ts';
import type { AddressSpec, ListenerSpec, LoadBalancerSpec, PoolSpec } from './specs.ts';

export interface KindParts {
  readonly api: JsonApi;
  readonly region: string;
  readonly sets: MemberSets;
  readonly settleMs: number;
}

/** Members of answers are known by their digest. */
const quiet = [['inlineMembers', '0']] as const;

/** The resources that this cloud has for load balancers. Its load balancers take one change at a time. */
export function createKinds({ api, region, sets, settleMs }: KindParts): readonly Kind[] {
  /** The one request of a change of a load balancer or its parts, which answers the whole load balancer. */
  async function send(request: ApiRequest, io: WriteIo): Promise<LoadBalancer | undefined> {
    const query = [...quiet, ...(request.query ?? [])];
    const { permit, signal } = io;
    const answer = await namingMembers(() => api.call({ ...request, query, permit, signal }), region);
    return 'id' in answer.json() ? readLoadBalancer(answer, region, sets) : undefined;
  }
  async function changed(request: ApiRequest, io: WriteIo): Promise<Answer> {
    const now = await send(request, io);
    return now === undefined ? {} : { found: foundAll(now) };
  }
  /** On a load balancer of others, changes by others are none of ours. */
  const guardOf = ({ tags, revision }: LoadBalancer, { owner }: WriteIo) =>
    tags[ownerTags.service] === owner.service ? { ifRevision: revision } : {};
  const guardQuery = (within: LoadBalancer, io: WriteIo) =>
    Object.entries(guardOf(within, io)).map(([name, revision]) => [name, String(revision)] as const);
  const patch = (operation: string, path: string, within: LoadBalancer, body: object, io: WriteIo) =>
    changed({ operation, method: 'PATCH', path, body: { ...body, ...guardOf(within, io) } }, io);
  const tokenOf = (what: string, { cluster, service }: Owner) => `${what} ${cluster} ${service}`;
  const serviceOf = ({ tags }: { readonly tags: Readonly<Record<string, string>> }) =>
    tags[ownerTags.serviceName] ?? '';
  function marksOf(
    as: 'ours' | 'retained',
    body: { readonly tags: Readonly<Record<string, string>> },
    want: Want<{ readonly service: string }> | undefined,
    { owner }: WriteIo,
  ) {
    const ours = { ...tagsFor(owner, want?.spec.service ?? serviceOf(body)), [ownerTags.retained]: null };
    if (as === 'ours') return { tags: ours };
    const gone = { [ownerTags.service]: null, [ownerTags.serviceName]: null };
    return { tags: { ...gone, [ownerTags.retained]: serviceOf(body) } };
  }

  const address: Kind<AddressSpec, Address> = {
    kind: kinds.address,
    retryCreate: 'atOnce',
    settleMs,
    compare: () => ({ same: true }),
    async create({ spec: { scheme, family, name, service } }, _, io) {
      const token = tokenOf(`address ${scheme} ${family}`, io.owner);
      const reserve = async (clientToken: string, named?: string) => {
        const body = { clientToken, name: named, family, scheme, tags: tagsFor(io.owner, service) };
        const request = { operation: 'addresses.create', method: 'POST', path: '/addresses', body } as const;
        return readAddress(await api.call({ ...request, permit: io.permit, signal: io.signal }));
      };
      const first = await reserve(token, name);
      // The token made one that is not ours any more: its tags were taken away. Its name is still taken.
      const made =
        first.tags[ownerTags.service] === io.owner.service ? first : await reserve(`${token} not ${first.id}`);
      return { id: made.id, found: [foundAddress(made)] };
    },
    async remove({ id }, { permit, signal }) {
      await api.call({ operation: 'addresses.delete', method: 'DELETE', path: `/addresses/${id}`, permit, signal });
      return {};
    },
    async mark({ id, body }, as, want, io) {
      const request = {
        operation: 'addresses.update',
        method: 'PATCH',
        path: `/addresses/${id}`,
        body: marksOf(as, body, want, io),
      } as const;
      const answer = await api.call({ ...request, permit: io.permit, signal: io.signal });
      return { found: [foundAddress(readAddress(answer))] };
    },
  };

  const loadBalancer: Kind<LoadBalancerSpec, LoadBalancer> = {
    kind: kinds.loadBalancer,
    retryCreate: 'atOnce',
    settleMs,
    locks: true,
    compare: compareLoadBalancer,
    async create({ spec }, inside, io) {
      const { name, service, scheme } = spec;
      const tags = tagsFor(io.owner, service);
      const ofKind = <S>(kind: string) => inside.flatMap((one) => (one.kind === kind ? [one.spec as S] : []));
      const pools = ofKind<PoolSpec>(kinds.pool);
      const body = {
        clientToken: tokenOf('load balancer', io.owner),
        name,
        tags,
        scheme,
        families: spec.families,
        addresses: families.flatMap((family) => spec.addresses[family] ?? []).map((one) => io.idOf(one)),
        pools: pools.map((pool) => poolBody(pool, tags)),
        listeners: ofKind<ListenerSpec>(kinds.listener).map((one) => ({
          ...listenerBody(one, tags),
          pool: pools[0]?.name,
        })),
      };
      const made = await send(
        { operation: 'load-balancers.create', method: 'POST', path: '/load-balancers', body },
        io,
      );
      return { id: made!.id, found: foundAll(made!), ...(made!.state === 'provisioning' && { operation: made!.id }) };
    },
    update({ id, body }, change, io) {
      const { tags, stay = [], join = [] } = change.body as LoadBalancerChange;
      const addresses = tags === undefined && { addresses: [...stay, ...join.map((one) => io.idOf(one))] };
      const sent = { ...(tags !== undefined && { tags }), ...addresses };
      return patch('load-balancers.update', `/load-balancers/${id}`, body, sent, io);
    },
    async remove({ id, body }, io) {
      const request = { operation: 'load-balancers.delete', method: 'DELETE', path: `/load-balancers/${id}` } as const;
      const left = await send({ ...request, query: guardQuery(body, io) }, io);
      return left === undefined ? {} : { operation: id };
    },
    mark: ({ id, body }, as, want, io) =>
      patch('load-balancers.update', `/load-balancers/${id}`, body, marksOf(as, body, want, io), io),
  };

  const pool: Kind<PoolSpec, Part<Pool>> = {
    kind: kinds.pool,
    retryCreate: 'atOnce',
    settleMs,
    within: kinds.loadBalancer,
    inline: true,
    compare: comparePool,
    create({ spec }, _, io) {
      const path = `/load-balancers/${io.within}/pools`;
      const body = { ...poolBody(spec, tagsFor(io.owner, spec.service)), clientToken: tokenOf('pool', io.owner) };
      return changed({ operation: 'pools.create', method: 'POST', path, body }, io);
    },
    update({ id, body: { within } }, { what, body }, io) {
      const path = `/load-balancers/${within.id}/pools/${id}`;
      if (what !== 'members') return patch('pools.update', path, within, body as object, io);
      const sent = { members: (body as NonNullable<PoolSpec['members']>).wire, ...guardOf(within, io) };
      const request = { operation: 'pools.set-members', path: `${path}/members`, body: sent } as const;
      return changed({ ...request, method: 'PUT' }, io);
    },
    remove({ id, body: { within } }, io) {
      const path = `/load-balancers/${within.id}/pools/${id}`;
      return changed({ operation: 'pools.delete', method: 'DELETE', path, query: guardQuery(within, io) }, io);
    },
    mark({ id, body }, as, want, io) {
      const { within } = body;
      return patch('pools.update', `/load-balancers/${within.id}/pools/${id}`, within, marksOf(as, body, want, io), io);
    },
  };

  const listener: Kind<ListenerSpec, Part<Listener>> = {
    kind: kinds.listener,
    retryCreate: 'atOnce',
    settleMs,
    within: kinds.loadBalancer,
    inline: true,
    compare: compareListener,
    create({ key, spec }, _, io) {
      const path = `/load-balancers/${io.within}/listeners`;
      const body = { ...listenerBody(spec, tagsFor(io.owner, spec.service)), pool: io.idOf(spec.pool) };
      const clientToken = tokenOf(`listener ${key}`, io.owner);
      return changed({ operation: 'listeners.create', method: 'POST', path, body: { ...body, clientToken } }, io);
    },
    update({ id, body: { within } }, { body }, io) {
      const { pool: name, ...rest } = body as Partial<ListenerSpec>;
      const sent = { ...rest, ...(name !== undefined && { pool: io.idOf(name) }) };
      return patch('listeners.update', `/load-balancers/${within.id}/listeners/${id}`, within, sent, io);
    },
    remove({ id, body: { within } }, io) {
      const path = `/load-balancers/${within.id}/listeners/${id}`;
      return changed({ operation: 'listeners.delete', method: 'DELETE', path, query: guardQuery(within, io) }, io);
    },
    mark({ id, body }, as, want, io) {
      const { within } = body;
      const path = `/load-balancers/${within.id}/listeners/${id}`;
      return patch('listeners.update', path, within, marksOf(as, body, want, io), io);
    },
  };
  return [address, loadBalancer, pool, listener] as unknown as readonly Kind[];
}

interface LoadBalancerChange {
  readonly tags?: Readonly<Record<string, string>>;
  /** Ids of addresses. */
  readonly stay?: readonly string[];
  /** Names of addresses of ours. */
  readonly join?: readonly string[];
}

function compareLoadBalancer({ body }: Found<LoadBalancer>, spec: LoadBalancerSpec, pointsAt: PointsAt): Comparison {
  const { name, scheme, service } = spec;
  if (body.scheme !== scheme) return { replace: `from ${body.scheme} to ${scheme}`, order: 'deleteFirst' };
  const used = new Set(pointsAt('address'));
  const desired = families.filter((family) => spec.families.includes(family));
  const has = (family: string) => body.addresses.find((one) => one.family === family);
  const other = desired.find((family) => {
    const address = spec.addresses[family];
    return has(family) !== undefined && address !== undefined && !used.has(address);
  });
  if (other !== undefined) return { replace: `another ${other} address than ${has(other)?.ip}`, order: 'deleteFirst' };
  const changes: Change[] = [];
  const join = desired.flatMap((family) => (has(family) === undefined ? (spec.addresses[family] ?? []) : []));
  const kept = body.addresses.filter(({ family }) => desired.includes(family));
  // One that comes and goes with the load balancer has no id to be named by, and stays.
  const shrinks = kept.length > 0 && body.addresses.some((one) => one.id !== undefined && !kept.includes(one));
  if (join.length > 0 || shrinks) {
    const stay = (shrinks ? kept : body.addresses).flatMap(({ id }) => id ?? []);
    const before = body.addresses.map(({ family }) => family).join(', ');
    const summary = `families of ${body.name} from ${before} to ${desired.join(', ')}`;
    changes.push({ what: 'addresses', summary, phase: 'set', body: { stay, join } });
  }
  const tagged = body.tags[ownerTags.serviceName];
  if (tagged !== service && body.tags[ownerTags.service] !== undefined) {
    const summary = `tag ${ownerTags.serviceName} of ${name} from ${tagged ?? 'nothing'} to ${service}`;
    changes.push({ what: 'tags', summary, phase: 'set', body: { tags: { [ownerTags.serviceName]: service } } });
  }
  return changes.length === 0 ? { same: true } : { changes };
}

function comparePool({ body }: Found<Part<Pool>>, spec: PoolSpec): Comparison {
  const { healthCheck, sessionAffinity, members } = spec;
  const { healthCheck: known } = body;
  const settings = {
    ...(healthCheck && (known?.port !== healthCheck.port || known.path !== healthCheck.path) && { healthCheck }),
    ...(body.sessionAffinity?.timeoutSeconds !== sessionAffinity?.timeoutSeconds && {
      sessionAffinity: sessionAffinity ?? null,
    }),
  };
  const changes: Change[] = [];
  if (Object.keys(settings).length > 0) {
    const summary = `pool of ${body.within.name}: ${differences(body, settings)}`;
    changes.push({ what: 'settings', summary, phase: 'set', body: settings });
  }
  if (members !== undefined && members.digest !== body.memberDigest) {
    const summary = `members of ${body.within.name}: ${differenceOf(body.members, members)}`;
    changes.push({ what: 'members', summary, phase: 'set', body: members });
  }
  return changes.length === 0 ? { same: true } : { changes };
}

function compareListener({ body, key }: Found<Part<Listener>>, spec: ListenerSpec, pointsAt: PointsAt): Comparison {
  const { memberPort, sourceRanges, proxyProtocol, tls, pool } = spec;
  const settings = {
    ...(body.memberPort !== memberPort && { memberPort }),
    ...(body.sourceRanges.toSorted().join() !== sourceRanges.toSorted().join() && { sourceRanges }),
    ...(proxyProtocol !== undefined && body.proxyProtocol !== proxyProtocol && { proxyProtocol }),
    ...(tls !== undefined && body.tls !== tls && { tls }),
    ...(pointsAt('pool').join() !== pool && { pool }),
  };
  if (Object.keys(settings).length === 0) return { same: true };
  const summary = `listener ${key} of ${body.within.name}: ${differences(body, settings)}`;
  return { changes: [{ what: 'settings', summary, phase: 'set', body: settings }] };
}

function differences(before: object, change: object): string {
  const old = before as Readonly<Record<string, unknown>>;
  const show = (value: unknown) => JSON.stringify(value) ?? 'none';
  return Object.entries(change)
    .map(([key, value]) => `${key} from ${show(old[key])} to ${show(value)}`)
    .join(', ');
}

function poolBody({ name, healthCheck, sessionAffinity, members }: PoolSpec, tags: Readonly<Record<string, string>>) {
  return { name, tags, healthCheck, sessionAffinity, members: members?.wire ?? [] };
}

function listenerBody({ service: _, ...spec }: ListenerSpec, tags: Readonly<Record<string, string>>) {
  return { ...spec, tags, proxyProtocol: spec.proxyProtocol ?? false, tls: spec.tls ?? false };
}

/** Tells refused members by their providerIDs. */
async function namingMembers<T>(run: () => Promise<T>, region: string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const refusal = refusalOf(error);
    if (!isCloudError(error) || refusal?.code !== 'invalid-member') throw error;
    const ids = refusal.details['ids'];
    const texts = Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
    const subjects = texts.map((instanceId) => simulated.print({ instanceId, region }));
    const { kind, operation } = error;
    throw new CloudError({ kind, cloud, operation, message: refusal.message, subjects, cause: refusal });
  }
}
