import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { CloudCall, CloudConfigFile, CloudContext } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/openstack/config.ts';
import { openOpenStack } from '../../../controller/clouds/openstack/index.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudVm, CloudWorld, InventoryItem } from '../suite/world.ts';

export const openStackCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
  routes: { tags: false, blackholes: true, quota: false },
  enumerateFaults: false,
};

/** The load balancers of the OpenStack under test, from behind. */
export interface OctaviaWorld extends Pick<CloudWorld, 'stripMarks' | 'markAsClassic' | 'examples'> {
  inventory(): Promise<readonly InventoryItem[]>;
  createForeignLoadBalancer(name: string, consent: string | undefined): Promise<string>;
  describeLoadBalancer(id: string): Promise<string | undefined>;
  deleteLoadBalancer(id: string): Promise<void>;
  readonly freeAddress?: (consent: string | undefined) => Promise<string>;
  /** Removes what it made. */
  close(): Promise<void>;
}

/** Servers and routes of the OpenStack under test, from behind. */
export interface OpenStackBehind {
  createVm(name: string): Promise<CloudVm>;
  deleteVm(id: string): Promise<void>;
  stopVm(id: string): Promise<void>;
  refuseCredential?(refused: boolean): void;
  routes(): Promise<readonly { readonly destination: string; readonly nexthop: string }[]>;
  addRoute(destination: string, nexthop: string): Promise<void>;
  removeRoute(destination: string): Promise<void>;
  routesLeft?(count: number | undefined): void;
}

export interface OpenStackWorldParts {
  readonly cluster: string;
  readonly behind: OpenStackBehind;
  readonly octavia: OctaviaWorld;
  readonly file: CloudConfigFile;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Told of every call of every client. */
  readonly onCall?: ((call: CloudCall) => void) | undefined;
  /** How the requests of every client travel. */
  readonly http: Http;
  readText(path: string): Promise<string | undefined>;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** An OpenStack as the conformance suite drives it: the client that ships, on a fake one or on a real one. */
export function openStackWorld(parts: OpenStackWorldParts): CloudWorld {
  const { cluster, behind, octavia, file, env, clock, during, pass } = parts;
  const sent = sentCalls(parts.http, (method, url) => method !== 'GET' && !url.endsWith('/auth/tokens'));
  const clients: { close(): void }[] = [];
  const vms = new Map<string, CloudVm>();
  const idOf = (providerID: string) => providerID.slice(providerID.lastIndexOf('/') + 1);
  const context: CloudContext = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    env,
    onCall: parts.onCall ?? (() => {}),
  };
  let made = 0;

  return {
    cluster,
    async open(wrap) {
      const config = await readConfig(file, env, parts.readText);
      if ('reportOnly' in config) throw new Error(config.reportOnly);
      const client = withLoadBalancers(
        withDriver(await openOpenStack({ config, context, wrapHttp: () => sent.http }), wrap),
        clock,
      );
      clients.push(client);
      return client;
    },
    async createVm() {
      made += 1;
      const vm = await during(behind.createVm(`mooring-${cluster.slice(0, 8)}-${made}`));
      vms.set(vm.providerID, vm);
      return vm;
    },
    async deleteVm(providerID) {
      vms.delete(providerID);
      await during(behind.deleteVm(idOf(providerID)));
    },
    stopVm: (providerID) => during(behind.stopVm(idOf(providerID))),
    unusedProviderID: () => `openstack:///${randomUUID()}`,
    otherScopeProviderID: () => `openstack://another-region/${randomUUID()}`,
    mutations: sent.mutations,
    loseAnswer: sent.loseAnswer,
    ...(behind.refuseCredential === undefined ? {} : { refuseCredential: behind.refuseCredential }),
    async inventory() {
      const routes = await during(behind.routes());
      return [
        ...(await during(octavia.inventory())),
        ...routes.map(({ destination }) => ({ kind: 'route', name: destination })),
      ];
    },
    createForeignLoadBalancer: (name, consent) => during(octavia.createForeignLoadBalancer(name, consent)),
    describeLoadBalancer: (id) => during(octavia.describeLoadBalancer(id)),
    deleteLoadBalancer: (id) => during(octavia.deleteLoadBalancer(id)),
    ...(octavia.freeAddress === undefined ? {} : { freeAddress: octavia.freeAddress }),
    ...(octavia.examples === undefined ? {} : { examples: octavia.examples }),
    ...(octavia.stripMarks === undefined ? {} : { stripMarks: octavia.stripMarks }),
    ...(octavia.markAsClassic === undefined ? {} : { markAsClassic: octavia.markAsClassic }),
    createForeignRoute: (destination, vm) => during(behind.addRoute(destination, vm.addresses[0]!)),
    deleteForeignRoute: (destination) => during(behind.removeRoute(destination)),
    ...(behind.routesLeft === undefined ? {} : { routesLeft: behind.routesLeft }),
    during,
    pass,
    async close() {
      for (const client of clients) client.close();
      await octavia.close();
      for (const providerID of vms.keys()) await behind.deleteVm(idOf(providerID));
      await parts.close();
    },
  };
}
