import type { compute_v1 } from '@googleapis/compute';
import { sleep, systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { balancingOf } from './balancing-behind.ts';
import { createFakeGce } from './fake/fake-gce.ts';
import { gceCapabilities, gceWorld } from './gce-world.ts';
import { startMock } from './start-mock.ts';

const clock = systemClock();

/**
 * The client that ships on Google's mock. The mock gives out no tokens, so these come from the fake; it does not know
 * which instances a route has lost.
 */
cloudSuite({
  name: "gce, on Google's mock",
  capabilities: {
    ...gceCapabilities('target pools'),
    loadBalancers: undefined,
    routes: { tags: true, blackholes: false, quota: false },
  },
  async open() {
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
    const world = gceWorld({
      ...{ clock, privateKey: tokens.identity.privateKey },
      http: (request) => (new URL(request.url).pathname === '/token' ? tokens.http(request) : http(request)),
      behind: {
        ...{ project: 'proj', origin: mock.url, balancing: balancingOf(tokens.balancing, 'target pools') },
        async createVm(name, zone) {
          number += 1n;
          const networkIP = `10.128.0.${Number(number % 250n)}`;
          await insert(zone, {
            ...{ id: String(number), name, zone: link(`zones/${zone}`), status: 'RUNNING', canIpForward: true },
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
      pass: (ms) => sleep(clock, Math.min(ms, 10)),
    });
    return {
      ...world,
      async close() {
        await world.close();
        close();
        mock.close();
      },
    };
  },
});
