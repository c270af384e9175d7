import type { Change, Comparison, Found, Kind, PointsAt } from '../../../engine/resource.ts';
import { ownerTags } from '../../load-balancers.ts';
import { foundAll, kinds, tagsFor } from '../found.ts';
import { families, type LoadBalancer } from '../load-balancer-answer.ts';
import type { ListenerSpec, LoadBalancerSpec, PoolSpec } from '../specs.ts';
import { type Calls, guardQuery, marksOf, tokenOf } from './calls.ts';
import { listenerBody } from './listeners.ts';
import { poolBody } from './pools.ts';

/** A load balancer. It takes one change at a time. */
export function loadBalancerKind({ send, patch }: Calls, settleMs: number): Kind<LoadBalancerSpec, LoadBalancer> {
  return {
    kind: kinds.loadBalancer,
    retryCreate: 'atOnce',
    settleMs,
    locks: true,
    compare,
    async create({ spec }, inside, io) {
      const { name, service, scheme } = spec;
      const tags = tagsFor(io.owner, service);
      const ofKind = <S>(kind: string) => inside.flatMap((one) => (one.kind === kind ? [one.spec as S] : []));
      const pools = ofKind<PoolSpec>(kinds.pool);
      const body = {
        clientToken: tokenOf('load balancer', io),
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
}

interface LoadBalancerChange {
  readonly tags?: Readonly<Record<string, string>>;
  /** Ids of addresses. */
  readonly stay?: readonly string[];
  /** Names of addresses of ours. */
  readonly join?: readonly string[];
}

function compare({ body }: Found<LoadBalancer>, spec: LoadBalancerSpec, pointsAt: PointsAt): Comparison {
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
