import type { DesireInput, LoadBalancerDriver } from '../../clouds/load-balancer-driver.ts';
import type { LoadBalancerRef, ObservedLoadBalancer, Owner } from '../../clouds/load-balancers.ts';
import type { FoundIndex } from '../../engine/found-index.ts';
import { type Found, identityOf } from '../../engine/resource.ts';

const states = { ready: 'active', pending: 'provisioning', failed: 'failed', deleting: 'deleting' } as const;

export interface ViewInput {
  readonly driver: LoadBalancerDriver;
  readonly owner: Owner;
  /** All found resources of this owner. */
  readonly ours: readonly Found[];
  /** Whether it is ours by adoption, without marks. */
  readonly isAdopted: (found: Found) => boolean;
  readonly ref?: LoadBalancerRef | undefined;
  /** Queries on everything found, of any owner. */
  readonly queries: Pick<DesireInput, 'found' | 'get' | 'holderOf'>;
}

/** The load balancer of one Service in the contract's shape; undefined where there is none. Pure. */
export function viewOf(input: ViewInput): ObservedLoadBalancer | undefined {
  const { driver, owner, ours, isAdopted, ref, queries } = input;
  const mainOf = (id: string | undefined) => (id === undefined ? undefined : queries.get(driver.main, id));
  const own = ours.filter(({ kind }) => kind === driver.main);
  const mine = own.find(({ status }) => status !== 'deleting') ?? own[0];
  const others = ours.flatMap(({ within }) => mainOf(within) ?? []).filter((one) => !own.includes(one));
  const slots = ref === undefined ? [] : driver.slots(ref);
  const blocking = slots.map(queries.holderOf).find((one) => one?.kind === driver.main);
  const candidate = mainOf(ref?.attachTo) ?? mainOf(ref?.id) ?? blocking;
  const container = others.find(({ id }) => id === ref?.attachTo) ?? others[0];
  const isAttached = container !== undefined && (mine === undefined || container.id === ref?.attachTo);
  const main = (isAttached ? container : mine) ?? candidate;
  if (main === undefined && ours.length === 0) return undefined;
  const shown = main && driver.show(main, ours, queries.found);
  const isNamed = main !== undefined && !isAttached && main !== mine;
  return {
    id: main?.id,
    name: shown?.name ?? ref?.name ?? '',
    owner: ours.length > 0 ? owner : undefined,
    state: states[main?.status ?? 'ready'],
    ingress: isNamed ? [] : (shown?.ingress ?? []),
    members: driver.members(ours),
    attached: isAttached || (isNamed && main.id === ref?.attachTo),
    retained: main?.retained === true,
    createdAtMs: shown?.createdAtMs,
    service: shown?.service ?? ref?.service,
    ...(mine !== undefined && isAdopted(mine) && { adopted: true }),
  };
}

/** Load balancers that were retained when their Services were deleted. Pure. */
export function retainedViews(
  driver: LoadBalancerDriver,
  all: readonly Found[],
  found: DesireInput['found'],
): readonly ObservedLoadBalancer[] {
  const kept = all.filter((one) => one.retained === true && one.within === undefined);
  const used = new Set(kept.flatMap(({ refs = [] }) => refs.map(identityOf)));
  return kept.flatMap((one): ObservedLoadBalancer[] => {
    if (used.has(identityOf(one))) return [];
    const { name, createdAtMs, service } = driver.show(one, [], found);
    return [
      {
        id: one.kind === driver.main ? one.id : undefined,
        name,
        owner: undefined,
        state: states[one.status],
        ingress: [],
        members: [],
        attached: false,
        retained: true,
        createdAtMs,
        service,
      },
    ];
  });
}

/** The marked resources of each Service of this cluster, with their unmarked parts. Pure. */
export function byService({ all, containerOf }: FoundIndex, cluster: string): ReadonlyMap<string, readonly Found[]> {
  const ownerOf = (one: Found): Owner | undefined => {
    const container = one.owner === undefined ? containerOf(one) : undefined;
    return container === undefined ? one.owner : ownerOf(container);
  };
  const ours = all.filter((one) => ownerOf(one)?.cluster === cluster && one.retained !== true);
  return Map.groupBy(ours, (one) => ownerOf(one)!.service);
}
