import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../common/process/clock.ts';
import type { LifeCloud, LifeMachine } from '../life/life-cloud.ts';
import { configFor, keyFile } from './fake/configuration.ts';
import { refusal } from './fake/fake-api.ts';
import { createFakeGce, type FakeGce, listen, zones } from './fake/fake-gce.ts';

export interface GceLife extends LifeCloud {
  readonly fake: FakeGce;
  readonly url: string;
  /** The file with the key of the service account. */
  readonly keyPath: string;
}

export const gceNodes = ['gce-1', 'gce-2', 'gce-3'] as const;

/** VMs of two zones of one project. */
export async function openGceLife(): Promise<GceLife> {
  const fake = createFakeGce(systemClock());
  fake.operations.durationMs = 700;
  const served = await listen(fake);
  const folder = await mkdtemp(join(tmpdir(), 'mooring-gce-key-'));
  const keyPath = join(folder, 'key.json');
  await writeFile(keyPath, keyFile(fake, served.url), { mode: 0o600 });

  function machineNamed(name: string, at: number): LifeMachine {
    const zone = zones[at % 2]!;
    fake.addVm(name, { in: zone });
    const wire = () => fake.vm(zone, name)!.wire;
    return {
      node: name,
      providerID: `gce://proj/${zone}/${name}`,
      labels: {
        'topology.kubernetes.io/zone': zone,
        'topology.kubernetes.io/region': 'us-central1',
        'node.kubernetes.io/instance-type': 'e2-standard-4',
      },
      readdress(address) {
        wire().networkInterfaces![0]!.accessConfigs![0]!.natIP = address;
      },
      // As a preempted VM is shown.
      stop() {
        wire().status = 'TERMINATED';
      },
      remove: () => fake.deleteVm(zone, name),
    };
  }

  return {
    ...{ fake, keyPath, url: served.url },
    served: {
      cloud: 'gce',
      configText: configFor(served.url),
      env: { GOOGLE_APPLICATION_CREDENTIALS: keyPath },
    },
    machines: gceNodes.map(machineNamed),
    changes: () =>
      fake.calls.filter(({ method, path }) => method !== 'GET' && /\/compute\/v1\/.*(?<!\/wait)$/.test(path)).length,
    audits: () => fake.calls.filter(({ path }) => path.endsWith('/global/routes')).length,
    routes: () =>
      [...fake.routes.values()].map((route) => `${route.destRange} ${route.nextHopInstance?.split('/').at(-1)}`),
    checks: ['project', 'permissions for nodes', 'permissions for routes', 'network'],
    refuse(refused) {
      const isCompute = (path: string) => path.startsWith('/compute/');
      fake.fault = refused
        ? ({ path }) => (isCompute(path) ? refusal(401, 'authError', 'Invalid Credentials') : undefined)
        : undefined;
    },
    secrets: ['ya29', 'PRIVATE KEY', 'assertion='],
    async close() {
      await served.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
