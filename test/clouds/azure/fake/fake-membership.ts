import type { FakeAnswer, Json, ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';
import type { FakeInventory } from './fake-machines.ts';
import type { FakeNetworkParts, FakeResource } from './fake-network.ts';
import {
  etagOf,
  type FakeConfiguration,
  type FakeInterface,
  type FakeSet,
  type FakeVm,
  interfaceJson,
  setJson,
  vmJson,
} from './fake-state.ts';

export interface FakeMembershipParts {
  readonly inventory: FakeInventory;
  readonly start: FakeNetworkParts['start'];
  balancers(): ReadonlyMap<string, FakeResource>;
}

/** Which configurations of interfaces are in which backend pools: what writes of interfaces and instances change. */
export interface FakeMembership extends Pick<FakeNetworkParts, 'membersOf' | 'leftBy'> {
  putInterface(call: ReceivedCall, one: FakeInterface, vm: FakeVm): FakeAnswer;
  putInstance(call: ReceivedCall, vm: FakeVm): FakeAnswer;
  putSet(call: ReceivedCall, set: FakeSet): FakeAnswer;
}

interface Sent {
  readonly name?: string;
  readonly properties?: Json;
}

const listIn = (json: unknown, name: string) =>
  (((json ?? {}) as Json)[name] ?? []) as readonly (Sent & { readonly id?: string })[];
const poolsIn = ({ properties }: Sent) =>
  listIn(properties, 'loadBalancerBackendAddressPools').map(({ id = '' }) => id);
const has = (pools: readonly string[], id: string) => pools.some((one) => one.toLowerCase() === id.toLowerCase());
const balancerOf = (pool: string) => pool.toLowerCase().replace(/\/backendaddresspools\/.*$/, '');
const refuse = (code: string, message: string) => new FakeRefusal(400, code, message);

export function createFakeMembership({ inventory, start, balancers }: FakeMembershipParts): FakeMembership {
  const { vms, sets } = inventory;

  function assertPools(pools: readonly string[]): void {
    const scheme = (pool: string) => balancerOf(pool).endsWith('-internal');
    for (const pool of pools) {
      const list = (balancers().get(balancerOf(pool))?.body['properties'] as Json)?.['backendAddressPools'] ?? [];
      const name = pool.toLowerCase().split('/').at(-1);
      const there = (list as readonly { name: string; properties?: Json }[]).find(
        (one) => one.name.toLowerCase() === name,
      );
      if (there === undefined) throw refuse('InvalidResourceReference', `${pool} was not found.`);
      if (((there.properties?.['loadBalancerBackendAddresses'] ?? []) as unknown[]).length > 0)
        throw refuse('MixedBackendAddressPool', `${pool} is a pool of addresses.`);
      if (pools.some((other) => scheme(other) === scheme(pool) && balancerOf(other) !== balancerOf(pool)))
        throw refuse('NicInUseByTwoLoadBalancersOfSameType', pools.join());
    }
  }

  function assertMatch({ headers }: ReceivedCall, version: number): void {
    const match = headers['if-match'];
    if (match === undefined || match === etagOf(version)) return;
    throw new FakeRefusal(412, 'PreconditionFailed', `Etag provided in If-Match header ${match} does not match.`);
  }

  /** Their load balancers show it. */
  function touched(pools: readonly string[]): void {
    for (const id of new Set(pools.map(balancerOf))) {
      const balancer = balancers().get(id);
      if (balancer !== undefined) balancer.version += 1;
    }
  }

  function write(one: FakeInterface, configurations: readonly Sent[]): void {
    const next = one.configurations.map((there) => {
      const sent = configurations.find(({ name }) => name === there.name);
      if (sent === undefined) throw refuse('IpConfigurationMissing', `${one.id}: ${there.name}`);
      return [there, poolsIn(sent)] as const;
    });
    for (const [, pools] of next) assertPools(pools);
    for (const [there, pools] of next) {
      touched([...(there.pools ?? []), ...pools].filter((pool) => has(pools, pool) !== has(there.pools ?? [], pool)));
      there.pools = pools;
    }
    one.version += 1;
  }

  const answered = (call: ReceivedCall, body: Json): FakeAnswer => ({
    status: 200,
    headers: start(call).headers,
    body,
  });
  const profileOf = (properties: unknown, name: string) =>
    listIn((properties as Json)[name], 'networkInterfaceConfigurations');

  return {
    membersOf(pool) {
      const isIn = ({ pools = [] }: FakeConfiguration) => has(pools, pool);
      const configurations = [...vms.values()].flatMap(({ interfaces }) =>
        interfaces.flatMap((one) =>
          one.configurations.filter(isIn).map(({ name }) => `${one.id}/ipConfigurations/${name}`),
        ),
      );
      const models = [...sets.values()].flatMap((set) => (has(set.pools, pool) ? [set.id] : []));
      return { configurations, models };
    },
    leftBy(pool) {
      for (const { interfaces } of vms.values())
        for (const { configurations } of interfaces)
          for (const one of configurations) one.pools = (one.pools ?? []).filter((id) => !has([id], pool));
    },
    putInterface(call, one, vm) {
      assertMatch(call, one.version);
      write(one, listIn(call.body['properties'], 'ipConfigurations'));
      return answered(call, interfaceJson(one, vm));
    },
    putInstance(call, vm) {
      assertMatch(call, vm.interfaces[0]!.version);
      const sent = profileOf(call.body['properties'], 'networkProfileConfiguration');
      for (const one of vm.interfaces) {
        const own = sent.find(({ name }) => name === one.name);
        if (own === undefined) throw refuse('NetworkInterfaceMissing', `${vm.id}: ${one.name}`);
        write(one, listIn(own.properties, 'ipConfigurations'));
      }
      return answered(call, vmJson(vm, false));
    },
    putSet(call, set) {
      assertMatch(call, set.version);
      const profile = (call.body['properties'] as Json)['virtualMachineProfile'] as Json;
      const [own] = profileOf(profile, 'networkProfile');
      const pools = listIn(own?.properties, 'ipConfigurations').flatMap(poolsIn);
      assertPools(pools);
      set.pools = pools;
      set.version += 1;
      return answered(call, setJson(set));
    },
  };
}
