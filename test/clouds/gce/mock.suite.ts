import type { compute_v1 } from '@googleapis/compute';
import { type Clock, sleep, systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import type { CloudCapabilities, CloudWorld } from '../suite/world.ts';
import { balancingOf, behindMock, type Mode, modes } from './balancing-behind.ts';
import { createFakeGce } from './fake/fake-gce.ts';
import { gceCapabilities, gceWorld } from './gce-world.ts';
import { startMock } from './start-mock.ts';

/** Time runs so much faster: what waits for lists to settle waits for a server here that has nothing to settle. */
const speed = 20;
const clock = fastClock();

/**
 * The client that ships on Google's mock. The mock gives out no tokens, so these come from the fake. It does not know
 * which instances a route has lost, takes any member, and refuses nothing that is in use, out of date or too much.
 */
for (const mode of Object.keys(modes) as Mode[])
  cloudSuite({
    name: `gce, ${mode}, on Google's mock`,
    capabilities: capabilitiesOf(mode),
    open: () => mockWorld(mode),
  });
console.error(
  "NOT proved on Google's mock, which does not have it: filters, pages, field masks, operations that take time, " +
    'fingerprints, quotas, refusals of what is in use, of members that do not exist and of IPv6 in the wrong subnet',
);

function fastClock(): Clock {
  const real = systemClock();
  const startedAt = real.now();
  return {
    now: () => startedAt + (real.now() - startedAt) * speed,
    monotonic: () => real.monotonic() * speed,
    uptime: () => real.uptime() * speed,
    setTimer: (ms, run) => real.setTimer(ms / speed, run),
  };
}

function capabilitiesOf(mode: Mode): CloudCapabilities {
  const all = gceCapabilities(mode);
  return {
    ...all,
    loadBalancers: { ...all.loadBalancers!, refusesMembers: false },
    routes: { tags: true, blackholes: false, quota: false },
    // Every call is a request to another process.
    faultStride: 4,
  };
}

async function mockWorld(mode: Mode): Promise<CloudWorld> {
  const mock = await startMock(process.env['GCE_GOOGLE']!);
  const tokens = createFakeGce(clock);
  const { http, close } = createHttp({ clock });
  const link = (path: string) => `https://www.googleapis.com/compute/v1/projects/proj/${path}`;
  const nameOf = (destination: string) => `foreign-${destination.replace(/[^0-9]/g, '-')}`;
  let number = 5_000_000_000_000_000_000n;
  const bodies = new Map<string, compute_v1.Schema$Instance>();

  async function insert(zone: string, vm: compute_v1.Schema$Instance): Promise<void> {
    bodies.set(`${zone}/${vm.name}`, vm);
    await mock.send('POST', `zones/${zone}/instances`, vm);
  }
  const subnet = { name: 'default', stackType: 'IPV4_IPV6', ipv6AccessType: 'EXTERNAL' };
  await mock.send('POST', 'regions/us-central1/subnetworks', subnet);
  const world = gceWorld({
    clock,
    privateKey: tokens.identity.privateKey,
    asked: modes[mode],
    conf: 'subnetwork-name = default',
    mutationTimeoutMs: 10_000 * speed,
    http: (request) => (new URL(request.url).pathname === '/token' ? tokens.http(request) : http(request)),
    behind: {
      project: 'proj',
      origin: mock.url,
      balancing: balancingOf(behindMock(mock), mode),
      async createVm(name, zone) {
        number += 1n;
        const networkIP = `10.128.0.${Number(number % 250n)}`;
        await insert(zone, {
          id: String(number),
          name,
          zone: link(`zones/${zone}`),
          status: 'RUNNING',
          canIpForward: true,
          machineType: link(`zones/${zone}/machineTypes/e2-standard-4`),
          networkInterfaces: [{ name: 'nic0', networkIP, network: link('global/networks/default') }],
        });
        return { addresses: [networkIP] };
      },
      deleteVm: async (zone, name) => void (await mock.send('DELETE', `zones/${zone}/instances/${name}`)),
      async stopVm(zone, name) {
        const vm = bodies.get(`${zone}/${name}`)!;
        await mock.send('DELETE', `zones/${zone}/instances/${name}`);
        await insert(zone, { ...vm, status: 'TERMINATED' });
      },
      async createRoute(destRange, hop) {
        const [, zone, instance] = hop.split('/');
        const nextHopInstance = link(`zones/${zone}/instances/${instance}`);
        const network = link('global/networks/default');
        const route = { name: nameOf(destRange), destRange, network, nextHopInstance, priority: 1000 };
        await mock.send('POST', 'global/routes', route);
      },
      deleteRoute: async (destination) => void (await mock.send('DELETE', `global/routes/${nameOf(destination)}`)),
    },
    during: (work) => work,
    pass: (ms) => sleep(clock, Math.min(ms, 200)),
  });
  return {
    ...world,
    async close() {
      await world.close();
      close();
      mock.close();
    },
  };
}
