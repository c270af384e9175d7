import { CloudError, isCloudError } from '../../../../common/cloud-error.ts';
import type { Answer, Change, Comparison, Found, Kind, Owner, ReadIo, WriteIo } from '../../../engine/resource.ts';
import type { AnswerFields } from '../../answer-fields.ts';
import { ownerTags } from '../../load-balancers.ts';
import { faultOf } from '../fault.ts';
import type { LoadBalancerConfig } from '../load-balancer-config.ts';
import { classicPrefix } from './names.ts';
import { type LoadBalancer, type Member, readListener, readLoadBalancer, readPool } from './octavia-answer.ts';
import { isMonitor, loadBalancerBody } from './octavia-bodies.ts';
import type { OctaviaCalls } from './octavia-calls.ts';
import { settleMs, working } from './octavia-work.ts';
import { shownMembers } from './pool-changes.ts';
import { foundAll, foundLoadBalancer, octaviaKinds, ofLoadBalancer, type Whole } from './resources.ts';
import type { ListenerSpec, LoadBalancerSpec, PoolSpec } from './specs.ts';
import { octaviaTags, ownerTagsOf, retainedTags, tag, tagValue, without } from './tags.ts';

export interface LoadBalancerKindParts {
  readonly calls: OctaviaCalls;
  readonly config: LoadBalancerConfig;
  /** Subnet of the first of these addresses that a port of these servers has. */
  subnetOf(near: LoadBalancerSpec['near'], io: ReadIo): Promise<string>;
  /** Takes note of all members of a pool. */
  sent(pool: string, members: readonly Member[]): void;
}

export function createLoadBalancerKinds({
  calls,
  config,
  subnetOf,
  sent,
}: LoadBalancerKindParts): readonly [Kind<LoadBalancerSpec, LoadBalancer>, Kind<undefined, undefined>] {
  /** Refused for all, since the credential may not do it, for a provider that cannot, or for one load balancer. */
  const noFailover = new Set<string>();
  const mayFailOver = ({ id, provider }: LoadBalancer) =>
    !['all', `provider ${provider}`, id].some((one) => noFailover.has(one));

  async function setTags(found: Found<LoadBalancer>, tags: readonly string[], io: WriteIo): Promise<Answer> {
    const answer = await calls.send('PUT', `loadbalancers/${found.id}`, io, { loadbalancer: { tags } });
    return {
      found: foundLoadBalancer(readLoadBalancer(answer.object('loadbalancer'))),
      ...working('change', found.body),
    };
  }

  async function failOver(found: Found<LoadBalancer>, io: WriteIo): Promise<Answer> {
    try {
      await calls.send('PUT', `loadbalancers/${found.id}/failover`, io);
    } catch (error) {
      const { status } = faultOf(error) ?? {};
      if (!isCloudError(error)) throw error;
      // One that is not found is gone, or a proxy has answered.
      if (error.kind === 'Forbidden') noFailover.add('all');
      else if (status === 501) noFailover.add(`provider ${found.body.provider}`);
      else if (status === 400) noFailover.add(found.id);
      else throw error;
      // It has to be planned for in another way.
      const { operation, message } = error;
      throw new CloudError({ kind: 'Stale', cloud: 'openstack', operation, message, cause: error.cause });
    }
    return { found: [{ ...found, status: 'pending' }], ...working('failover', found.body) };
  }

  /** The next part that has to go first, where nothing goes by cascade. */
  function partOf({ listenerIds, poolIds }: LoadBalancer): string | undefined {
    const [listener, pool] = [listenerIds[0], poolIds[0]];
    if (listener !== undefined) return `listeners/${listener}`;
    return pool === undefined ? undefined : `pools/${pool}`;
  }

  const loadBalancer: Kind<LoadBalancerSpec, LoadBalancer> = {
    kind: octaviaKinds.loadBalancer,
    locks: true,
    retryCreate: 'afterSearch',
    settleMs,
    compare({ body, status }, spec): Comparison {
      if (status === 'failed') {
        if (!mayFailOver(body)) return { replace: 'it is in ERROR', order: 'deleteFirst' };
        const summary = `fail over load balancer ${body.name}, which is in ERROR`;
        return { changes: [{ what: 'failover', phase: 'set', summary }] };
      }
      const tags = tagsFor(spec, body.tags);
      const isTagged = spec.isClassic
        ? tagValue(tags, octaviaTags.hostname) === tagValue(body.tags, octaviaTags.hostname)
        : tags.length === body.tags.length && tags.every((one) => body.tags.includes(one));
      if (isTagged) return { same: true };
      const summary = `tags of load balancer ${body.name}: ${tagChange(body.tags, tags)}`;
      return { changes: [{ what: 'tags', phase: 'set', summary, body: tags }] };
    },
    // Until it serves, its address is shown to none: it can be made again without consent.
    fresh: ({ spec }) => ({ body: { ...emptyBalancer, name: spec.name, tags: tagsFor({ ...spec, vip: false }, []) } }),
    async create({ spec }, inside, io) {
      const isPlaced = spec.vipPortId !== undefined || Object.keys(spec.placement).length > 0;
      const vipSubnetId = isPlaced ? spec.placement.subnetId : await subnetOf(spec.near, io);
      const pools = new Map(
        inside.flatMap((one) => (one.kind === octaviaKinds.pool ? [[`${one.kind}/${one.key}`, one]] : [])),
      );
      const ports = inside.flatMap(({ kind, spec: inner }) => {
        if (kind !== octaviaKinds.listener) return [];
        const listener = inner as ListenerSpec;
        return [{ listener, pool: pools.get(listener.pool)!.spec as PoolSpec }];
      });
      const tags = [...ownerTagsOf(io.owner), ...tagsFor({ ...spec, vip: false }, [])];
      const body = loadBalancerBody(spec, ports, { owner: io.owner, tags, vipSubnetId });
      const answer = await calls.send('POST', 'loadbalancers', io, { loadbalancer: body });
      const specs = ports.map(({ pool }) => pool);
      const made = readCreated(answer.object('loadbalancer'), specs, io.owner);
      for (const { id, members = [] } of made.pools ?? []) sent(id, members);
      return { id: made.loadBalancer.id, found: foundAll(made), ...working('create', made.loadBalancer) };
    },
    update: (found, { what, body }: Change, io) =>
      what === 'failover' ? failOver(found, io) : setTags(found, body as readonly string[], io),
    async remove({ id, body }, io) {
      const now = await calls.get('loadbalancers', id, io);
      if (now === undefined) return {};
      // Others may have come to use it since it was read.
      if (now.listenerIds.some((one) => !body.listenerIds.includes(one)))
        throw notNow('Stale', 'it has other listeners');
      const isWhole = config.cascadeDelete || now.status === 'ERROR';
      const part = isWhole ? undefined : partOf(now);
      if (!isWhole && now.status.startsWith('PENDING')) throw notNow('Busy', `it is in ${now.status}`);
      if (part !== undefined) {
        await calls.send('DELETE', part, io);
        throw notNow('Busy', `${part} goes first`);
      }
      const query = isWhole ? ([['cascade', 'true']] as const) : undefined;
      await calls.send('DELETE', `loadbalancers/${id}`, io, undefined, query);
      return working('delete', now);
    },
    mark(found, as, want, io) {
      const { tags } = found.body;
      if (as === 'retained')
        return setTags(found, [...retainedTags(tags), tag(ownerTags.cluster, io.owner.cluster)], io);
      const ours = want === undefined ? tags : tagsFor(want.spec as LoadBalancerSpec, tags);
      return setTags(found, [...without(ours, [ownerTags.cluster, ownerTags.service]), ...ownerTagsOf(io.owner)], io);
    },
  };
  const vipPort: Kind<undefined, undefined> = {
    kind: octaviaKinds.vipPort,
    ...ofLoadBalancer,
    compare: () => ({ same: true }),
  };
  return [loadBalancer, vipPort];
}

function notNow(kind: 'Busy' | 'Stale', message: string): CloudError {
  const operation = 'DELETE /lbaas/loadbalancers/{id}';
  const wait = kind === 'Busy' ? { retryAfterMs: 2000 } : {};
  return new CloudError({ kind, cloud: 'openstack', operation, message, ...wait });
}

const emptyBalancer: LoadBalancer = {
  id: '',
  name: '',
  status: '',
  vipAddress: '',
  vipPortId: '',
  vipSubnetId: '',
  provider: '',
  createdAtMs: undefined,
  tags: [],
  listenerIds: [],
  poolIds: [],
};

/** Its tags as they are to be, but for those that name the owner; those that we do not know stay. */
function tagsFor(spec: LoadBalancerSpec, there: readonly string[]): string[] {
  const { service, name, hostname = tagValue(there, octaviaTags.hostname) ?? '' } = spec;
  const { vip = tagValue(there, octaviaTags.address) === 'vip' } = spec;
  const isNamed = there.some((one) => one.startsWith(classicPrefix));
  return [
    ...new Set([
      ...without(there, [ownerTags.serviceName, octaviaTags.address, octaviaTags.hostname, ownerTags.retained]),
      tag(ownerTags.serviceName, service),
      ...(isNamed ? [] : [name]),
      ...(vip ? [tag(octaviaTags.address, 'vip')] : []),
      ...(hostname === '' ? [] : [tag(octaviaTags.hostname, hostname)]),
    ]),
  ];
}

function tagChange(before: readonly string[], after: readonly string[]): string {
  const added = after.filter((one) => !before.includes(one)).map((one) => `+${one}`);
  const removed = before.filter((one) => !after.includes(one)).map((one) => `-${one}`);
  return [...added, ...removed].join(', ');
}

/** The answer to a create has all that was made with it, but for what holds what and, with most releases, monitors. */
function readCreated(answer: AnswerFields, specs: readonly PoolSpec[], owner: Owner): Whole {
  const loadBalancer = readLoadBalancer(answer);
  const loadBalancerId = loadBalancer.id;
  return {
    loadBalancer,
    listeners: answer.optionalObjects('listeners').map((one) => ({ ...readListener(one), loadBalancerId })),
    pools: answer.optionalObjects('pools').map((one) => {
      const pool = readPool(one);
      const spec = specs.find(({ name }) => name === pool.name);
      const id = one.optionalObject('healthmonitor')?.optionalText('id') ?? '';
      const monitor = isMonitor(spec?.monitor)
        ? { ...spec.monitor, id, status: '', tags: ownerTagsOf(owner) }
        : undefined;
      return {
        ...pool,
        loadBalancerId,
        monitor,
        monitorId: monitor?.id,
        members: shownMembers(spec?.members ?? [], []),
      };
    }),
  };
}
