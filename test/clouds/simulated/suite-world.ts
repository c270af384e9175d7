import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { ownerTags } from '../../../controller/clouds/load-balancers.ts';
import { classicName, classicTags } from '../../../controller/clouds/simulated/adoption.ts';
import { kinds } from '../../../controller/clouds/simulated/found.ts';
import type { SimulatedCloudParts } from '../../../controller/clouds/simulated/simulated-cloud.ts';
import type { SimulatedCloud } from '../../kit/cloud/cloud.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudVm, CloudWorld, InventoryItem } from '../suite/world.ts';
import { openSimulated } from './open.ts';

export const simulatedCapabilities: CloudCapabilities = {
  deletedVm: 'gone',
  loadBalancers: {
    protocols: ['TCP', 'UDP', 'SCTP'],
    sourceRanges: true,
    sessionAffinity: true,
    uniqueNames: true,
    attach: true,
    drains: true,
    retain: true,
    refusesMembers: true,
    calls: { first: 2, further: 2, member: 1, removal: 2 },
  },
  routes: { tags: true, blackholes: true, quota: true },
  enumerateFaults: true,
};

export interface SimulatedWorldParts {
  readonly cloud: SimulatedCloud;
  readonly clock: Clock;
  readonly http: Http;
  /** Base of the API. */
  readonly url: string;
  /** How long a search may miss what was made, as the configuration of the cloud says it. */
  readonly settleMs: number;
  /** Called for every call of every client. */
  onCall?(call: CloudCall): void;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** The simulated cloud as the conformance suite drives it: the client that ships, over any transport. */
export function simulatedWorld({
  cloud,
  clock,
  http,
  url,
  settleMs,
  onCall = () => {},
  during,
  pass,
  close,
}: SimulatedWorldParts): CloudWorld {
  const { model, network, credentials, credential } = cloud;
  const { loadBalancers, addresses, routes, quotas } = network;
  const place = [...model.places.values()][0];
  assert.ok(place, 'the simulated cloud has no region');
  const { project, region } = place;
  const here = `${project}/${region}`;
  const cluster = randomUUID();
  const sent = sentCalls(http, (method, to) => method !== 'GET' && !to.includes('instances:lookup'));
  const clients: { close(): void }[] = [];
  const vmOf = (providerID: string) => providerID.slice(providerID.lastIndexOf('/') + 1);

  return {
    cluster,
    async open(wrap) {
      const parts: SimulatedCloudParts = {
        config: { endpoint: url, project, region, settleMs },
        context: { clock, random: seededRandom(1), log: silentLog, env: {}, onCall },
        http: sent.http,
        credential: async () => credential,
      };
      const client = openSimulated(parts, wrap);
      clients.push(client);
      return client;
    },
    async createVm() {
      const { id, name, zone, interfaces } = model.create({ external: true });
      return {
        name,
        providerID: `simulated://${region}/${id}`,
        addresses: interfaces.flatMap(({ internal }) => internal),
        zone,
      };
    },
    async deleteVm(providerID) {
      if (model.get(vmOf(providerID))) model.terminate(vmOf(providerID));
    },
    stopVm: async (providerID) => void model.stop(vmOf(providerID)),
    unusedProviderID: () => `simulated://${region}/i-${randomBytes(6).toString('hex')}`,
    otherScopeProviderID: () => 'simulated://elsewhere-1/i-0123456789ab',
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    refuseCredential: (refused) => credentials.setMode(credential, refused ? 'unauthorized' : 'ok'),
    inventory: async () => inventory(cloud),
    async createForeignLoadBalancer(name, consent) {
      const { loadBalancer } = loadBalancers.create(here, {
        name,
        tags: consent ? { [ownerTags.consent]: consent } : { team: 'other' },
        scheme: 'external',
        families: ['IPv4'],
        addresses: [],
        pools: [
          {
            name: 'their-pool',
            tags: {},
            healthCheck: undefined,
            sessionAffinity: undefined,
            members: [],
            clientToken: undefined,
          },
        ],
        listeners: [
          {
            name: 'theirs',
            tags: {},
            protocol: 'TCP',
            port: 9000,
            memberPort: 9000,
            sourceRanges: [],
            proxyProtocol: false,
            tls: false,
            pool: 'their-pool',
            clientToken: undefined,
          },
        ],
        clientToken: undefined,
      });
      loadBalancers.setState(loadBalancer.id, 'active');
      return loadBalancer.id;
    },
    async describeLoadBalancer(id) {
      const found = loadBalancers.store.get(id);
      if (!found) return undefined;
      const { revision: _, ...shown } = found;
      return JSON.stringify(shown);
    },
    async deleteLoadBalancer(id) {
      if (loadBalancers.store.get(id)) loadBalancers.forget(id);
    },
    async stripMarks({ kind, id, within = id }) {
      if (kind === kinds.address) addresses.setTags(id, {});
      else if (kind === kinds.pool) loadBalancers.changePool(within, id, { tags: {} });
      else if (kind === kinds.listener) loadBalancers.changeListener(within, id, { tags: {} });
      else loadBalancers.setTags(id, {});
      return true;
    },
    // Parts of a load balancer may be anybody's.
    comesBack: ({ kind }) => kind !== kinds.pool && kind !== kinds.listener,
    async markAsClassic({ id }, { clusterName, service }) {
      const tags = { [classicTags.cluster]: clusterName, [classicTags.service]: service };
      const { addresses: its } = loadBalancers.stripTags(id);
      loadBalancers.update(id, { name: classicName(clusterName, service), tags });
      for (const one of its) if (one.id !== undefined) addresses.setTags(one.id, tags);
    },
    async freeAddress(consent) {
      const tags = consent ? { [ownerTags.consent]: consent } : { team: 'other' };
      return addresses.reserve(here, { family: 'IPv4', scheme: 'external', tags }).address.ip;
    },
    async createForeignRoute(destination, vm: CloudVm) {
      const instanceId = vmOf(vm.providerID);
      routes.create(here, { destination, instanceId, description: 'theirs', tags: {}, clientToken: undefined });
    },
    async deleteForeignRoute(destination) {
      const found = routes.store.inPlace(here).find((route) => route.destination === destination);
      if (found) routes.delete(found.id);
    },
    routesLeft: (count) => quotas.set('routes', count === undefined ? undefined : routes.store.countIn(here) + count),
    during,
    pass,
    async close() {
      for (const client of clients) client.close();
      await close();
    },
  };
}

function inventory({ network: { loadBalancers, addresses, routes } }: SimulatedCloud): InventoryItem[] {
  const balancers = loadBalancers.store
    .all()
    .flatMap(({ name, listeners, pools }): InventoryItem[] => [
      { kind: 'load balancer', name },
      ...listeners.map(({ protocol, port }) => ({ kind: 'listener', name: `${name} ${protocol} ${port}` })),
      ...pools.map((pool) => ({ kind: 'pool', name: `${name} ${pool.name} of ${pool.members.length}` })),
    ]);
  const reserved = addresses.store.all().map(({ family, tags }) => ({
    kind: 'address',
    name: `${family} of ${tags[ownerTags.cluster] === undefined ? 'others' : 'a cluster'}`,
  }));
  const table = routes.store.all().map(({ destination }) => ({ kind: 'route', name: destination }));
  return [...balancers, ...reserved, ...table];
}
