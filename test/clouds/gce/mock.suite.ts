import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { compute_v1 } from '@googleapis/compute';
import { sleep, systemClock } from '../../../common/process/clock.ts';
import { createHttp } from '../../../common/process/http.ts';
import { silentLog } from '../../../common/process/log.ts';
import { seededRandom } from '../../../common/process/random.ts';
import { readConfig } from '../../../controller/clouds/gce/config.ts';
import { openGce } from '../../../controller/clouds/gce/index.ts';
import { withLoadBalancers } from '../../../controller/services/balancers/with-load-balancers.ts';
import { cloudSuite } from '../suite/cloud-suite.ts';
import { ensure, remove } from '../suite/drive.ts';
import { sentCalls } from '../suite/sent-calls.ts';
import type { CloudWorld } from '../suite/world.ts';
import { balancingOf, type Mode, modes } from './balancing-behind.ts';
import { comparedServices, desiredOf } from './compared-services.ts';
import { configFor, keyFile } from './fake/configuration.ts';
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

describe("load balancers on Google's mock", () => {
  for (const mode of Object.keys(modes) as Mode[])
    it(`(${mode}) take the fields that the API has, follow the nodes, and go without a rest`, async () => {
      const mock = await startMock(process.env['GCE_GOOGLE']!);
      const tokens = createFakeGce(clock);
      const { http, close } = createHttp({ clock });
      const config = readConfig({ path: 'gce.conf', text: configFor(mock.url, 'subnetwork-name = default') });
      const env = { GOOGLE_APPLICATION_CREDENTIALS: 'key.json' };
      const context = { clock, random: seededRandom(1), log: silentLog, env, onCall: () => {} };
      const mutating = (method: string, url: string) =>
        method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait|\/listInstances)$/.test(new URL(url).pathname);
      const sent = sentCalls(
        (request) => (new URL(request.url).pathname === '/token' ? tokens.http(request) : http(request)),
        mutating,
      );
      const world = {
        during: <T>(work: Promise<T>) => work,
        pass: async () => {},
      } as Partial<CloudWorld> as CloudWorld;
      const service = { ...comparedServices[1]!, annotations: modes[mode] };
      const desired = desiredOf('0f0e0d0c-1111-4222-8333-444455556666', service);
      const [first, second] = desired.members;
      const record = { id: undefined };
      const opened: { close(): void }[] = [];
      async function driving(members = [first!]) {
        const cloud = await openGce({
          ...{ config, context, wrapHttp: () => sent.http },
          readText: async () => keyFile(tokens, mock.url),
        });
        assert.ok(!('reportOnly' in cloud));
        const client = withLoadBalancers<typeof cloud>(cloud, clock);
        opened.push(client);
        await client.identify();
        return { world, balancers: client.loadBalancers!, desired: { ...desired, members }, record };
      }
      try {
        const made = await ensure(await driving());
        assert.deepEqual([made.refusals, made.observed?.members.length], [[], 1]);
        assert.match(made.observed?.ingress[0]?.ip ?? '', /^203\.0\.113\./);
        const more =
          mode === 'target pools' ? [first!, second!] : [first!, { ...first!, providerID: `${first!.providerID}b` }];
        assert.equal((await ensure(await driving(more))).observed?.members.length, 2);
        const before = sent.mutations();
        assert.equal((await ensure(await driving(more))).calls, 0);
        assert.equal(sent.mutations(), before);
        await remove(await driving(more));
        for (const collection of ['global/firewalls', 'global/healthChecks', 'regions/us-central1/forwardingRules'])
          assert.deepEqual((await mock.send('GET', collection)) as object, { items: null }, collection);
      } finally {
        for (const client of opened) client.close();
        close();
        mock.close();
      }
    });
});
