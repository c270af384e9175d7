import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import type { CloudContext, OpenedCloud } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/vsphere/config.ts';
import { openVSphere } from '../../../controller/clouds/vsphere/index.ts';
import { createMemory, type Memory } from '../../../controller/clouds/vsphere/memory.ts';
import type { CloudCapabilities, CloudVm, CloudWorld } from '../suite/world.ts';

export const vsphereCapabilities: CloudCapabilities = {
  deletedVm: 'absent',
  loadBalancers: undefined,
  routes: undefined,
  enumerateFaults: false,
};

/** VMs of the vCenter under test, from behind. */
export interface VSphereBehind {
  createVm(name: string, address: string): Promise<string>;
  deleteVm(uuid: string): Promise<void>;
  stopVm(uuid: string): Promise<void>;
  refuseCredential?(refused: boolean): void;
}

export interface VSphereWorldParts {
  readonly behind: VSphereBehind;
  /** A whole vsphere.conf. */
  readonly config: string;
  readonly zone: string;
  readonly clock: Clock;
  readonly wrapHttp?: (http: Http) => Http;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Methods that a client calls to read; all others count as changes. */
const reading = new RegExp(
  `<(${[
    'RetrieveServiceContent',
    'Login',
    'Logout',
    'FindByInventoryPath',
    'CreateContainerView',
    'FindAllByUuid',
    'RetrievePropertiesEx',
    'ContinueRetrievePropertiesEx',
  ].join('|')}) `,
);

/** The client that ships, with this configuration. */
export async function openClient(
  text: string,
  context: Partial<CloudContext> & Pick<CloudContext, 'clock'>,
  wrapHttp?: (http: Http) => Http,
  memory: Memory = createMemory(),
): Promise<OpenedCloud> {
  const whole = { random: seededRandom(1), log: silentLog, env: {}, onCall: () => {}, ...context };
  const config = await readConfig({ path: 'vsphere.conf', text }, whole.env, {
    readText: async () => undefined,
    readFolder: async () => undefined,
  });
  if ('reportOnly' in config) throw new Error(config.reportOnly);
  return openVSphere({ config, context: whole, ...(wrapHttp && { wrapHttp }) }, memory);
}

/** A vSphere as the conformance suite drives it: the client that ships, on vcsim or on a fake in this process. */
export function vsphereWorld(parts: VSphereWorldParts): CloudWorld {
  const { behind, zone, clock, during, pass, wrapHttp = (http: Http) => http } = parts;
  const clients: OpenedCloud[] = [];
  const uuidOf = (providerID: string) => providerID.slice('vsphere://'.length);
  const run = randomUUID().slice(0, 8);
  let made = 0;
  let mutations = 0;
  const counting = (http: Http): Http => {
    const inner = wrapHttp(http);
    return (request) => {
      const isRest = request.url.includes('/rest/');
      if (
        isRest
          ? request.method !== 'GET' && !/session$|~action=list/.test(request.url)
          : !reading.test(request.body ?? '')
      )
        mutations += 1;
      return inner(request);
    };
  };
  const none = () => Promise.reject(new Error('vSphere has none'));
  return {
    cluster: randomUUID(),
    async open() {
      const client = await openClient(parts.config, { clock }, counting);
      clients.push(client);
      return client;
    },
    async createVm(): Promise<CloudVm> {
      made += 1;
      const [name, address] = [`vm-${run}-${made}`, `10.1.${made >> 8}.${made % 256}`];
      const uuid = await during(behind.createVm(name, address));
      return { name, providerID: `vsphere://${uuid}`, addresses: [address], zone };
    },
    deleteVm: (providerID) => during(behind.deleteVm(uuidOf(providerID))),
    stopVm: (providerID) => during(behind.stopVm(uuidOf(providerID))),
    unusedProviderID: () => `vsphere://${randomUUID()}`,
    otherScopeProviderID: () => 'vsphere://not-a-uuid',
    mutations: () => mutations,
    ...(behind.refuseCredential === undefined ? {} : { refuseCredential: behind.refuseCredential }),
    inventory: async () => [],
    createForeignLoadBalancer: none,
    describeLoadBalancer: none,
    deleteLoadBalancer: none,
    createForeignRoute: none,
    deleteForeignRoute: none,
    during,
    pass,
    async close() {
      for (const client of clients) client.close();
      await parts.close();
    },
  };
}
