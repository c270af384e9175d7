import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../common/process/clock.ts';
import type { Http } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { advanceDuring, fakeClock } from '../../../common/testing/fake-clock.ts';
import type { CloudCall } from '../../../controller/clouds/cloud.ts';
import { readConfig } from '../../../controller/clouds/gce/config.ts';
import { openGce } from '../../../controller/clouds/gce/index.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { withDriver } from '../suite/recorded-driver.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudCapabilities, CloudWorld, WrapDriver } from '../suite/world.ts';
import { type BalancingBehind, balancingOf, behindFake, type Mode, modes } from './balancing-behind.ts';
import { configFor, keyFile } from './fake/configuration.ts';
import { refusal } from './fake/fake-api.ts';
import { createFakeGce, type FakeGce, zones } from './fake/fake-gce.ts';

const calls = {
  'target pools': { first: 5, further: 3, member: 1, removal: 3 },
  'internal load balancers': { first: 9, further: 3, member: 1, removal: 3 },
  'backend services': { first: 9, further: 3, member: 1, removal: 3 },
  'dual stack': { first: 12, further: 5, member: 1, removal: 5 },
} as const;

export function gceCapabilities(mode: Mode): CloudCapabilities {
  return {
    deletedVm: 'absent',
    loadBalancers: {
      protocols: mode === 'target pools' ? ['TCP'] : ['TCP', 'UDP'],
      sourceRanges: true,
      // A target pool is replaced for it.
      sessionAffinity: mode !== 'target pools',
      nodePorts: false,
      uniqueNames: true,
      attach: false,
      drains: false,
      retain: true,
      refusesMembers: true,
      ...(mode === 'target pools' && { createdElsewhere: { 'instance group': 'test/clouds/gce/conformance.test.ts' } }),
      calls: calls[mode],
    },
    routes: { tags: true, blackholes: true, quota: false },
    enumerateFaults: true,
    ...(mode === 'dual stack' && { faultStride: 3 }),
  };
}

/** From behind, a project that the client is opened on. */
export interface GceBehind {
  readonly project: string;
  readonly origin: string;
  createVm(name: string, zone: string): Promise<{ readonly addresses: readonly string[] }>;
  deleteVm(zone: string, name: string): Promise<void>;
  stopVm?(zone: string, name: string): Promise<void>;
  createRoute(destination: string, hop: string): Promise<void>;
  deleteRoute(destination: string): Promise<void>;
  refuseCredential?(refused: boolean): void;
  routesLeft?(count: number | undefined): void;
  readonly balancing: BalancingBehind;
}

export interface GceWorldParts {
  readonly behind: GceBehind;
  readonly clock: Clock;
  /** Undefined: the client's own. */
  readonly http?: Http;
  readonly privateKey: string;
  /** More of `[global]`. */
  readonly conf?: string;
  /** What every Service asks for. */
  readonly asked?: (typeof modes)[Mode];
  readonly mutationTimeoutMs?: number;
  onCall?(call: CloudCall): void;
  during<T>(work: Promise<T>): Promise<T>;
  pass(ms: number): Promise<void>;
}

/** A project as the conformance suite drives it: the client that ships. */
export function gceWorld({
  behind,
  clock,
  http,
  privateKey,
  during,
  pass,
  onCall = () => {},
  asked = { annotations: {} },
  conf = '',
  mutationTimeoutMs = 10_000,
}: GceWorldParts): CloudWorld {
  const { project, origin } = behind;
  const clients: { close(): void }[] = [];
  const mutates = (method: string, url: string) =>
    method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait|\/listInstances)$/.test(new URL(url).pathname);
  let sent: ReturnType<typeof sentCalls> | undefined;
  const wrapHttp = (own: Http) => {
    sent ??= sentCalls(http ?? own, mutates);
    return sent.http;
  };
  const placeOf = (providerID: string) => providerID.split('/').slice(-2) as [string, string];
  const run = randomUUID().slice(0, 8);
  let made = 0;
  const { balancing } = behind;
  const annotated: WrapDriver = (driver) => ({
    ...driver,
    desire: ({ desired, ...rest }) =>
      driver.desire({
        ...rest,
        desired: { ...desired, ...asked, annotations: { ...asked.annotations, ...desired.annotations } },
      }),
  });

  return {
    cluster: randomUUID(),
    async open(wrap) {
      const config = readConfig({ path: 'gce.conf', text: configFor(origin, conf) });
      const env = { GOOGLE_APPLICATION_CREDENTIALS: 'key.json' };
      const context = { clock, random: seededRandom(1), log: silentLog, env, onCall, mutationTimeoutMs };
      const readText = async () => keyFile({ identity: { privateKey } as FakeGce['identity'], project }, origin);
      const opened = await openGce({ config, context, readText, wrapHttp });
      if ('reportOnly' in opened) throw new Error(opened.reportOnly);
      const client = withLoadBalancers<typeof opened>(withDriver(withDriver(opened, annotated), wrap), clock);
      clients.push(client);
      const isRefused = (error: unknown) => {
        // The suite refuses the credential, and then opens a cloud that has to bear it.
        if (!(error instanceof Error && /401/.test(error.message))) throw error;
      };
      await during(client.identify()).catch(isRefused);
      return client;
    },
    async createVm() {
      made += 1;
      const [name, zone] = [`node-${run}-${made}`, zones[made % 2]!];
      const { addresses } = await during(behind.createVm(name, zone));
      return { name, zone, addresses, providerID: `gce://${project}/${zone}/${name}` };
    },
    deleteVm: (providerID) => during(behind.deleteVm(...placeOf(providerID))),
    ...(behind.stopVm && { stopVm: (providerID: string) => during(behind.stopVm!(...placeOf(providerID))) }),
    unusedProviderID() {
      made += 1;
      return `gce://${project}/${zones[0]}/unused-${run}-${made}`;
    },
    otherScopeProviderID: () => `gce://other-project/${zones[0]}/node-1`,
    mutations: () => sent?.mutations() ?? 0,
    loseAnswer: (after) => sent?.loseAnswer(after),
    ...(behind.refuseCredential && { refuseCredential: behind.refuseCredential }),
    ...balancing,
    createForeignRoute: (destination, vm) =>
      during(behind.createRoute(destination, vm.providerID.slice('gce://'.length))),
    deleteForeignRoute: (destination) => during(behind.deleteRoute(destination)),
    ...(behind.routesLeft && { routesLeft: behind.routesLeft }),
    during,
    pass,
    async close() {
      for (const client of clients) client.close();
    },
  };
}

/** The world in process, on a fake clock. */
export function fakeGceWorld(
  mode: Mode,
  conf = '',
  onCall: GceWorldParts['onCall'] = () => {},
): CloudWorld & { readonly fake: FakeGce } {
  const clock = fakeClock();
  const fake = createFakeGce(clock);
  if (mode === 'dual stack')
    fake.balancing.subnets.set('default', { stackType: 'IPV4_IPV6', ipv6AccessType: 'EXTERNAL' });
  const world = gceWorld({
    clock,
    conf: mode === 'dual stack' ? `subnetwork-name = default\n${conf}` : conf,
    http: fake.http,
    privateKey: fake.identity.privateKey,
    asked: modes[mode],
    onCall,
    behind: behindOf(fake, 'http://gce.test', mode),
    during: (work) => advanceDuring(clock, work),
    pass: (ms) => clock.advance(ms),
  });
  return { ...world, fake };
}

function behindOf(fake: FakeGce, origin: string, mode: Mode): GceBehind {
  const foreign = (destination: string) => `foreign-${destination.replace(/[^0-9]/g, '-')}`;
  const link = (path: string) => `https://www.googleapis.com/compute/v1/projects/${path}`;
  return {
    project: fake.project,
    origin,
    balancing: balancingOf(behindFake(fake.balancing), mode),
    async createVm(name, zone) {
      const { networkInterfaces = [] } = fake.addVm(name, { in: zone });
      return { addresses: networkInterfaces.flatMap(({ networkIP }) => networkIP ?? []) };
    },
    deleteVm: async (zone, name) => fake.deleteVm(zone, name),
    async stopVm(zone, name) {
      fake.vm(zone, name)!.wire.status = 'TERMINATED';
    },
    async createRoute(destRange, hop) {
      const [project, zone, instance] = hop.split('/');
      const nextHopInstance = link(`${project}/zones/${zone}/instances/${instance}`);
      const name = foreign(destRange);
      const network = link(`${fake.project}/global/networks/default`);
      fake.routes.set(name, { name, destRange, network, nextHopInstance, description: 'by hand' });
    },
    async deleteRoute(destination) {
      fake.routes.delete(foreign(destination));
    },
    refuseCredential(refused) {
      const answer = refusal(401, 'authError', 'Invalid Credentials');
      fake.fault = refused ? ({ path }) => (path.startsWith('/compute/') ? answer : undefined) : undefined;
    },
    routesLeft(count) {
      fake.maxRoutes = count === undefined ? 250 : fake.routes.size + count;
    },
  };
}
