import type { Clock } from '../../../common/process/clock.ts';
import type { Random } from '../../../common/process/random.ts';
import type { AddressModel } from './address-model.ts';
import { exchangeAddresses, freeAddress, onePerFamily } from './address-use.ts';
import type { Tags } from './body.ts';
import type { Guard } from './guard.ts';
import { randomHex } from './identifiers.ts';
import type { LoadBalancerState, SimulatedLoadBalancer } from './load-balancer.ts';
import { type LoadBalancerParts, loadBalancerParts, newListener, newPool } from './load-balancer-parts.ts';
import type { LoadBalancerSpec } from './load-balancer-spec.ts';
import { type MemberHealth, type MemberRules, memberHealth } from './member-rules.ts';
import type { Quotas } from './quotas.ts';
import { notFound, Refused } from './refused.ts';
import { type ResourceEvent, type ResourceStore, resourceStore } from './resource-store.ts';
import { transitions } from './transitions.ts';

/** How long the cloud takes, milliseconds. */
export interface LoadBalancerTimings {
  readonly provisioningMs: number;
  readonly deletingMs: number;
}

/**
 * The load balancers, with their listeners and pools. A call is refused or done as a whole; changes are refused with
 * 409 `not-ready` while one is provisioned or deleted. A data plane follows `onChange`, reads `store`, and reports by
 * `health`.
 */
export interface LoadBalancerModel extends LoadBalancerParts {
  readonly store: Pick<ResourceStore<SimulatedLoadBalancer>, 'get' | 'all' | 'inPlace' | 'inPlaceAsOf'>;
  readonly members: MemberRules;
  readonly health: MemberHealth;
  /**
   * Creates all of it: addresses, pools and listeners. The token of an existing one returns that one. `fails`: it ends
   * up `failed`. Refusals: 409 `name-taken` (with its id), `address-in-use`, `not-ready` (the token's one is being
   * deleted), 400 `invalid-member` (with `ids`), `too-many-members`, 403 `quota-exceeded`.
   */
  create(
    place: string,
    spec: LoadBalancerSpec,
    options?: { readonly fails?: boolean },
  ): { readonly loadBalancer: SimulatedLoadBalancer; readonly made: boolean };
  /** Addresses may join or leave, at least one stays; one of a family does not give way to another. */
  update(
    id: string,
    change: { readonly name?: string; readonly tags?: Tags; readonly addresses?: readonly string[] },
    guard?: Guard,
  ): SimulatedLoadBalancer;
  /** @returns undefined when it is gone at once. Safe to repeat while it is deleted. */
  delete(id: string, guard?: Guard): SimulatedLoadBalancer | undefined;
  /** Makes it vanish at once, behind everybody's back; its static addresses are free again. */
  forget(id: string): void;
  setState(id: string, state: LoadBalancerState): SimulatedLoadBalancer;
  /** These tags and no others, whatever state it is in. */
  setTags(id: string, tags: Tags): SimulatedLoadBalancer;
  /** Takes every tag off it and its listeners and pools. */
  stripTags(id: string): SimulatedLoadBalancer;
  /** For those made or deleted from now on. */
  setTimings(timings: Partial<LoadBalancerTimings>): void;
  onChange(listener: (event: ResourceEvent<SimulatedLoadBalancer>) => void): () => void;
  close(): void;
}

export interface LoadBalancerModelParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly quotas: Quotas;
  readonly addresses: AddressModel;
  readonly members: MemberRules;
  readonly historyMs: number;
  /** Default: everything is immediate. */
  readonly timings?: Partial<LoadBalancerTimings> | undefined;
}

export function createLoadBalancerModel(parts: LoadBalancerModelParts): LoadBalancerModel {
  const { clock, random, quotas, addresses, members } = parts;
  const records = resourceStore<SimulatedLoadBalancer>(parts.historyMs);
  const pending = transitions<LoadBalancerState | 'gone'>(clock, settle);
  const id = (kind: string) => `${kind}-${randomHex(random, 12)}`;
  let timings: LoadBalancerTimings = { provisioningMs: 0, deletingMs: 0, ...parts.timings };

  function settle(): void {
    for (let step = pending.takeDue(); step; step = pending.takeDue()) {
      const { to, at } = step;
      if (to === 'gone') remove(step.id, at);
      else records.put({ ...records.get(step.id)!, state: to }, at);
    }
  }

  function present<T>(read: () => T): T {
    settle();
    return read();
  }

  function mustExist(loadBalancer: string): SimulatedLoadBalancer {
    settle();
    const found = records.get(loadBalancer);
    if (!found) throw notFound('load-balancer', loadBalancer);
    return found;
  }

  function put(after: SimulatedLoadBalancer): SimulatedLoadBalancer {
    return records.put(after, clock.monotonic());
  }

  function change(
    loadBalancer: string,
    { ifRevision }: Guard,
    edit: (before: SimulatedLoadBalancer) => Partial<SimulatedLoadBalancer>,
  ): SimulatedLoadBalancer {
    const before = mustExist(loadBalancer);
    checkRevision(before, ifRevision);
    if (before.state === 'provisioning' || before.state === 'deleting') {
      throw new Refused(409, 'not-ready', `${loadBalancer} is ${before.state}`, { state: before.state });
    }
    return put({ ...before, ...edit(before), revision: before.revision + 1 });
  }

  function remove(loadBalancer: string, at: number): void {
    pending.cancel(loadBalancer);
    for (const address of records.get(loadBalancer)?.addresses ?? []) {
      if (address.id !== undefined) addresses.setUser(address.id, undefined);
    }
    records.remove(loadBalancer, at);
  }

  function enter(
    before: SimulatedLoadBalancer,
    state: LoadBalancerState,
    then: LoadBalancerState | 'gone',
    ms: number,
  ) {
    const at = clock.monotonic();
    if (ms > 0) {
      const after = put({ ...before, state });
      pending.schedule(before.id, then, at + ms);
      return after;
    }
    if (then !== 'gone') return put({ ...before, state: then });
    remove(before.id, at);
    return undefined;
  }

  function nameFree(place: string, name: string): void {
    const taken = records.inPlace(place).find((one) => one.name === name);
    if (taken)
      throw new Refused(409, 'name-taken', `${taken.id} has the name ${JSON.stringify(name)}`, { id: taken.id });
  }

  return {
    ...loadBalancerParts({ change, members, newId: id }),
    store: {
      get: (loadBalancer) => present(() => records.get(loadBalancer)),
      all: () => present(records.all),
      inPlace: (place) => present(() => records.inPlace(place)),
      inPlaceAsOf: (place, at) => present(() => records.inPlaceAsOf(place, at)),
    },
    members,
    health: memberHealth(),
    create(place, spec, { fails = false } = {}) {
      settle();
      const known = records.byToken(place, spec.clientToken);
      if (known?.state === 'deleting') throw new Refused(409, 'not-ready', `${known.id} is deleting`, { id: known.id });
      if (known) return { loadBalancer: known, made: false };
      nameFree(place, spec.name);
      quotas.demand('load-balancers', records.countIn(place));
      const given = spec.addresses.map((one) => freeAddress(addresses, { place, scheme: spec.scheme }, one));
      onePerFamily(given);
      const pools = spec.pools.map((pool) => newPool(pool, place, id('pool'), members));
      const listeners = spec.listeners.map((listener) => newListener(listener, pools, id('lsn')));
      const twice = listeners.find(({ protocol, port }, at) =>
        listeners.slice(0, at).some((one) => one.protocol === protocol && one.port === port),
      );
      if (twice) throw new Refused(400, 'invalid', `listeners: ${twice.protocol} ${twice.port} stands twice`);
      const loadBalancer: SimulatedLoadBalancer = {
        id: id('lb'),
        place,
        serial: records.nextSerial(),
        clientToken: spec.clientToken,
        name: spec.name,
        tags: spec.tags,
        scheme: spec.scheme,
        addresses: [
          ...given,
          ...spec.families
            .filter((family) => !given.some((one) => one.family === family))
            .map((family) => ({ id: undefined, family, ip: addresses.ephemeral(spec.scheme, family) })),
        ],
        state: 'provisioning',
        revision: 1,
        createdAt: new Date(clock.now()).toISOString(),
        listeners,
        pools,
      };
      for (const one of spec.addresses) addresses.setUser(one, loadBalancer.id);
      const end = fails ? 'failed' : 'active';
      return { loadBalancer: enter(loadBalancer, 'provisioning', end, timings.provisioningMs)!, made: true };
    },
    update: (loadBalancer, { name, tags, addresses: ids }, guard = {}) =>
      change(loadBalancer, guard, (before) => {
        if (name !== undefined && name !== before.name) nameFree(before.place, name);
        const after = { ...(name !== undefined && { name }), ...(tags && { tags }) };
        return ids ? { ...after, addresses: exchangeAddresses(addresses, before, ids) } : after;
      }),
    delete(loadBalancer, { ifRevision } = {}) {
      const before = mustExist(loadBalancer);
      if (before.state === 'deleting') return before;
      checkRevision(before, ifRevision);
      return enter({ ...before, revision: before.revision + 1 }, 'deleting', 'gone', timings.deletingMs);
    },
    forget: (loadBalancer) => remove(mustExist(loadBalancer).id, clock.monotonic()),
    setState(loadBalancer, state) {
      const before = mustExist(loadBalancer);
      pending.cancel(loadBalancer);
      return put({ ...before, state });
    },
    setTags(loadBalancer, tags) {
      const before = mustExist(loadBalancer);
      return put({ ...before, tags, revision: before.revision + 1 });
    },
    stripTags(loadBalancer) {
      const before = mustExist(loadBalancer);
      const bare = <P extends { readonly tags: Tags }>(piece: P): P => ({ ...piece, tags: {} });
      const { listeners, pools } = before;
      return put({
        ...bare(before),
        listeners: listeners.map(bare),
        pools: pools.map(bare),
        revision: before.revision + 1,
      });
    },
    setTimings(changed) {
      timings = { ...timings, ...changed };
    },
    onChange: records.onChange,
    close: () => pending.close(),
  };
}

function checkRevision({ id, revision }: SimulatedLoadBalancer, ifRevision: number | undefined): void {
  if (ifRevision === undefined || ifRevision === revision) return;
  throw new Refused(409, 'revision-mismatch', `${id} is at revision ${revision}, not ${ifRevision}`, { revision });
}
